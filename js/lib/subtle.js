// SPDX-License-Identifier: MIT
// crypto.subtle: the Web Cryptography API. Everything long runs on the pool.
'use strict';

const { codes } = load('errors');
const { Buffer } = load('buffer');
const { DOMException } = load('eventtarget');
const { later } = load('crypto_native');
const { bytesOf } = load('crypto_keys')[Symbol.for('vigil.host')];
const {
  CryptoKey, generate, importKey, exportKey, normal, hashOf, bytesFrom, number, refuse, digests, arrayBuffer, aesLength, blocks, stateOf,
} = load('subtle_key');

// A key that may be used so, with this algorithm.
function allowed(key, algorithm, usage) {
  const state = stateOf(key);
  if (state === undefined) throw new TypeError('this is no CryptoKey');
  if (state.algorithm.name !== algorithm.name) throw refuse('InvalidAccessError', 'Key algorithm mismatch');
  if (!state.usages.includes(usage)) throw refuse('InvalidAccessError', `Unable to use this key to ${usage}`);
  return state;
}
// What OpenSSL refuses is one error here: which one would tell an attacker something.
async function operation(promise) {
  try {
    return arrayBuffer(await promise);
  } catch (error) {
    if (error instanceof DOMException) throw error;
    throw Object.assign(refuse('OperationError', 'The operation failed for an operation-specific reason'), { cause: error });
  }
}

// ---- ciphers ------------------------------------------------------------------------------------------------------

const cipherName = (state, mode) => `aes-${bytesOf(state.object).length * 8}-${mode}`;
function vector(algorithm, name, length) {
  const bytes = bytesFrom(algorithm[name], `algorithm.${name}`);
  if (length !== undefined && bytes.length !== length) throw refuse('OperationError', `algorithm.${name} must contain exactly ${length} bytes`);
  return bytes;
}
const aesCipher = (state, mode, encrypts, iv, data, extra, tag) =>
  later('cipher', cipherName(state, mode), encrypts, bytesOf(state.object), iv, data, extra, tag);

// The counter is the last `length` bits; it turns over without touching the others.
async function counterMode(state, encrypts, data, algorithm) {
  const counter = vector(algorithm, 'counter', 16);
  const length = number(algorithm.length, 'algorithm.length', 128);
  if (length < 1) throw refuse('OperationError', 'AES-CTR algorithm.length must be between 1 and 128');
  const size = 1n << BigInt(length);
  const whole = BigInt(`0x${Buffer.from(counter).toString('hex')}`);
  const steps = BigInt(Math.ceil(data.length / 16));
  if (steps > size) throw refuse('OperationError', 'the counter is too short for the data');
  const left = size - (whole & (size - 1n));
  if (steps <= left) return aesCipher(state, 'ctr', encrypts, counter, data);
  const cut = Number(left) * 16;
  const again = Buffer.from((whole & ~(size - 1n)).toString(16).padStart(32, '0'), 'hex');
  const copy = data.slice();
  const first = await aesCipher(state, 'ctr', encrypts, counter, copy.subarray(0, cut));
  return Buffer.concat([first, await aesCipher(state, 'ctr', encrypts, again, copy.subarray(cut))]);
}
function galois(state, encrypts, data, algorithm) {
  const iv = vector(algorithm, 'iv');
  const tag = algorithm.tagLength === undefined ? 128 : number(algorithm.tagLength, 'algorithm.tagLength', 255);
  if (![32, 64, 96, 104, 112, 120, 128].includes(tag)) throw refuse('OperationError', `${tag} is not a valid AES-GCM tag length`);
  const extra = algorithm.additionalData === undefined ? undefined : bytesFrom(algorithm.additionalData, 'algorithm.additionalData');
  if (!encrypts && data.length < tag / 8) throw refuse('OperationError', 'The provided data is too small.');
  return aesCipher(state, 'gcm', encrypts, iv, data, extra, tag / 8);
}
function oaep(state, encrypts, data, algorithm) {
  if (state.object.type !== (encrypts ? 'public' : 'private')) throw refuse('InvalidAccessError', 'The requested operation is not valid for the provided key');
  const label = algorithm.label === undefined ? undefined : bytesFrom(algorithm.label, 'algorithm.label');
  return later('crypt', bytesOf(state.object), !encrypts, encrypts ? 0 : 1, data, 4, digests[state.algorithm.hash.name], label);
}
const ciphers = {
  'AES-CBC': (state, encrypts, data, algorithm) => aesCipher(state, 'cbc', encrypts, vector(algorithm, 'iv', 16), data),
  'AES-CTR': counterMode, 'AES-GCM': galois, 'RSA-OAEP': oaep,
};
function cipher(encrypts, usage, given, key, data) {
  const algorithm = normal(given, ciphers);
  const bytes = bytesFrom(data, 'data');
  return operation(ciphers[algorithm.name](allowed(key, algorithm, usage), encrypts, bytes, algorithm));
}
function keyWrap(state, encrypts, data) {
  if (data.length % 8 !== 0 || data.length < 16) throw refuse('OperationError', 'the length of a wrapped key is no multiple of 8');
  return later('cipher', `aes${bytesOf(state.object).length * 8}-wrap`, encrypts, bytesOf(state.object), Buffer.alloc(8, 0xa6), data);
}

