// SPDX-License-Identifier: MIT
// CryptoKey, and what importKey, exportKey and generateKey of crypto.subtle do.
'use strict';

const { codes } = load('errors');
const { DOMException } = load('eventtarget');
const { Buffer } = load('buffer');
const { now, later, unpack } = load('crypto_native');
const { bytesOf, keyOf, publicOf, secretKey, fromJwk, toJwk, base64url, curves, plainCurves } = load('crypto_keys')[Symbol.for('vigil.host')];

const refuse = (name, text) => new DOMException(text, name);

// ---- the object ---------------------------------------------------------------------------------------------------

const inner = new WeakMap();
class CryptoKey {
  constructor() {
    throw new codes.ERR_ILLEGAL_CONSTRUCTOR();
  }
  get type() { return inner.get(this).object.type; }
  get extractable() { return inner.get(this).extractable; }
  get algorithm() { return inner.get(this).algorithm; }
  get usages() { return inner.get(this).usages.slice(); }
}
load('idl').expose(CryptoKey);
// The last four are usages of algorithms that are not here.
const ORDER = ['encrypt', 'decrypt', 'sign', 'verify', 'deriveKey', 'deriveBits', 'wrapKey', 'unwrapKey',
               'encapsulateKey', 'encapsulateBits', 'decapsulateKey', 'decapsulateBits'];
function cryptoKey(object, algorithm, extractable, usages) {
  const key = Object.create(CryptoKey.prototype);
  inner.set(key, { object, algorithm, extractable, usages: ORDER.filter((usage) => usages.includes(usage)) });
  return key;
}
const keyObjectOf = (value) => (value !== null && typeof value === 'object' ? inner.get(value)?.object : undefined);

// ---- algorithms ---------------------------------------------------------------------------------------------------

const digests = { 'SHA-1': 'sha1', 'SHA-256': 'sha256', 'SHA-384': 'sha384', 'SHA-512': 'sha512' };
const blocks = { 'SHA-1': 512, 'SHA-256': 512, 'SHA-384': 1024, 'SHA-512': 1024 };
// Which usages a secret, a public and a private key may have.
const families = {
  HMAC: { kind: 'hmac', secret: ['sign', 'verify'] },
  'AES-CTR': { kind: 'aes', secret: ['encrypt', 'decrypt', 'wrapKey', 'unwrapKey'], suffix: 'CTR' },
  'AES-CBC': { kind: 'aes', secret: ['encrypt', 'decrypt', 'wrapKey', 'unwrapKey'], suffix: 'CBC' },
  'AES-GCM': { kind: 'aes', secret: ['encrypt', 'decrypt', 'wrapKey', 'unwrapKey'], suffix: 'GCM' },
  'AES-KW': { kind: 'aes', secret: ['wrapKey', 'unwrapKey'], suffix: 'KW' },
  HKDF: { kind: 'kdf', secret: ['deriveKey', 'deriveBits'] },
  PBKDF2: { kind: 'kdf', secret: ['deriveKey', 'deriveBits'] },
  'RSASSA-PKCS1-v1_5': { kind: 'rsa', public: ['verify'], private: ['sign'], prefix: 'RS' },
  'RSA-PSS': { kind: 'rsa', public: ['verify'], private: ['sign'], prefix: 'PS' },
  'RSA-OAEP': { kind: 'rsa', public: ['encrypt', 'wrapKey'], private: ['decrypt', 'unwrapKey'], prefix: 'RSA-OAEP' },
  ECDSA: { kind: 'ec', public: ['verify'], private: ['sign'] },
  ECDH: { kind: 'ec', public: [], private: ['deriveKey', 'deriveBits'] },
  Ed25519: { kind: 'plain', public: ['verify'], private: ['sign'] },
  Ed448: { kind: 'plain', public: ['verify'], private: ['sign'] },
  X25519: { kind: 'plain', public: [], private: ['deriveKey', 'deriveBits'] },
  X448: { kind: 'plain', public: [], private: ['deriveKey', 'deriveBits'] },
};
const unknown = () => refuse('NotSupportedError', 'Unrecognized algorithm name');
function nameIn(table, name) {
  const wanted = `${name}`.toUpperCase();
  const found = Object.keys(table).find((key) => key.toUpperCase() === wanted);
  if (found === undefined) throw unknown();
  return found;
}
// The members of all algorithms.
const MEMBERS = ['additionalData', 'context', 'counter', 'hash', 'info', 'iterations', 'iv', 'label', 'length', 'modulusLength', 'namedCurve',
                 'public', 'publicExponent', 'salt', 'saltLength', 'tagLength'];
