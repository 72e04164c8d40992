// SPDX-License-Identifier: MIT
// Signatures of node:crypto, RSA as a cipher, and shared secrets.
'use strict';

const { codes, validateFunction, validateObject, validateString } = load('errors');
const { now, later, asBuffer } = load('crypto_native');
const { bytesOf, privateInput, publicInput, objectOf, toBytes } = load('crypto_keys')[Symbol.for('vigil.host')];
const { createHash, [Symbol.for('vigil.host')]: { digestOf } } = load('crypto_hash');

// ---- how ----------------------------------------------------------------------------------------------------------

function optionsOf(key) {
  const { padding, saltLength, dsaEncoding } = key !== null && typeof key === 'object' && objectOf(key) === undefined ? key : {};
  if (dsaEncoding !== undefined && dsaEncoding !== 'der' && dsaEncoding !== 'ieee-p1363') {
    throw new codes.ERR_INVALID_ARG_VALUE('options.dsaEncoding', dsaEncoding);
  }
  for (const [name, value] of [['padding', padding], ['saltLength', saltLength]]) {
    if (value !== undefined && value !== value >> 0) throw new codes.ERR_INVALID_ARG_VALUE(`options.${name}`, value);
  }
  return [padding, saltLength, dsaEncoding === 'ieee-p1363'];
}
// A key of Edwards' curves hashes by itself.
function wayOf(algorithm) {
  if (algorithm === null || algorithm === undefined) return undefined;
  return digestOf(algorithm);
}
const given = (bytes, encoding) => (encoding === undefined || encoding === null || encoding === 'buffer' ? asBuffer(bytes) : asBuffer(bytes).toString(encoding));

function signArguments(algorithm, hashed, data, key, object = undefined) {
  if (!key) throw new codes.ERR_CRYPTO_SIGN_KEY_REQUIRED();
  object ??= privateInput(key);
  return ['sign', bytesOf(object), true, wayOf(algorithm) ?? defaultDigest(object), hashed, data, ...optionsOf(key)];
}
function verifyArguments(algorithm, hashed, data, key, signature, object = publicInput(key)) {
  return ['verify', bytesOf(object), false, wayOf(algorithm) ?? defaultDigest(object), hashed, data, ...optionsOf(key), signature];
}
const defaultDigest = (key) => (['ed25519', 'ed448'].includes(key.asymmetricKeyType) ? undefined : 'sha256');

// ---- in steps -----------------------------------------------------------------------------------------------------