// ---- signatures ---------------------------------------------------------------------------------------------------

const pssOf = (algorithm) => [6, number(algorithm.saltLength, 'algorithm.saltLength', 2 ** 31 - 1), false];
const ways = {
  'RSASSA-PKCS1-v1_5': (state) => [digests[state.algorithm.hash.name], [1, undefined, false]],
  'RSA-PSS': (state, algorithm) => [digests[state.algorithm.hash.name], pssOf(algorithm)],
  ECDSA: (state, algorithm) => [digests[hashOf(algorithm).name], [undefined, undefined, true]],
  Ed25519: () => [undefined, []],
  Ed448: () => [undefined, []],
  HMAC: null,
};
function mac(state, data) {
  return load('pool').hmac(data, bytesOf(state.object), digests[state.algorithm.hash.name]);
}
function sign(given, key, data) {
  const algorithm = normal(given, ways);
  const bytes = bytesFrom(data, 'data');
  const state = allowed(key, algorithm, 'sign');
  if (algorithm.name === 'HMAC') return operation(mac(state, bytes));
  const [digest, padding] = ways[algorithm.name](state, algorithm);
  return operation(later('sign', bytesOf(state.object), true, digest, false, bytes, ...padding));
}
async function verify(given, key, signature, data) {
  const algorithm = normal(given, ways);
  const other = bytesFrom(signature, 'signature').slice();
  const bytes = bytesFrom(data, 'data');
  const state = allowed(key, algorithm, 'verify');
  if (algorithm.name === 'HMAC') {
    const own = new Uint8Array(await operation(mac(state, bytes)));
    return own.length === other.length && load('node_crypto').timingSafeEqual(own, other);
  }
  const [digest, padding] = ways[algorithm.name](state, algorithm);
  const [a, b, c] = padding;
  const result = await operation(later('verify', bytesOf(state.object), false, digest, false, bytes, a, b, c, other));
  return new Uint8Array(result)[0] === 1;
}

// ---- derived bits -------------------------------------------------------------------------------------------------

const tooLong = () => refuse('OperationError', 'The length does not fit the algorithm');
async function shared(state, algorithm, length) {
  const other = stateOf(algorithm.public);
  if (other === undefined) throw new TypeError('algorithm.public is no CryptoKey');
  const same = other.algorithm.name === state.algorithm.name && other.algorithm.namedCurve === state.algorithm.namedCurve;
  if (!same || other.object.type !== 'public' || state.object.type !== 'private') throw refuse('InvalidAccessError', 'the keys do not fit each other');
  const secret = new Uint8Array(await operation(later('derive', bytesOf(state.object), bytesOf(other.object))));
  if (length === null || length === undefined) return secret;
  if (length > secret.length * 8) throw tooLong();
  const cut = secret.slice(0, Math.ceil(length / 8));
  if (length % 8 !== 0) cut[cut.length - 1] &= 0xff00 >> (length % 8);
  return cut;
}
function whole(length) {
  if (length === null || length === undefined || length % 8 !== 0) throw tooLong();
  return length / 8;
}
const derivers = {
  ECDH: shared, X25519: shared, X448: shared,
  HKDF: async (state, algorithm, length) => {
    const digest = digests[hashOf(algorithm).name];
    const salt = bytesFrom(algorithm.salt, 'algorithm.salt');
    const info = bytesFrom(algorithm.info, 'algorithm.info');
    const size = whole(length);
    try {
      return new Uint8Array(load('crypto_hash').hkdfSync(digest, bytesOf(state.object), salt, info, size));
    } catch {
      throw tooLong();
    }
  },
  PBKDF2: async (state, algorithm, length) => {
    const digest = digests[hashOf(algorithm).name];
    const salt = bytesFrom(algorithm.salt, 'algorithm.salt');
    const iterations = number(algorithm.iterations, 'algorithm.iterations', 2 ** 32 - 1);
    const size = whole(length);
    if (iterations === 0) throw refuse('OperationError', 'iterations cannot be zero');
    if (size === 0) return new Uint8Array(0);
    return new Uint8Array(await operation(load('pool').pbkdf2(bytesOf(state.object), salt, iterations, size, digest)));
  },
};
async function derive(usage, given, key, length) {
  const algorithm = normal(given, derivers);
  const state = allowed(key, algorithm, usage);
  return derivers[algorithm.name](state, algorithm, length);
}
// How long a key of this algorithm is, in bits.
const lengths = {
  HMAC: (algorithm) => algorithm.length ?? blocks[hashOf(algorithm).name],
  'AES-CTR': (algorithm) => aesLength(algorithm.length), 'AES-CBC': (algorithm) => aesLength(algorithm.length),
  'AES-GCM': (algorithm) => aesLength(algorithm.length), 'AES-KW': (algorithm) => aesLength(algorithm.length),
  HKDF: () => null, PBKDF2: () => null,
};

