// SPDX-License-Identifier: MIT
// Keys of node:crypto: KeyObject, createSecretKey, createPrivateKey, createPublicKey, generateKey, generateKeyPair.
//
// What a key is made of: `bytes`, which are PKCS #8 of a private key, SubjectPublicKeyInfo of a public one, and the secret itself of a secret.
'use strict';

const { codes, validateFunction, validateInteger, validateObject, validateString } = load('errors');
const { Buffer } = load('buffer');
const { now, later, native, unpack, textOf, asBuffer, errorOf } = load('crypto_native');

const inner = Symbol('key');
let making = false;

class KeyObject {
  #type;
  constructor(type, handle) {
    if (type !== 'secret' && type !== 'public' && type !== 'private') throw new codes.ERR_INVALID_ARG_VALUE('type', type);
    if (!making) throw new codes.ERR_INVALID_ARG_TYPE('handle', 'object', handle);
    this.#type = type;
    Object.defineProperty(this, inner, { value: handle });
  }
  get type() { return this.#type; }
  static from(key) {
    const object = load('subtle_key').keyObjectOf(key);
    if (object === undefined) throw new codes.ERR_INVALID_ARG_TYPE('key', 'CryptoKey', key);
    return object;
  }
  equals(other) {
    if (!(other instanceof KeyObject)) throw new codes.ERR_INVALID_ARG_TYPE('otherKeyObject', 'KeyObject', other);
    return this.#type === other.type && Buffer.compare(this[inner].bytes, other[inner].bytes) === 0;
  }
}
Object.defineProperty(KeyObject.prototype, Symbol.toStringTag, { value: 'KeyObject', configurable: true });

class SecretKeyObject extends KeyObject {
  get symmetricKeySize() { return this[inner].bytes.length; }
  export(options = undefined) {
    if (options !== undefined) {
      validateObject(options, 'options');
      if (options.format === 'jwk') return { kty: 'oct', k: base64url(this[inner].bytes) };
      if (options.format !== undefined && options.format !== 'buffer') throw new codes.ERR_INVALID_ARG_VALUE('options.format', options.format);
    }
    return Buffer.from(this[inner].bytes);
  }
}

const digestName = (name) => name.toLowerCase().replace('sha2-', 'sha');
function details(key) {
  const known = key[inner];
  if (known.details !== undefined) return known.details;
  const [, bits, curve, exponent, digest, mask, salt, divisor] = unpack(now('info', known.bytes, key.type === 'private'));
  const found = known.details = {};
  if (known.type === 'rsa' || known.type === 'rsa-pss') {
    found.modulusLength = +textOf(bits);
    found.publicExponent = BigInt(`0x${asBuffer(exponent).toString('hex')}`);
    if (known.type === 'rsa-pss' && digest.length > 0) {
      found.hashAlgorithm = digestName(textOf(digest));
      found.mgf1HashAlgorithm = mask.length > 0 ? digestName(textOf(mask)) : found.hashAlgorithm;
      found.saltLength = +textOf(salt);
    }
  } else if (known.type === 'dsa') {
    found.modulusLength = +textOf(bits);
    found.divisorLength = divisor.length === 0 ? 0 : 8 * divisor.length - (Math.clz32(divisor[0]) - 24);
  } else if (known.type === 'ec') {
    found.namedCurve = textOf(curve);
  }
  return found;
}

const pairTypes = ['pkcs1', 'spki'];
class AsymmetricKeyObject extends KeyObject {
  get asymmetricKeyType() { return this[inner].type; }
  get asymmetricKeyDetails() { return { ...details(this) }; }
  export(options) {
    validateObject(options, 'options');
    return exportKey(this, options);
  }
}
class PublicKeyObject extends AsymmetricKeyObject {}
class PrivateKeyObject extends AsymmetricKeyObject {}

function make(Kind, kind, handle) {
  making = true;
  try {
    return new Kind(kind, handle);
  } finally {
    making = false;
  }
}
const secretKey = (bytes) => make(SecretKeyObject, 'secret', { bytes });
const typeOf = (name) => textOf(name).toLowerCase();
function keyOf(der, isPrivate, type = undefined) {
  type ??= typeOf(unpack(now('info', der, isPrivate))[0]);
  return isPrivate ? make(PrivateKeyObject, 'private', { bytes: der, type }) : make(PublicKeyObject, 'public', { bytes: der, type });
}
const bytesOf = (key) => key[inner].bytes;
function publicOf(key) {
  if (key.type === 'public') return key;
  key[inner].public ??= keyOf(now('public', bytesOf(key)), false, key.asymmetricKeyType);
  return key[inner].public;
}

// ---- writing ------------------------------------------------------------------------------------------------------

const incompatible = (a, b) => new codes.ERR_CRYPTO_INCOMPATIBLE_KEY_OPTIONS(a, b);
function exportKey(key, { format, type, cipher, passphrase }) {
  const isPrivate = key.type === 'private';
  if (format === 'jwk') {
    if (passphrase !== undefined) throw incompatible('jwk', 'does not support encryption');
    return toJwk(key);
  }
  if (format !== 'pem' && format !== 'der') throw new codes.ERR_INVALID_ARG_VALUE('options.format', format);
  const known = isPrivate ? ['pkcs1', 'pkcs8', 'sec1'] : pairTypes;
  if (!known.includes(type)) throw new codes.ERR_INVALID_ARG_VALUE('options.type', type);
  if (type === 'pkcs1' && key.asymmetricKeyType !== 'rsa') throw incompatible(type, 'can only be used for RSA keys');
  if (type === 'sec1' && key.asymmetricKeyType !== 'ec') throw incompatible(type, 'can only be used for EC keys');
  if (cipher === undefined && passphrase !== undefined) throw new codes.ERR_INVALID_ARG_VALUE('options.cipher', cipher);
  if (cipher !== undefined) {
    validateString(cipher, 'options.cipher');
    if (format === 'der' && type !== 'pkcs8') throw incompatible(type, 'does not support encryption');
    if (passphrase === undefined || (typeof passphrase !== 'string' && !ArrayBuffer.isView(passphrase))) {
      throw new codes.ERR_INVALID_ARG_VALUE('options.passphrase', passphrase);
    }
    if (native.cipherInfo(cipher) === undefined) throw new codes.ERR_CRYPTO_UNKNOWN_CIPHER();
  }
  if (format === 'der' && cipher === undefined && (type === 'pkcs8' || type === 'spki')) return Buffer.from(bytesOf(key));
  const structure = type === 'spki' ? 'SubjectPublicKeyInfo' : type !== 'pkcs8' ? 'type-specific'
    : cipher === undefined ? 'PrivateKeyInfo' : 'EncryptedPrivateKeyInfo';
  const secret = typeof passphrase === 'string' ? Buffer.from(passphrase) : passphrase;
  const file = now('write', bytesOf(key), isPrivate, structure, format.toUpperCase(), cipher, secret);
  return format === 'pem' ? textOf(file) : asBuffer(file);
}

// ---- JWK ----------------------------------------------------------------------------------------------------------

const base64url = (bytes) => asBuffer(bytes).toString('base64url');
const rsaNames = ['n', 'e', 'd', 'p', 'q', 'dp', 'dq', 'qi'];
const curves = { 'P-256': 'prime256v1', 'P-384': 'secp384r1', 'P-521': 'secp521r1', secp256k1: 'secp256k1' };
const plainCurves = { Ed25519: 'ed25519', Ed448: 'ed448', X25519: 'x25519', X448: 'x448' };
const keyIn = (table, value) => Object.keys(table).find((key) => table[key] === value);

function toJwk(key) {
  const isPrivate = key.type === 'private';
  const type = key.asymmetricKeyType;
  const parts = unpack(now('parts', bytesOf(key), isPrivate));
  const jwk = {};
  if (type === 'rsa') {
    jwk.kty = 'RSA';
    parts.forEach((part, i) => { jwk[rsaNames[i]] = base64url(part); });
  } else if (type === 'ec') {
    const crv = keyIn(curves, textOf(parts[0]));
    if (crv === undefined) throw new codes.ERR_CRYPTO_JWK_UNSUPPORTED_CURVE(textOf(parts[0]));
    Object.assign(jwk, { kty: 'EC', x: base64url(parts[1]), y: base64url(parts[2]), crv });
    if (isPrivate) jwk.d = base64url(parts[3]);
  } else if (keyIn(plainCurves, type) !== undefined) {
    jwk.crv = keyIn(plainCurves, type);
    if (isPrivate) jwk.d = base64url(parts[1]);
    jwk.x = base64url(parts[0]);
    jwk.kty = 'OKP';
  } else {
    throw new codes.ERR_CRYPTO_JWK_UNSUPPORTED_KEY_TYPE();
  }
  return jwk;
}
function partOf(jwk, name) {
  validateString(jwk[name], `key.${name}`);
  return Buffer.from(jwk[name], 'base64url');
}
// isPrivate: undefined takes what is there.
function fromJwk(jwk, wantsPrivate = undefined) {
  validateObject(jwk, 'key');
  const isPrivate = wantsPrivate ?? jwk.d !== undefined;
  try {
    if (jwk.kty === 'RSA') {
      const names = isPrivate ? rsaNames : ['n', 'e'];
      return keyOf(now('make', 'rsa', isPrivate, ...names.map((name) => partOf(jwk, name))), isPrivate, 'rsa');
    }
    if (jwk.kty === 'EC') {
      if (!Object.hasOwn(curves, jwk.crv)) throw new codes.ERR_INVALID_ARG_VALUE('key.crv', jwk.crv);
      const point = Buffer.concat([Buffer.from([4]), partOf(jwk, 'x'), partOf(jwk, 'y')]);
      const made = now('make', 'ec', isPrivate, curves[jwk.crv], point, isPrivate ? partOf(jwk, 'd') : undefined);
      return keyOf(made, isPrivate, 'ec');
    }
    if (jwk.kty === 'OKP') {
      if (!Object.hasOwn(plainCurves, jwk.crv)) throw new codes.ERR_INVALID_ARG_VALUE('key.crv', jwk.crv);
      const type = plainCurves[jwk.crv];
      return keyOf(now('make', type, isPrivate, partOf(jwk, 'x'), isPrivate ? partOf(jwk, 'd') : undefined), isPrivate, type);
    }
  } catch (error) {
    if (`${error.code}`.startsWith('ERR_INVALID_ARG')) throw error;
    throw new codes.ERR_CRYPTO_INVALID_JWK();
  }
  throw new codes.ERR_INVALID_ARG_VALUE('key.kty', jwk.kty);
}

// ---- reading ------------------------------------------------------------------------------------------------------

const fileTypes = ['string', 'ArrayBuffer', 'Buffer', 'TypedArray', 'DataView', 'KeyObject', 'CryptoKey'];
function toBytes(value, name, encoding = undefined) {
  if (typeof value === 'string') return Buffer.from(value, encoding === 'buffer' ? 'utf8' : encoding);
  if (ArrayBuffer.isView(value)) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  if (value instanceof ArrayBuffer) return Buffer.from(value);
  throw new codes.ERR_INVALID_ARG_TYPE(name, fileTypes, value);
}
function objectOf(value) {
  if (value instanceof KeyObject) return value;
  return binding.isLoaded('subtle_key') ? load('subtle_key').keyObjectOf(value) : undefined;
}
function read(file, isPrivate, passphrase) {
  const secret = passphrase === undefined ? undefined : toBytes(passphrase, 'key.passphrase');
  let items;
  try {
    items = unpack(now('read', file, isPrivate, secret));
  } catch (error) {
    if (error.message.startsWith('Passphrase required')) {
      // What OpenSSL says of text; Node has words of its own for bytes.
      if (file[0] === 0x2d) throw errorOf('error:07880109:common libcrypto routines::interrupted or cancelled');
      throw new codes.ERR_MISSING_PASSPHRASE();
    }
    throw error;
  }
  return keyOf(items[1], isPrivate, typeOf(items[0]));
}
// A key as programs give it: an object, PEM, or { key, format, type, passphrase }.
function input(value, isPrivate, name = 'key') {
  const object = objectOf(value) ?? (value !== null && typeof value === 'object' ? objectOf(value.key) : undefined);
  if (object !== undefined) {
    if (object.type === 'secret' || (isPrivate && object.type !== 'private')) {
      throw new codes.ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE(object.type, isPrivate ? 'private' : 'private or public');
    }
    return isPrivate ? object : publicOf(object);
  }
  if (typeof value === 'string' || ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return read(toBytes(value, name), isPrivate);
  if (value === null || typeof value !== 'object') throw new codes.ERR_INVALID_ARG_TYPE(name, fileTypes, value);
  if (value.format === 'jwk') return fromJwk(value.key, isPrivate);
  const file = toBytes(value.key, `${name}.key`, value.encoding);
  if (value.format !== undefined && value.format !== 'pem' && value.format !== 'der') throw new codes.ERR_INVALID_ARG_VALUE(`${name}.format`, value.format);
  const types = isPrivate ? ['pkcs1', 'pkcs8', 'sec1'] : ['pkcs1', 'spki', 'pkcs8', 'sec1'];
  if (value.format === 'der' && !types.includes(value.type)) throw new codes.ERR_INVALID_ARG_VALUE('options.type', value.type);
  return read(file, isPrivate, value.passphrase);
}
const privateInput = (value, name) => input(value, true, name);
const publicInput = (value, name) => input(value, false, name);

function createSecretKey(key, encoding = undefined) {
  return secretKey(new Uint8Array(toBytes(key, 'key', encoding)));
}
function createPrivateKey(key) {
  if (objectOf(key) !== undefined) throw new codes.ERR_INVALID_ARG_TYPE('key', fileTypes.slice(0, 5), key);
  return privateInput(key);
}
function createPublicKey(key) {
  if (objectOf(key)?.type === 'public') throw new codes.ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE('public', 'private');
  return publicInput(key);
}
// The bytes of a secret: for HMAC and ciphers.
function secretInput(value) {
  const object = objectOf(value);
  if (object === undefined) return value;
  if (object.type !== 'secret') throw new codes.ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE(object.type, 'secret');
  return bytesOf(object);
}

// ---- new ones -----------------------------------------------------------------------------------------------------

const plainTypes = ['ed25519', 'ed448', 'x25519', 'x448'];
function recipe(type, options) {
  validateString(type, 'type');
  for (const name of ['publicKeyEncoding', 'privateKeyEncoding']) {
    const encoding = options?.[name];
    if (encoding !== undefined && encoding !== null && typeof encoding !== 'object') throw new codes.ERR_INVALID_ARG_VALUE(`options.${name}`, encoding);
  }
  if (plainTypes.includes(type)) {
    if (options !== undefined) validateObject(options, 'options');
    return ['generate', type];
  }
  if (type === 'rsa' || type === 'rsa-pss') {
    validateObject(options, 'options');
    const { modulusLength, publicExponent = 0x10001, hash, mgf1Hash, saltLength } = options;
    let { hashAlgorithm, mgf1HashAlgorithm } = options;
    validateInteger(modulusLength, 'options.modulusLength', 0, 2 ** 32 - 1);
    validateInteger(publicExponent, 'options.publicExponent', 0, 2 ** 32 - 1);
    if (type === 'rsa') return ['generate', type, modulusLength, publicExponent];
    if (saltLength !== undefined) validateInteger(saltLength, 'options.saltLength', 0, 2 ** 31 - 1);
    for (const [name, value] of Object.entries({ hashAlgorithm, mgf1HashAlgorithm, hash, mgf1Hash })) {
      if (value !== undefined) validateString(value, `options.${name}`);
    }
    for (const [name, value, later_] of [['hash', hash, hashAlgorithm], ['mgf1Hash', mgf1Hash, mgf1HashAlgorithm]]) {
      if (value === undefined) continue;
      process.emitWarning(`"options.${name}" is deprecated, use "options.${name}Algorithm" instead.`, 'DeprecationWarning', 'DEP0154');
      if (later_ !== undefined && later_ !== value) throw new codes.ERR_INVALID_ARG_VALUE(`options.${name}`, value);
    }
    hashAlgorithm ??= hash;
    mgf1HashAlgorithm ??= mgf1Hash ?? hashAlgorithm;
    for (const name of [hashAlgorithm, mgf1HashAlgorithm]) {
      if (name !== undefined && !load('crypto_hash').getHashes().includes(name.toLowerCase())) {
        throw new codes.ERR_CRYPTO_INVALID_DIGEST(name, name === hashAlgorithm ? undefined : 'MGF1');
      }
    }
    // RFC 8017, A.2.3: a salt is as long as the digest.
    const salt = saltLength ?? (hashAlgorithm === undefined ? undefined : load('crypto_hash').createHash(hashAlgorithm).digest().length);
    return ['generate', type, modulusLength, publicExponent, hashAlgorithm, mgf1HashAlgorithm, salt];
  }
  if (type === 'ec') {
    validateObject(options, 'options');
    validateString(options.namedCurve, 'options.namedCurve');
    if (!Object.hasOwn(curves, options.namedCurve) && !native.curveNames().includes(options.namedCurve)) {
      throw new codes.ERR_CRYPTO_INVALID_CURVE();
    }
    const { paramEncoding } = options;
    if (paramEncoding !== undefined && paramEncoding !== null && paramEncoding !== 'named' && paramEncoding !== 'explicit') {
      throw new codes.ERR_INVALID_ARG_VALUE('options.paramEncoding', paramEncoding);
    }
    return ['generate', type, options.namedCurve, paramEncoding === 'explicit'];
  }
  if (type === 'dsa') {
    validateObject(options, 'options');
    const { modulusLength, divisorLength } = options;
    validateInteger(modulusLength, 'options.modulusLength', 0, 2 ** 32 - 1);
    if (divisorLength !== undefined && divisorLength !== null) validateInteger(divisorLength, 'options.divisorLength', 0, 2 ** 31 - 1);
    return ['generate', 'DSA', modulusLength, divisorLength ?? undefined];
  }
  if (type === 'dh') return load('crypto_dh')[Symbol.for('vigil.host')].recipe(options);
  throw new codes.ERR_INVALID_ARG_VALUE('type', type, 'must be a supported key type');
}
function pairOf(der, type, options) {
  const privateKey = keyOf(der, true, type);
  const publicKey = publicOf(privateKey);
  const given = (key, encoding) => (encoding === undefined || encoding === null ? key : key.export(encoding));
  return { publicKey: given(publicKey, options?.publicKeyEncoding), privateKey: given(privateKey, options?.privateKeyEncoding) };
}
function generateKeyPairSync(type, options = undefined) {
  return pairOf(now(...recipe(type, options)), type, options);
}
function generateKeyPair(type, options, callback) {
  if (typeof options === 'function') [options, callback] = [undefined, options];
  validateFunction(callback, 'callback');
  later(...recipe(type, options)).then((der) => pairOf(der, type, options))
    .then(({ publicKey, privateKey }) => process.nextTick(callback, null, publicKey, privateKey), (error) => process.nextTick(callback, error));
}
Object.defineProperty(generateKeyPair, Symbol.for('nodejs.util.promisify.custom'), {
  value: (type, options) => later(...recipe(type, options)).then((der) => pairOf(der, type, options)),
});

function generateKeySync(type, options) {
  validateString(type, 'type');
  validateObject(options, 'options');
  if (type === 'hmac') validateInteger(options.length, 'options.length', 8, 2 ** 31 - 1);
  else if (type === 'aes') {
    if (![128, 192, 256].includes(options.length)) throw new codes.ERR_INVALID_ARG_VALUE('options.length', options.length, 'must be one of: 128, 192, 256');
  } else {
    throw new codes.ERR_INVALID_ARG_VALUE('type', type, 'must be a supported key type');
  }
  return secretKey(new Uint8Array(load('node_crypto').randomBytes(options.length >> 3)));
}
function generateKey(type, options, callback) {
  validateFunction(callback, 'callback');
  const key = generateKeySync(type, options);
  setImmediate(callback, null, key);
}

module.exports = {
  KeyObject, createSecretKey, createPrivateKey, createPublicKey, generateKeyPair, generateKeyPairSync, generateKey, generateKeySync,
  getCurves: () => native.curveNames().sort(),
};
Object.defineProperty(module.exports, Symbol.for('vigil.host'), {
  value: { bytesOf, keyOf, secretKey, publicOf, privateInput, publicInput, secretInput, objectOf, toBytes, fromJwk, toJwk, base64url, curves, plainCurves, recipe },
});
