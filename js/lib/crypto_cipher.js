// SPDX-License-Identifier: MIT
// Ciphers of node:crypto: createCipheriv, createDecipheriv, getCiphers, getCipherInfo, and the old createCipher and createDecipher.
'use strict';

const { codes, validateInteger, validateObject, validateString } = load('errors');
const { Buffer } = load('buffer');
const { native, guard, asBuffer } = load('crypto_native');
const { toBytes, secretInput } = load('crypto_keys')[Symbol.for('vigil.host')];

function infoOf(name) {
  const found = native.cipherInfo(name);
  if (found === undefined) return undefined;
  const [full, nid, mode, blockSize, ivLength, keyLength, aead] = found;
  return { name: full.toLowerCase(), nid, mode, blockSize, ivLength, keyLength, aead };
}

const plain = (encoding) => encoding.toLowerCase().replace('-', '').replace('binary', 'latin1').replace('ucs2', 'utf16le');
let warned = false;
function shortTag() {
  if (warned || !binding.pendingDeprecation) return;
  warned = true;
  process.emitWarning('Using AES-GCM authentication tags of less than 128 bits without specifying the authTagLength option when initializing decryption is deprecated.',
    'DeprecationWarning', 'DEP0182');
}

// The class is made when somebody asks: it is a stream.
let Base;
function baseClass() {
  return Base ??= class extends load('stream').Transform {
    #native;
    #info;
    #encrypts;
    #tag; // of a cipher that authenticates: set or computed
    #tagLength;
    #over = false;
    #decoder = null;
    #encoding = undefined;
    #most = undefined; // bytes that CCM takes, all in one update
    #took = false;
    #bad = false; // CCM has found that the data are not what the tag says
    constructor(encrypts, name, key, iv, options) {
      super(options);
      validateString(name, 'cipher');
      const info = infoOf(name);
      const secret = secretInput(key);
      const keyBytes = toBytes(secret, 'key', options?.encoding);
      if (iv !== null && iv === undefined) throw new codes.ERR_INVALID_ARG_TYPE('iv', ['string', 'ArrayBuffer', 'Buffer', 'TypedArray', 'DataView'], iv);
      const ivBytes = iv === null ? Buffer.alloc(0) : toBytes(iv, 'iv');
      if (info === undefined) throw new codes.ERR_CRYPTO_UNKNOWN_CIPHER();
      if (keyBytes.length !== info.keyLength) throw new codes.ERR_CRYPTO_INVALID_KEYLEN();
      if (info.aead ? ivBytes.length === 0 : ivBytes.length !== info.ivLength) throw new codes.ERR_CRYPTO_INVALID_IV();
      if (info.name === 'chacha20-poly1305' && ivBytes.length > 12) throw new codes.ERR_CRYPTO_INVALID_IV();
      this.#info = info;
      this.#encrypts = encrypts;
      this.#tagLength = options?.authTagLength;
      if (this.#tagLength !== undefined) this.#checkTag(this.#tagLength);
      else if (info.mode === 'ocb' || info.mode === 'ccm') throw new codes.ERR_CRYPTO_INVALID_AUTH_TAG(`authTagLength required for ${name}`);
      if (info.mode === 'ccm' && (ivBytes.length < 7 || ivBytes.length > 13)) throw new codes.ERR_CRYPTO_INVALID_IV();
      if (info.mode === 'ccm') this.#most = ivBytes.length === 12 ? 2 ** 24 - 1 : ivBytes.length === 13 ? 65535 : 2 ** 31 - 1;
      this.#native = guard(() => native.cipherOpen(name, keyBytes, ivBytes, encrypts, this.#tagLength ?? 0));
    }
    #checkTag(length) {
      validateInteger(length, 'options.authTagLength', 0, 2 ** 31 - 1);
      const { mode } = this.#info;
      const good = mode === 'gcm' ? length === 4 || length === 8 || (length >= 12 && length <= 16)
        : mode === 'ccm' ? length >= 4 && length <= 16 && length % 2 === 0 : length >= 1 && length <= 16;
      if (!good) throw new codes.ERR_CRYPTO_INVALID_AUTH_TAG(`Invalid authentication tag length: ${length}`);
    }
    #text(bytes, encoding, last) {
      if (encoding === undefined || encoding === null || encoding === 'buffer') return asBuffer(bytes);
      if (!Buffer.isEncoding(encoding)) throw new codes.ERR_UNKNOWN_ENCODING(encoding);
      const name = plain(encoding);
      if (this.#decoder === null) {
        this.#decoder = new (load('string_decoder').StringDecoder)(encoding);
        this.#encoding = name;
      } else if (name !== this.#encoding) {
        throw Object.assign(new Error('Cannot change encoding'), { code: 'ERR_INTERNAL_ASSERTION' });
      }
      return last ? this.#decoder.end(asBuffer(bytes)) : this.#decoder.write(asBuffer(bytes));
    }
    update(data, from = undefined, to = undefined) {
      if (typeof data !== 'string' && !ArrayBuffer.isView(data)) {
        throw new codes.ERR_INVALID_ARG_TYPE('data', ['string', 'Buffer', 'TypedArray', 'DataView'], data);
      }
      if (this.#over) throw new Error('Trying to add data in unsupported state');
      const bytes = toBytes(data, 'data', from);
      if (this.#most !== undefined) return this.#text(this.#all(bytes), to, false);
      return this.#text(guard(() => native.cipherAdd(this.#native, bytes, false)), to, false);
    }
    // CCM: one update has all, and a false tag is reported at the end.
    #all(bytes) {
      if (bytes.length > this.#most) throw new codes.ERR_CRYPTO_INVALID_MESSAGELEN();
      if (this.#took || (!this.#encrypts && this.#tag === undefined)) throw new Error('Trying to add data in unsupported state');
      this.#took = true;
      try {
        return native.cipherAdd(this.#native, bytes, false);
      } catch (error) {
        if (this.#encrypts) throw error;
        this.#bad = true;
        return new Uint8Array(0);
      }
    }
    final(encoding = undefined) {
      if (this.#over) throw new codes.ERR_CRYPTO_INVALID_STATE();
      this.#over = true;
      if (!this.#encrypts && this.#info.aead && this.#tag === undefined) throw new Error('Unsupported state or unable to authenticate data');
      if (this.#bad) throw new Error('Unsupported state or unable to authenticate data');
      if (this.#most !== undefined && this.#encrypts && !this.#took) this.#all(Buffer.alloc(0));
      const rest = this.#most !== undefined && !this.#encrypts ? new Uint8Array(0) : guard(() => native.cipherEnd(this.#native));
      if (this.#encrypts && this.#info.aead) this.#tag = asBuffer(native.cipherTag(this.#native, this.#tagLength ?? 16));
      return this.#text(rest, encoding, true);
    }
    setAutoPadding(on = true) {
      if (this.#over) throw new codes.ERR_CRYPTO_INVALID_STATE('setAutoPadding');
      native.cipherPadding(this.#native, on !== false);
      return this;
    }
    setAAD(data, options = undefined) {
      const bytes = toBytes(data, 'buffer', options?.encoding);
      if (this.#over || !this.#info.aead) throw new codes.ERR_CRYPTO_INVALID_STATE('setAAD');
      const length = options?.plaintextLength;
      if (length !== undefined) validateInteger(length, 'options.plaintextLength', 0, 2 ** 31 - 1);
      if (this.#most !== undefined) {
        if (length === undefined) throw Object.assign(new TypeError('options.plaintextLength required for CCM mode with AAD'), { code: 'ERR_MISSING_ARGS' });
        if (length > this.#most) throw new codes.ERR_CRYPTO_INVALID_MESSAGELEN();
        guard(() => native.cipherAdd(this.#native, bytes, true, length));
      } else {
        guard(() => native.cipherAdd(this.#native, bytes, true));
      }
      return this;
    }
    authTag() {
      if (!this.#encrypts || this.#tag === undefined) throw new codes.ERR_CRYPTO_INVALID_STATE('getAuthTag');
      return this.#tag;
    }
    setTag(tag, encoding) {
      const bytes = toBytes(tag, 'buffer', encoding);
      if (this.#over || !this.#info.aead || this.#tag !== undefined) throw new codes.ERR_CRYPTO_INVALID_STATE('setAuthTag');
      this.#checkTag(bytes.length);
      if (this.#info.mode === 'gcm' && this.#tagLength === undefined && bytes.length < 16) shortTag(bytes.length);
      if (this.#tagLength !== undefined && bytes.length !== this.#tagLength) {
        throw new codes.ERR_CRYPTO_INVALID_AUTH_TAG(`Invalid authentication tag length: ${bytes.length}`);
      }
      guard(() => native.cipherTag(this.#native, bytes));
      this.#tag = bytes;
      return this;
    }
    _transform(chunk, encoding, callback) {
      this.push(this.update(chunk, encoding));
      callback();
    }
    _flush(callback) {
      try {
        this.push(this.final());
      } catch (error) {
        callback(error);
        return;
      }
      callback();
    }
  };
}
function build(Kind, encrypts, args) {
  const Parent = baseClass();
  if (Object.getPrototypeOf(Kind) !== Parent) {
    Object.setPrototypeOf(Kind, Parent);
    Object.setPrototypeOf(Kind.prototype, Parent.prototype);
  }
  return Reflect.construct(Parent, [encrypts, ...args], Kind);
}
function Cipheriv(cipher, key, iv, options = undefined) {
  return build(Cipheriv, true, [cipher, key, iv, options]);
}
function Decipheriv(cipher, key, iv, options = undefined) {
  return build(Decipheriv, false, [cipher, key, iv, options]);
}
Cipheriv.prototype.getAuthTag = function () { return this.authTag(); };
Decipheriv.prototype.setAuthTag = function (tag, encoding = undefined) { return this.setTag(tag, encoding); };

// The old pair, which makes key and vector of a password. MD5 and no salt: as weak as Node says.
function fromPassword(name, password) {
  validateString(name, 'cipher');
  const info = infoOf(name);
  const bytes = toBytes(secretInput(password), 'password');
  if (info === undefined) throw new codes.ERR_CRYPTO_UNKNOWN_CIPHER();
  if (info.mode === 'ctr' || info.mode === 'gcm' || info.mode === 'ccm') process.emitWarning(`Use Cipheriv for counter mode of ${name}`);
  const { createHash } = load('crypto_hash');
  const parts = [];
  for (let length = 0, last = Buffer.alloc(0); length < info.keyLength + info.ivLength; length += last.length) {
    last = createHash('md5').update(last).update(bytes).digest();
    parts.push(last);
  }
  const all = Buffer.concat(parts);
  return [all.subarray(0, info.keyLength), info.ivLength === 0 ? null : all.subarray(info.keyLength, info.keyLength + info.ivLength)];
}
function Cipher(cipher, password, options = undefined) {
  return build(Cipher, true, [cipher, ...fromPassword(cipher, password), options]);
}
function Decipher(cipher, password, options = undefined) {
  return build(Decipher, false, [cipher, ...fromPassword(cipher, password), options]);
}
Cipher.prototype.getAuthTag = Cipheriv.prototype.getAuthTag;
Decipher.prototype.setAuthTag = Decipheriv.prototype.setAuthTag;
const deprecated = (Kind, name) => load('util').deprecate((...args) => new Kind(...args), `crypto.${name} is deprecated.`, 'DEP0106');

function getCipherInfo(name, options = undefined) {
  if (typeof name !== 'string' && typeof name !== 'number') throw new codes.ERR_INVALID_ARG_TYPE('nameOrNid', ['string', 'number'], name);
  if (typeof name === 'number') validateInteger(name, 'nameOrNid', -(2 ** 31), 2 ** 31 - 1);
  if (options !== undefined) validateObject(options, 'options');
  for (const key of ['keyLength', 'ivLength']) {
    if (options?.[key] !== undefined) validateInteger(options[key], `options.${key}`, -(2 ** 31), 2 ** 31 - 1);
  }
  const info = typeof name === 'string' ? infoOf(name) : listed().map(infoOf).find((one) => one.nid === name);
  if (info === undefined) return undefined;
  const { keyLength, ivLength } = options ?? {};
  if (keyLength !== undefined && keyLength !== info.keyLength) return undefined;
  if (ivLength !== undefined && (info.mode === 'ccm' ? ivLength < 7 || ivLength > 13 : info.mode === 'ocb' ? ivLength < 1 || ivLength > 15 : info.aead ? ivLength < 1 : ivLength !== info.ivLength)) return undefined;
  const shown = { mode: info.mode, name: info.name, nid: info.nid };
  if (info.mode !== 'stream') shown.blockSize = info.blockSize;
  if (info.ivLength > 0) shown.ivLength = ivLength ?? info.ivLength;
  shown.keyLength = info.keyLength;
  return shown;
}

let names = null;
const listed = () => (names ??= [...new Set(native.cipherNames().map((name) => name.toLowerCase()))].filter((name) => infoOf(name) !== undefined).sort());
module.exports = {
  Cipheriv, Decipheriv, Cipher, Decipher, getCipherInfo,
  createCipher: deprecated(Cipher, 'createCipher'),
  createDecipher: deprecated(Decipher, 'createDecipher'),
  createCipheriv: (cipher, key, iv, options) => new Cipheriv(cipher, key, iv, options),
  createDecipheriv: (cipher, key, iv, options) => new Decipheriv(cipher, key, iv, options),
  getCiphers: () => listed().slice(),
};