// { name, ... } with the name as the standard writes it. Members may be inherited; each is read once.
function normal(algorithm, table) {
  if (typeof algorithm === 'string') return { name: nameIn(table, algorithm) };
  if (algorithm === null || typeof algorithm !== 'object') throw new TypeError('the algorithm is neither a string nor an object');
  const { name } = algorithm;
  if (name === undefined) throw new TypeError('the algorithm has no name');
  const made = { name: nameIn(table, name) };
  for (const member of MEMBERS) {
    const value = algorithm[member];
    if (value !== undefined) made[member] = value;
  }
  return made;
}
function hashOf(algorithm) {
  if (algorithm.hash === undefined) throw new TypeError(`${algorithm.name}: hash is missing`);
  return normal(algorithm.hash, digests);
}
// A buffer that was moved away is empty.
function bytesFrom(value, name) {
  if ((ArrayBuffer.isView(value) ? value.buffer : value)?.detached === true) return new Uint8Array(0);
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  throw new TypeError(`${name} is neither an ArrayBuffer nor a view of one`);
}
function number(value, name, most) {
  const found = Number(value);
  if (!Number.isFinite(found) || found < 0 || found > most) throw new TypeError(`${name} is no number between 0 and ${most}`);
  return Math.trunc(found);
}
function checkUsages(usages, allowed, mayBeEmpty) {
  if (usages.some((usage) => !ORDER.includes(usage))) throw new TypeError('an unknown usage of a key');
  if (usages.some((usage) => !allowed.includes(usage))) throw refuse('SyntaxError', 'Unsupported key usage for this algorithm');
  if (usages.length === 0 && !mayBeEmpty) throw refuse('SyntaxError', 'Usages cannot be empty when importing or creating a key.');
}
function curveOf(algorithm) {
  const name = `${algorithm.namedCurve}`;
  if (!Object.hasOwn(curves, name) || name === 'secp256k1') throw refuse('NotSupportedError', 'Unsupported named curve');
  return name;
}

// ---- new keys -----------------------------------------------------------------------------------------------------

function aesLength(length) {
  if (![128, 192, 256].includes(length)) throw refuse('OperationError', 'Invalid key length');
  return length;
}
function hmacLength(algorithm, hash) {
  if (algorithm.length === undefined) return blocks[hash.name];
  const length = number(algorithm.length, 'length', 2 ** 31);
  if (length === 0) throw refuse('OperationError', 'Zero-length key is not supported');
  return length;
}
function newSecret(bits) {
  return secretKey(new Uint8Array(load('node_crypto').randomBytes(Math.ceil(bits / 8))));
}
async function newPair(algorithm, family, recipe, shown, extractable, usages) {
  checkUsages(usages, [...family.public, ...family.private], true);
  if (usages.filter((usage) => family.private.includes(usage)).length === 0) {
    throw refuse('SyntaxError', 'Usages cannot be empty when creating a key.');
  }
  const object = keyOf(await later('generate', ...recipe), true, recipe[0]);
  const other = publicOf(object);
  return {
    publicKey: cryptoKey(other, shown, true, usages.filter((usage) => family.public.includes(usage))),
    privateKey: cryptoKey(object, shown, extractable, usages.filter((usage) => family.private.includes(usage))),
  };
}
async function generate(given, extractable, usages) {
  const algorithm = normal(given, families);
  const { name } = algorithm;
  const family = families[name];
  switch (family.kind) {
    case 'hmac': {
      const hash = hashOf(algorithm);
      checkUsages(usages, family.secret, false);
      const length = hmacLength(algorithm, hash);
      return cryptoKey(newSecret(length), { name, length, hash }, extractable, usages);
    }
    case 'aes': {
      const length = aesLength(number(algorithm.length, 'length', 65535));
      checkUsages(usages, family.secret, false);
      return cryptoKey(newSecret(length), { name, length }, extractable, usages);
    }
    case 'rsa': {
      const modulusLength = number(algorithm.modulusLength, 'modulusLength', 2 ** 32 - 1);
      const publicExponent = new Uint8Array(bytesFrom(algorithm.publicExponent, 'publicExponent'));
      const exponent = publicExponent.reduce((value, byte) => value * 256 + byte, 0);
      const hash = hashOf(algorithm);
      if (modulusLength < 256 || exponent < 3 || exponent % 2 === 0 || exponent > 2 ** 32) throw refuse('OperationError', 'The parameters make no RSA key');
      return newPair(algorithm, family, ['rsa', modulusLength, exponent], { name, modulusLength, publicExponent, hash }, extractable, usages);
    }
    case 'ec': {
      const namedCurve = curveOf(algorithm);
      return newPair(algorithm, family, ['ec', namedCurve], { name, namedCurve }, extractable, usages);
    }
    case 'plain':
      return newPair(algorithm, family, [plainCurves[name]], { name }, extractable, usages);
    default:
      throw unknown();
  }
}

