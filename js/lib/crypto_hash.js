// SPDX-License-Identifier: MIT
// The digests of node:crypto: createHash, createHmac, hash, pbkdf2, scrypt, hkdf. Without libgcrypt they say that it is missing.
'use strict';

const { codes, validateFunction, validateInteger, validateString } = load('errors');
const { Buffer } = load('buffer');
const { hashOpen, hashCopy, hashAdd, hashEnd, pbkdf2Now, scryptNow } = binding;

const has = hashOpen !== undefined;
const names = has ? ['blake2b512', 'blake2s256', 'md5', 'ripemd160', 'sha1', 'sha224', 'sha256', 'sha3-224', 'sha3-256', 'sha3-384',
                     'sha3-512', 'sha384', 'sha512'] : [];
const aliases = { 'sha-1': 'sha1', 'sha-224': 'sha224', 'sha-256': 'sha256', 'sha-384': 'sha384', 'sha-512': 'sha512', rmd160: 'ripemd160',
  ripemd: 'ripemd160', ssl3: 'md5' };

function algorithmOf(name, what = 'algorithm') {
  validateString(name, what);
  if (!has) throw new codes.ERR_FEATURE_UNAVAILABLE_ON_PLATFORM('node:crypto digests (libgcrypt was missing when this was built)');
  let plain = name.toLowerCase();
  if (plain.startsWith('rsa-')) plain = plain.slice(4);
  return Object.hasOwn(aliases, plain) ? aliases[plain] : plain;
}
function bytesOf(data, name, encoding = undefined) {
  if (typeof data === 'string') return Buffer.from(data, encoding === 'buffer' ? undefined : encoding);
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  throw new codes.ERR_INVALID_ARG_TYPE(name, ['string', 'ArrayBuffer', 'Buffer', 'TypedArray', 'DataView'], data);
}
// A KeyObject has bytes in it.
const secretOf = (key) => (binding.isLoaded('crypto_keys') ? load('crypto_keys')[Symbol.for('vigil.host')].secretInput(key) : key);
function encoded(bytes, encoding) {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return encoding === undefined || encoding === null || encoding === 'buffer' ? buffer : buffer.toString(encoding);
}
const unknown = () => new Error('Digest method not supported');

// ---- in steps -----------------------------------------------------------------------------------------------------

