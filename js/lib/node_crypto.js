// SPDX-License-Identifier: MIT
// node:crypto: random numbers, comparing without telling where, and what other files have: digests and derived keys (crypto_hash.js), keys,
// ciphers, signatures and certificates (crypto_*.js, with OpenSSL).
'use strict';

const { codes, validateBoolean, validateFunction, validateObject } = load('errors');
const { crypto } = load('crypto');

function fill(bytes) {
  for (let at = 0; at < bytes.length; at += 65536) crypto.getRandomValues(bytes.subarray(at, at + 65536));
  return bytes;
}
// As in Node: what is no whole number is cut, and what is no number is out of range.
function validateSize(size, most = 2147483647, name = 'size') {
  if (typeof size !== 'number') throw new codes.ERR_INVALID_ARG_TYPE(name, 'number', size);
  if (Number.isNaN(size) || size < 0 || size > most) throw new codes.ERR_OUT_OF_RANGE(name, `>= 0 && <= ${most}`, size);
}
function randomBytes(size, callback = undefined) {
  validateSize(size);
  const bytes = fill(load('buffer').Buffer.alloc(size));
  if (callback === undefined) return bytes;
  validateFunction(callback, 'callback');
  setImmediate(callback, null, bytes);
  return undefined;
}
function part(buffer, offset, size) {
  if (!ArrayBuffer.isView(buffer)) throw new codes.ERR_INVALID_ARG_TYPE('buf', ['ArrayBuffer', 'ArrayBufferView'], buffer);
  return new Uint8Array(buffer.buffer, buffer.byteOffset + offset, size ?? buffer.byteLength - offset);
}
function randomFillSync(buffer, offset = 0, size = undefined) {
  fill(part(buffer, offset, size));
  return buffer;
}
function randomFill(buffer, ...rest) {
  const callback = rest.pop();
  validateFunction(callback, 'callback');
  randomFillSync(buffer, ...rest);
  setImmediate(callback, null, buffer);
}
// From min, below max, each as likely as the others: what would favour some is drawn again.
function randomInt(min, max = undefined, callback = undefined) {
  if (max === undefined || typeof max === 'function') [min, max, callback] = [0, min, max];
  for (const [name, value] of [['min', min], ['max', max]]) {
    if (!Number.isSafeInteger(value)) throw new codes.ERR_INVALID_ARG_TYPE(name, ['a safe integer'], value);
  }
  if (max <= min) throw new codes.ERR_OUT_OF_RANGE('max', `greater than the value of "min" (${min})`, max);
  const range = max - min;
  if (range > 2 ** 48 - 1) throw new codes.ERR_OUT_OF_RANGE('max - min', `<= ${2 ** 48 - 1}`, range);
  const limit = 2 ** 48 - (2 ** 48 % range);
  let drawn;
  do drawn = randomBytes(6).readUIntBE(0, 6);
  while (drawn >= limit);
  const number = min + (drawn % range);
  if (callback === undefined) return number;
  process.nextTick(callback, undefined, number);
  return undefined;
}
function timingSafeEqual(a, b) {
  if (a.byteLength !== b.byteLength) {
    const error = new RangeError('Input buffers must have the same byte length');
    error.code = 'ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH';
    throw error;
  }
  const left = part(a, 0);
  const right = part(b, 0);
  let different = 0;
  for (let i = 0; i < left.length; i++) different |= left[i] ^ right[i];
  return different === 0;
}

// The parts that OpenSSL does are loaded when somebody asks for one of their names: most programs that load this module hash something.
const parts = {
  crypto_keys: ['KeyObject', 'createSecretKey', 'createPrivateKey', 'createPublicKey', 'generateKeyPair', 'generateKeyPairSync', 'generateKey',
    'generateKeySync', 'getCurves'],
  crypto_cipher: ['Cipher', 'Decipher', 'createCipher', 'createDecipher', 'Cipheriv', 'Decipheriv', 'createCipheriv', 'createDecipheriv', 'getCiphers', 'getCipherInfo'],
  crypto_sign: ['Sign', 'Verify', 'createSign', 'createVerify', 'sign', 'verify', 'diffieHellman', 'publicEncrypt', 'privateDecrypt',
    'privateEncrypt', 'publicDecrypt'],
  crypto_ecdh: ['ECDH', 'createECDH'],
  crypto_dh: ['DiffieHellman', 'DiffieHellmanGroup', 'createDiffieHellman', 'createDiffieHellmanGroup', 'getDiffieHellman', 'generatePrime',
    'generatePrimeSync', 'checkPrime', 'checkPrimeSync'],
  crypto_x509: ['X509Certificate'],
};

const constants = Object.freeze({
  __proto__: null,
  RSA_PKCS1_PADDING: 1, RSA_NO_PADDING: 3, RSA_PKCS1_OAEP_PADDING: 4, RSA_X931_PADDING: 5, RSA_PKCS1_PSS_PADDING: 6,
  RSA_PSS_SALTLEN_DIGEST: -1, RSA_PSS_SALTLEN_MAX_SIGN: -2, RSA_PSS_SALTLEN_AUTO: -2,
  POINT_CONVERSION_COMPRESSED: 2, POINT_CONVERSION_UNCOMPRESSED: 4, POINT_CONVERSION_HYBRID: 6,
  TLS1_VERSION: 0x301, TLS1_1_VERSION: 0x302, TLS1_2_VERSION: 0x303, TLS1_3_VERSION: 0x304,
  SSL_OP_ALL: 0x80000850, SSL_OP_NO_SSLv2: 0, SSL_OP_NO_SSLv3: 0x2000000, SSL_OP_NO_TLSv1: 0x4000000, SSL_OP_NO_TLSv1_1: 0x10000000,
  SSL_OP_NO_TLSv1_2: 0x8000000, SSL_OP_NO_TLSv1_3: 0x20000000, SSL_OP_NO_TICKET: 0x4000, SSL_OP_NO_COMPRESSION: 0x20000,
  SSL_OP_CIPHER_SERVER_PREFERENCE: 0x400000, SSL_OP_NO_RENEGOTIATION: 0x40000000, SSL_OP_LEGACY_SERVER_CONNECT: 4,
});

module.exports = {
  ...load('crypto_hash'),
  randomBytes, randomFill, randomFillSync, randomInt, timingSafeEqual, constants,
  pseudoRandomBytes: randomBytes,
  randomUUID(options = undefined) {
    if (options !== undefined) validateObject(options, 'options');
    if (options?.disableEntropyCache !== undefined) validateBoolean(options.disableEntropyCache, 'options.disableEntropyCache');
    return crypto.randomUUID();
  },
  getRandomValues: (array) => crypto.getRandomValues(array),
  getFips: () => 0,
  setFips(on) {
    if (on) throw new Error('This host has no FIPS mode');
  },
  webcrypto: crypto,
};
for (const part of Object.keys(parts)) {
  for (const name of parts[part]) {
    const absent = () => {
      throw new codes.ERR_FEATURE_UNAVAILABLE_ON_PLATFORM(`${name} of node:crypto (OpenSSL was missing when this was built)`);
    };
    const put = (value) => Object.defineProperty(module.exports, name, { value, writable: true, enumerable: true, configurable: true });
    if (binding.openssl === undefined) put(absent);
    else Object.defineProperty(module.exports, name, { enumerable: true, configurable: true, get: () => load(part)[name], set: put });
  }
}
Object.defineProperty(module.exports, 'subtle', { enumerable: true, configurable: true, get: () => crypto.subtle });