// ---- from outside -------------------------------------------------------------------------------------------------

const wrong = (text = 'Invalid keyData') => refuse('DataError', text);
function checkJwk(jwk, kty, algorithmName, extractable, usages, use) {
  if (jwk === null || typeof jwk !== 'object') throw new TypeError('keyData is no JWK');
  if (jwk.kty !== kty) throw wrong('Invalid JWK "kty" Parameter');
  if (jwk.ext === false && extractable) throw wrong('JWK "ext" Parameter and extractable mismatch');
  if (jwk.use !== undefined && jwk.use !== use) throw wrong('Invalid JWK "use" Parameter');
  if (jwk.key_ops !== undefined && (!Array.isArray(jwk.key_ops) || usages.some((usage) => !jwk.key_ops.includes(usage)))) {
    throw wrong('Key operations and usage mismatch');
  }
  if (algorithmName !== undefined && jwk.alg !== undefined && jwk.alg !== algorithmName) throw wrong('JWK "alg" does not match the requested algorithm');
}
const hashNumber = (hash) => hash.name.slice(4);
function jwkName(name, { hash, length }) {
  const { kind, prefix, suffix } = families[name];
  if (kind === 'hmac') return `HS${hashNumber(hash)}`;
  if (kind === 'aes') return `A${length}${suffix}`;
  if (prefix === 'RSA-OAEP') return hash.name === 'SHA-1' ? prefix : `${prefix}-${hashNumber(hash)}`;
  return kind === 'rsa' ? `${prefix}${hashNumber(hash)}` : undefined;
}
function importSecret(format, data, algorithm, family, extractable, usages) {
  const { name } = algorithm;
  checkUsages(usages, family.secret, false);
  const hash = family.kind === 'hmac' ? hashOf(algorithm) : undefined;
  let bytes;
  if (format === 'raw') {
    bytes = new Uint8Array(bytesFrom(data, 'keyData'));
  } else if (format === 'jwk' && family.kind !== 'kdf') {
    checkJwk(data, 'oct', undefined, extractable, usages, family.kind === 'hmac' ? 'sig' : 'enc');
    if (typeof data.k !== 'string') throw wrong();
    bytes = new Uint8Array(Buffer.from(data.k, 'base64url'));
  } else {
    throw refuse('NotSupportedError', `Unable to import ${name} key with format ${format}`);
  }
  const object = secretKey(bytes);
  const length = bytes.length * 8;
  if (family.kind === 'kdf') {
    if (extractable) throw refuse('SyntaxError', `${name} keys are not extractable`);
    return cryptoKey(object, { name }, false, usages);
  }
  if (family.kind === 'aes' && ![128, 192, 256].includes(length)) throw wrong('Invalid key length');
  if (family.kind === 'hmac' && (length === 0 || (algorithm.length !== undefined && (algorithm.length > length || algorithm.length <= length - 8)))) {
    throw wrong('Invalid key length');
  }
  const shown = hash === undefined ? { name, length } : { name, hash, length: algorithm.length ?? length };
  if (format === 'jwk') checkJwk(data, 'oct', jwkName(name, shown), extractable, usages, family.kind === 'hmac' ? 'sig' : 'enc');
  return cryptoKey(object, shown, extractable, usages);
}
function readDer(data, isPrivate) {
  const bytes = new Uint8Array(bytesFrom(data, 'keyData'));
  try {
    return keyOf(bytes, isPrivate);
  } catch {
    throw wrong();
  }
}
function readRaw(name, family, algorithm, data) {
  const bytes = bytesFrom(data, 'keyData');
  try {
    if (family.kind === 'ec') return keyOf(now('make', 'ec', false, curves[curveOf(algorithm)], bytes), false, 'ec');
    return keyOf(now('make', plainCurves[name], false, bytes), false, plainCurves[name]);
  } catch (error) {
    throw error instanceof DOMException ? error : wrong();
  }
}
const types = { rsa: 'rsa', ec: 'ec' };
function importAsymmetric(format, data, algorithm, family, extractable, usages) {
  const { name } = algorithm;
  const hash = family.kind === 'rsa' ? hashOf(algorithm) : undefined;
  const namedCurve = family.kind === 'ec' ? curveOf(algorithm) : undefined;
  const signs = family.public.includes('verify');
  let object;
  if (format === 'spki' || format === 'pkcs8') {
    checkUsages(usages, format === 'spki' ? family.public : family.private, true);
    object = readDer(data, format === 'pkcs8');
  } else if (format === 'raw' && family.kind !== 'rsa') {
    checkUsages(usages, family.public, true);
    object = readRaw(name, family, algorithm, data);
  } else if (format === 'jwk') {
    checkJwk(data, { rsa: 'RSA', ec: 'EC', plain: 'OKP' }[family.kind], hash && jwkName(name, { hash }), extractable, usages, signs ? 'sig' : 'enc');
    checkUsages(usages, data.d === undefined ? family.public : family.private, true);
    if ((namedCurve ?? (family.kind === 'plain' ? name : data.crv)) !== data.crv) throw wrong('JWK "crv" does not match the requested algorithm');
    try {
      object = fromJwk(data);
    } catch {
      throw wrong();
    }
    // A private key here has its public one computed; the other must be the same.
    const isPair = family.kind === 'plain' && data.d !== undefined;
    if (isPair && toJwk(object).x !== base64url(Buffer.from(data.x, 'base64url'))) throw wrong('Invalid key pair');
  } else {
    throw refuse('NotSupportedError', `Unable to import ${name} key with format ${format}`);
  }
  if (object.type === 'private' && usages.length === 0) throw refuse('SyntaxError', 'Usages cannot be empty when importing a private key.');
  if (object.asymmetricKeyType !== (types[family.kind] ?? plainCurves[name])) throw wrong('Invalid key type');
  const details = object.asymmetricKeyDetails;
  if (family.kind === 'ec') {
    if (details.namedCurve !== curves[namedCurve]) throw wrong('Named curve mismatch');
    return cryptoKey(object, { name, namedCurve }, extractable, usages);
  }
  if (family.kind === 'plain') return cryptoKey(object, { name }, extractable, usages);
  const hex = details.publicExponent.toString(16);
  const publicExponent = new Uint8Array(Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex'));
  return cryptoKey(object, { name, modulusLength: details.modulusLength, publicExponent, hash }, extractable, usages);
}
function importKey(format, data, given, extractable, usages) {
  const algorithm = normal(given, families);
  const family = families[algorithm.name];
  const list = [...usages];
  if (!['raw', 'spki', 'pkcs8', 'jwk'].includes(format)) throw new TypeError(`'${format}' is no format of a key`);
  return (family.secret === undefined ? importAsymmetric : importSecret)(format, data, algorithm, family, Boolean(extractable), list);
}

// ---- to outside ---------------------------------------------------------------------------------------------------

const arrayBuffer = (bytes) => bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
function rawPublic(object) {
  const parts = unpack(now('parts', bytesOf(object), false));
  return object.asymmetricKeyType === 'ec' ? Buffer.concat([Buffer.from([4]), parts[1], parts[2]]) : parts[0];
}
function exportKey(format, key) {
  const known = inner.get(key);
  if (known === undefined) throw new TypeError('this is no CryptoKey');
  const { object, algorithm, extractable, usages } = known;
  if (!['raw', 'spki', 'pkcs8', 'jwk'].includes(format)) throw new TypeError(`'${format}' is no format of a key`);
  if (families[algorithm.name].kind === 'kdf') throw refuse('NotSupportedError', `Unable to export a ${algorithm.name} key`);
  if (!extractable) throw refuse('InvalidAccessError', 'key is not extractable');
  if (format === 'jwk') {
    const jwk = object.type === 'secret' ? { kty: 'oct', k: base64url(bytesOf(object)) } : toJwk(object);
    const alg = jwkName(algorithm.name, algorithm);
    return { key_ops: usages.slice(), ext: true, ...jwk, ...(alg === undefined ? {} : { alg }) };
  }
  if (format === 'raw' && object.type === 'secret') return arrayBuffer(bytesOf(object));
  if (format === 'raw' && object.type === 'public' && object.asymmetricKeyType !== 'rsa') return arrayBuffer(rawPublic(object));
  if ((format === 'spki' && object.type === 'public') || (format === 'pkcs8' && object.type === 'private')) return arrayBuffer(bytesOf(object));
  throw refuse(format === 'raw' ? 'NotSupportedError' : 'InvalidAccessError', `Unable to export a raw ${algorithm.name} ${object.type} key`);
}

module.exports = {
  CryptoKey, keyObjectOf, generate, importKey, exportKey, normal, hashOf, bytesFrom, number, refuse, digests, families, arrayBuffer, aesLength, blocks,
  stateOf: (key) => inner.get(key),
};
