// SPDX-License-Identifier: MIT
// Ciphers of node:crypto: createCipheriv, createDecipheriv, getCiphers, getCipherInfo. CCM is not among them.
'use strict';

const { codes, validateInteger, validateString } = load('errors');
const { Buffer } = load('buffer');
const { native, guard, asBuffer } = load('crypto_native');
const { toBytes, secretInput } = load('crypto_keys')[Symbol.for('vigil.host')];

function infoOf(name) {
  const found = native.cipherInfo(name);
  if (found === undefined || found[2] === 'ccm') return undefined;
  const [full, nid, mode, blockSize, ivLength, keyLength, aead] = found;
  return { name: full.toLowerCase(), nid, mode, blockSize, ivLength, keyLength, aead };
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
      else if (info.mode === 'ocb') throw new codes.ERR_CRYPTO_INVALID_AUTH_TAG(`authTagLength required for ${name}`);
      this.#native = guard(() => native.cipherOpen(name, keyBytes, ivBytes, encrypts));
    }
    #checkTag(length) {
      validateInteger(length, 'options.authTagLength', 0, 2 ** 31 - 1);
      const good = this.#info.mode === 'gcm' ? length === 4 || length === 8 || (length >= 12 && length <= 16) : length >= 1 && length <= 16;
      if (!good) throw new codes.ERR_CRYPTO_INVALID_AUTH_TAG(`Invalid authentication tag length: ${length}`);
    }
    #text(bytes, encoding, last) {
      if (encoding === undefined || encoding === null || encoding === 'buffer') return asBuffer(bytes);
      if (this.#decoder === null) this.#decoder = new (load('string_decoder').StringDecoder)(encoding);
      return last ? this.#decoder.end(asBuffer(bytes)) : this.#decoder.write(asBuffer(bytes));
    }
    update(data, from = undefined, to = undefined) {
      if (typeof data !== 'string' && !ArrayBuffer.isView(data)) {
        throw new codes.ERR_INVALID_ARG_TYPE('data', ['string', 'Buffer', 'TypedArray', 'DataView'], data);
      }
      if (this.#over) throw new Error('Trying to add data in unsupported state');
      return this.#text(guard(() => native.cipherAdd(this.#native, toBytes(data, 'data', from), false)), to, false);
    }
    final(encoding = undefined) {
      if (this.#over) throw new codes.ERR_CRYPTO_INVALID_STATE();
      this.#over = true;
      if (!this.#encrypts && this.#info.aead && this.#tag === undefined) throw new Error('Unsupported state or unable to authenticate data');
      const rest = guard(() => native.cipherEnd(this.#native));
      if (this.#encrypts && this.#info.aead) this.#tag = asBuffer(native.cipherTag(this.#native, this.#tagLength ?? 16));
      return this.#text(rest, encoding, true);
    }
    setAutoPadding(on = true) {
      if (this.#over) throw new codes.ERR_CRYPTO_INVALID_STATE('setAutoPadding');
      native.cipherPadding(this.#native, on !== false);
      return this;
    }
    setAAD(data, options = undefined) {
      if (this.#over || !this.#info.aead) throw new codes.ERR_CRYPTO_INVALID_STATE('setAAD');
      guard(() => native.cipherAdd(this.#native, toBytes(data, 'buffer', options?.encoding), true));
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

function getCipherInfo(name, options = undefined) {
  if (typeof name !== 'string') throw new codes.ERR_INVALID_ARG_TYPE('nameOrNid', ['string'], name);
  const info = infoOf(name);
  if (info === undefined) return undefined;
  const { keyLength, ivLength } = options ?? {};
  if (keyLength !== undefined && keyLength !== info.keyLength) return undefined;
  if (ivLength !== undefined && (info.aead ? ivLength < 1 : ivLength !== info.ivLength)) return undefined;
  const shown = { mode: info.mode, name: info.name, nid: info.nid };
  if (info.mode !== 'stream') shown.blockSize = info.blockSize;
  if (info.ivLength > 0) shown.ivLength = ivLength ?? info.ivLength;
  shown.keyLength = info.keyLength;
  return shown;
}

let names = null;
module.exports = {
  Cipheriv, Decipheriv, getCipherInfo,
  createCipheriv: (cipher, key, iv, options) => new Cipheriv(cipher, key, iv, options),
  createDecipheriv: (cipher, key, iv, options) => new Decipheriv(cipher, key, iv, options),
  getCiphers: () => (names ??= [...new Set(native.cipherNames().map((name) => name.toLowerCase()))].filter((name) => infoOf(name) !== undefined).sort()).slice(),
};