let Base;
function baseClass() {
  return Base ??= class extends load('stream').Writable {
    #hash;
    #algorithm;
    #over = false;
    constructor(algorithm, options) {
      validateString(algorithm, 'algorithm');
      super(options);
      try {
        this.#hash = createHash(algorithm);
      } catch {
        throw Object.assign(new TypeError('Invalid digest'), { code: 'ERR_CRYPTO_INVALID_DIGEST' });
      }
      this.#algorithm = algorithm;
    }
    update(data, encoding = undefined) {
      this.#hash.update(data, encoding);
      return this;
    }
    _write(chunk, encoding, callback) {
      this.update(chunk, encoding);
      callback();
    }
    finish() {
      if (this.#over) throw new codes.ERR_CRYPTO_HASH_FINALIZED();
      this.#over = true;
      return [this.#algorithm, this.#hash.digest()];
    }
  };
}
function build(Kind, algorithm, options) {
  const Parent = baseClass();
  if (Object.getPrototypeOf(Kind) !== Parent) {
    Object.setPrototypeOf(Kind, Parent);
    Object.setPrototypeOf(Kind.prototype, Parent.prototype);
  }
  return Reflect.construct(Parent, [algorithm, options], Kind);
}
function Sign(algorithm, options = undefined) {
  return build(Sign, algorithm, options);
}
Sign.prototype.sign = function (key, encoding = undefined) {
  if (!key) throw new codes.ERR_CRYPTO_SIGN_KEY_REQUIRED();
  // A wrong key leaves the data: another one may follow.
  const object = privateInput(key);
  const [algorithm, digest] = this.finish();
  return given(now(...signArguments(algorithm, true, digest, key, object)), encoding);
};
function Verify(algorithm, options = undefined) {
  return build(Verify, algorithm, options);
}
Verify.prototype.verify = function (key, signature, encoding = undefined) {
  const object = publicInput(key);
  const bytes = toBytes(signature, 'signature', encoding);
  const [algorithm, digest] = this.finish();
  return now(...verifyArguments(algorithm, true, digest, key, bytes, object))[0] === 1;
};

// ---- at once ------------------------------------------------------------------------------------------------------

function answer(promise, callback) {
  promise.then((value) => process.nextTick(callback, null, value), (error) => process.nextTick(callback, error));
}
function sign(algorithm, data, key, callback = undefined) {
  if (algorithm !== null && algorithm !== undefined) validateString(algorithm, 'algorithm');
  const args = signArguments(algorithm, false, toBytes(data, 'data'), key);
  if (callback === undefined) return asBuffer(now(...args));
  validateFunction(callback, 'callback');
  answer(later(...args).then(asBuffer), callback);
  return undefined;
}
function verify(algorithm, data, key, signature, callback = undefined) {
  if (algorithm !== null && algorithm !== undefined) validateString(algorithm, 'algorithm');
  if (!ArrayBuffer.isView(signature) && !(signature instanceof ArrayBuffer)) {
    throw new codes.ERR_INVALID_ARG_TYPE('signature', ['ArrayBuffer', 'Buffer', 'TypedArray', 'DataView'], signature);
  }
  const args = verifyArguments(algorithm, false, toBytes(data, 'data'), key, toBytes(signature, 'signature'));
  if (callback === undefined) return now(...args)[0] === 1;
  validateFunction(callback, 'callback');
  answer(later(...args).then((bytes) => bytes[0] === 1), callback);
  return undefined;
}

// ---- RSA as a cipher ----------------------------------------------------------------------------------------------

const OAEP = 4;
const PKCS1 = 1;
const DECRYPT = 1;
function crypter(mode, isPrivate, padding) {
  return (key, buffer) => {
    const object = isPrivate ? privateInput(key) : publicInput(key);
    // As Node: without implicit rejection in OpenSSL an attacker could learn the text by what fails and how.
    if (mode === DECRYPT && key?.padding === PKCS1) {
      throw Object.assign(new TypeError('RSA_PKCS1_PADDING is not supported for private decryption (CVE-2023-46809)'), { code: 'ERR_INVALID_ARG_VALUE' });
    }
    const plain = objectOf(key) !== undefined || key === null || typeof key !== 'object' ? {} : key;
    const label = plain.oaepLabel === undefined ? undefined : toBytes(plain.oaepLabel, 'key.oaepLabel', plain.encoding);
    return asBuffer(now('crypt', bytesOf(object), isPrivate, mode, toBytes(buffer, 'buffer', plain.encoding), plain.padding ?? padding,
                        plain.oaepHash, label));
  };
}

function diffieHellman(options) {
  validateObject(options, 'options');
  const own = objectOf(options.privateKey);
  const other = objectOf(options.publicKey);
  if (own?.type !== 'private') throw new codes.ERR_INVALID_ARG_VALUE('options.privateKey', options.privateKey);
  if (other === undefined || other.type === 'secret') throw new codes.ERR_INVALID_ARG_VALUE('options.publicKey', options.publicKey);
  if (own.asymmetricKeyType !== other.asymmetricKeyType) {
    throw new codes.ERR_CRYPTO_INCOMPATIBLE_KEY('key types for Diffie-Hellman', `${own.asymmetricKeyType} and ${other.asymmetricKeyType}`);
  }
  return asBuffer(now('derive', bytesOf(own), bytesOf(publicInput(other))));
}

module.exports = {
  Sign, Verify, sign, verify, diffieHellman,
  createSign: (algorithm, options) => new Sign(algorithm, options),
  createVerify: (algorithm, options) => new Verify(algorithm, options),
  publicEncrypt: crypter(0, false, OAEP), privateDecrypt: crypter(1, true, OAEP),
  privateEncrypt: crypter(2, true, PKCS1), publicDecrypt: crypter(3, false, PKCS1),
};