// ---- the object ---------------------------------------------------------------------------------------------------

let making = false;
class SubtleCrypto {
  constructor() {
    if (!making) throw new codes.ERR_ILLEGAL_CONSTRUCTOR();
  }
  async digest(algorithm, data) {
    const { name } = normal(algorithm, digests);
    return operation(load('pool').hash(bytesFrom(data, 'data'), digests[name]));
  }
  async generateKey(algorithm, extractable, usages) {
    return generate(algorithm, Boolean(extractable), [...usages]);
  }
  async importKey(format, keyData, algorithm, extractable, usages) {
    return importKey(`${format}`, keyData, algorithm, extractable, usages);
  }
  async exportKey(format, key) {
    return exportKey(`${format}`, key);
  }
  async encrypt(algorithm, key, data) { return cipher(true, 'encrypt', algorithm, key, data); }
  async decrypt(algorithm, key, data) { return cipher(false, 'decrypt', algorithm, key, data); }
  async sign(algorithm, key, data) { return sign(algorithm, key, data); }
  async verify(algorithm, key, signature, data) { return verify(algorithm, key, signature, data); }
  async deriveBits(algorithm, key, length = null) { return arrayBuffer(await derive('deriveBits', algorithm, key, length)); }
  async deriveKey(algorithm, key, derived, extractable, usages) {
    const wanted = normal(derived, lengths);
    const length = lengths[wanted.name](wanted);
    const bits = await derive('deriveKey', algorithm, key, length);
    return importKey('raw', bits, derived, extractable, usages);
  }
  async wrapKey(format, key, wrapping, algorithm) {
    const exported = exportKey(`${format}`, key);
    const bytes = format === 'jwk' ? Buffer.from(JSON.stringify(exported)) : new Uint8Array(exported);
    const { name } = normal(algorithm, { ...ciphers, 'AES-KW': null });
    if (name === 'AES-KW') return operation(keyWrap(allowed(wrapping, { name }, 'wrapKey'), true, bytes));
    return cipher(true, 'wrapKey', algorithm, wrapping, bytes);
  }
  async unwrapKey(format, wrapped, wrapping, algorithm, keyAlgorithm, extractable, usages) {
    const bytes = bytesFrom(wrapped, 'wrappedKey');
    const { name } = normal(algorithm, { ...ciphers, 'AES-KW': null });
    const plain = name === 'AES-KW' ? await operation(keyWrap(allowed(wrapping, { name }, 'unwrapKey'), false, bytes))
      : await cipher(false, 'unwrapKey', algorithm, wrapping, bytes);
    let data = plain;
    if (format === 'jwk') {
      try {
        data = JSON.parse(Buffer.from(plain).toString());
      } catch {
        throw refuse('DataError', 'Invalid wrapped JWK key');
      }
    }
    return importKey(`${format}`, data, keyAlgorithm, extractable, usages);
  }
}
load('idl').expose(SubtleCrypto);
making = true;
const subtle = new SubtleCrypto();
making = false;

module.exports = { subtle, SubtleCrypto, CryptoKey };