// The class is made when somebody asks: it is a stream, and most programs that hash do not use it as one.
let Digest;
function digestClass() {
  return Digest ??= class extends load('stream').Transform {
    #native;
    #done = false;
    #result; // of a stream that has ended: digest() gives it once more
    #keyed; // an Hmac: its second digest() is empty
    constructor(native, keyed, options) {
      super(options);
      this.#native = native;
      this.#keyed = keyed;
    }
    update(data, encoding = undefined) {
      if (this.#done) throw new codes.ERR_CRYPTO_HASH_FINALIZED();
      if (typeof data !== 'string' && !ArrayBuffer.isView(data)) {
        throw new codes.ERR_INVALID_ARG_TYPE('data', ['string', 'Buffer', 'TypedArray', 'DataView'], data);
      }
      hashAdd(this.#native, bytesOf(data, 'data', encoding));
      return this;
    }
    digest(encoding = undefined) {
      if (this.#result !== undefined) {
        const result = this.#result;
        this.#result = undefined;
        return encoded(result, encoding);
      }
      if (this.#done && this.#keyed) return encoded(new Uint8Array(0), encoding);
      if (this.#done) throw new codes.ERR_CRYPTO_HASH_FINALIZED();
      this.#done = true;
      return encoded(hashEnd(this.#native), encoding);
    }
    copy(options = undefined) {
      if (this.#done) throw new codes.ERR_CRYPTO_HASH_FINALIZED();
      return Reflect.construct(digestClass(), [hashCopy(this.#native), this.#keyed, options], Hash);
    }
    _transform(chunk, encoding, callback) {
      hashAdd(this.#native, bytesOf(chunk, 'chunk', encoding));
      callback();
    }
    _flush(callback) {
      const result = this.digest();
      if (!this.#keyed) this.#result = new Uint8Array(result);
      this.push(result);
      callback();
    }
  };
}
function make(algorithm, key, options, Kind) {
  const name = algorithmOf(algorithm, Kind === Hash ? 'algorithm' : 'hmac');
  const native = names.includes(name) ? hashOpen(name, key) : undefined;
  if (native === undefined) {
    if (Kind !== Hash) throw new codes.ERR_CRYPTO_INVALID_DIGEST(algorithm);
    throw unknown();
  }
  const Base = digestClass();
  if (Object.getPrototypeOf(Kind) !== Base) {
    Object.setPrototypeOf(Kind, Base);
    Object.setPrototypeOf(Kind.prototype, Base.prototype);
  }
  return Reflect.construct(Base, [native, Kind !== Hash, options], Kind);
}
function Hash(algorithm, options = undefined) {
  return make(algorithm, undefined, options, Hash);
}
function Hmac(algorithm, key, options = undefined) {
  validateString(algorithm, 'hmac');
  if (key === null || key === undefined) {
    throw new codes.ERR_INVALID_ARG_TYPE('key', ['ArrayBuffer', 'Buffer', 'TypedArray', 'DataView', 'string'], key);
  }
  return make(algorithm, bytesOf(secretOf(key), 'key', options?.encoding), options, Hmac);
}

Hmac.prototype.copy = undefined;

// hash(algorithm, data, encoding): at once.
function hash(algorithm, data, encoding = 'hex') {
  validateString(algorithm, 'algorithm');
  if (typeof data !== 'string' && !ArrayBuffer.isView(data)) throw new codes.ERR_INVALID_ARG_TYPE('input', ['string', 'Buffer', 'TypedArray', 'DataView'], data);
  if (typeof encoding !== 'string') throw new codes.ERR_INVALID_ARG_TYPE('outputEncoding', 'string', encoding);
  if (encoding !== 'buffer' && !Buffer.isEncoding(encoding)) throw new codes.ERR_INVALID_ARG_VALUE('outputEncoding', encoding);
  const name = algorithmOf(algorithm);
  const native = names.includes(name) ? hashOpen(name) : undefined;
  if (native === undefined) throw unknown();
  hashAdd(native, bytesOf(data, 'input'));
  return encoded(hashEnd(native), encoding);
}

// ---- keys ---------------------------------------------------------------------------------------------------------

function pbkdf2Arguments(password, salt, iterations, length, digest) {
  const name = algorithmOf(digest, 'digest');
  const first = bytesOf(password, 'password');
  const second = bytesOf(salt, 'salt');
  validateInteger(iterations, 'iterations', 1, 2 ** 31 - 1);
  validateInteger(length, 'keylen', 0, 2 ** 31 - 1);
  if (!names.includes(name)) throw new codes.ERR_CRYPTO_INVALID_DIGEST(digest);
  return [name, first, second, iterations, length];
}
const asBuffer = (bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
function pbkdf2Sync(...args) {
  const checked = pbkdf2Arguments(...args);
  return checked[4] === 0 ? Buffer.alloc(0) : asBuffer(pbkdf2Now(...checked));
}
function give(promise, callback) {
  promise.then((bytes) => process.nextTick(callback, null, asBuffer(bytes)), (error) => process.nextTick(callback, error));
}
function pbkdf2(password, salt, iterations, length, digest, callback) {
  if (typeof digest === 'function') throw new codes.ERR_INVALID_ARG_TYPE('digest', 'string', undefined);
  const checked = pbkdf2Arguments(password, salt, iterations, length, digest);
  validateFunction(callback, 'callback');
  if (length === 0) process.nextTick(callback, null, Buffer.alloc(0));
  else give(load('pool').pbkdf2(checked[1], checked[2], iterations, length, checked[0]), callback);
}

function scryptArguments(password, salt, length, options) {
  algorithmOf('sha256');
  const first = bytesOf(password, 'password');
  const second = bytesOf(salt, 'salt');
  validateInteger(length, 'keylen', 0, 2 ** 31 - 1);
  const cost = options?.N ?? options?.cost ?? 16384;
  const block = options?.r ?? options?.blockSize ?? 8;
  const parallel = options?.p ?? options?.parallelization ?? 1;
  const most = options?.maxmem ?? 32 * 1024 * 1024;
  if (!Number.isInteger(cost) || cost < 2 || (cost & (cost - 1)) !== 0 || 128 * cost * block > most) {
    const error = new RangeError('Invalid scrypt params');
    error.code = 'ERR_CRYPTO_INVALID_SCRYPT_PARAMS';
    throw error;
  }
  if (block !== 8 && binding.openssl === undefined) {
    throw new codes.ERR_FEATURE_UNAVAILABLE_ON_PLATFORM('scrypt with another block size than 8 (OpenSSL was missing when this was built)');
  }
  return [first, second, cost, parallel, length, block, most];
}
function scryptSync(password, salt, length, options = undefined) {
  const checked = scryptArguments(password, salt, length, options);
  if (length === 0) return Buffer.alloc(0);
  return asBuffer(checked[5] === 8 ? scryptNow(...checked) : load('crypto_native').now(...otherScrypt(checked)));
}
const otherScrypt = ([password, salt, cost, parallel, length, block, most]) => ['scrypt', password, salt, cost, block, parallel, most, length];
function scrypt(password, salt, length, options, callback) {
  if (typeof options === 'function') [options, callback] = [undefined, options];
  const checked = scryptArguments(password, salt, length, options);
  validateFunction(callback, 'callback');
  if (length === 0) process.nextTick(callback, null, Buffer.alloc(0));
  else if (checked[5] !== 8) give(load('crypto_native').later(...otherScrypt(checked)), callback);
  else give(load('pool').scrypt(checked[0], checked[1], length, { cost: checked[2], parallelization: checked[3] }), callback);
}

// RFC 5869, on HMAC.
function hkdfSync(digest, key, salt, info, length) {
  const name = algorithmOf(digest, 'digest');
  const secret = bytesOf(secretOf(key), 'ikm');
  const second = bytesOf(salt, 'salt');
  const extra = bytesOf(info, 'info');
  if (extra.length > 1024) throw new codes.ERR_OUT_OF_RANGE('info', 'must not contain more than 1024 bytes', extra.length);
  validateInteger(length, 'length', 0, 2 ** 31 - 1);
  if (!names.includes(name)) throw new codes.ERR_CRYPTO_INVALID_DIGEST(digest);
  const mac = (with_, ...parts) => {
    const native = hashOpen(name, with_);
    for (const part of parts) hashAdd(native, part);
    return hashEnd(native);
  };
  const size = hashEnd(hashOpen(name)).length;
  if (length > 255 * size) {
    const error = new RangeError('Invalid key length');
    error.code = 'ERR_CRYPTO_INVALID_KEYLEN';
    throw error;
  }
  const root = mac(second.length === 0 ? new Uint8Array(size) : second, secret);
  const out = new Uint8Array(Math.ceil(length / size) * size);
  let last = new Uint8Array(0);
  for (let i = 0; i * size < length; i++) {
    last = mac(root, last, extra, new Uint8Array([i + 1]));
    out.set(last, i * size);
  }
  return out.buffer.slice(0, length);
}
function hkdf(digest, key, salt, info, length, callback) {
  const result = hkdfSync(digest, key, salt, info, length);
  validateFunction(callback, 'callback');
  setImmediate(callback, null, result);
}

// The name of a digest as OpenSSL knows it.
function digestOf(algorithm) {
  const name = algorithmOf(algorithm);
  if (!names.includes(name)) throw new codes.ERR_CRYPTO_INVALID_DIGEST(algorithm);
  return name;
}

module.exports = {
  createHash: (algorithm, options) => new Hash(algorithm, options),
  createHmac: (algorithm, key, options) => new Hmac(algorithm, key, options),
  getHashes: () => names.slice(),
  Hash, Hmac, hash, pbkdf2, pbkdf2Sync, scrypt, scryptSync, hkdf, hkdfSync,
};
Object.defineProperty(module.exports, Symbol.for('vigil.host'), { value: { digestOf } });
