// SPDX-License-Identifier: MIT
// node:crypto: random numbers, comparing without telling where, digests and derived keys (crypto_hash.js). No ciphers, no signatures.
'use strict';

const { codes, validateInteger, validateFunction } = load('errors');
const { crypto } = load('crypto');

function fill(bytes) {
  for (let at = 0; at < bytes.length; at += 65536) crypto.getRandomValues(bytes.subarray(at, at + 65536));
  return bytes;
}
function randomBytes(size, callback = undefined) {
  validateInteger(size, 'size', 0, 2147483647);
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

module.exports = {
  ...load('crypto_hash'),
  randomBytes, randomFill, randomFillSync, randomInt, timingSafeEqual,
  randomUUID: () => crypto.randomUUID(),
  getRandomValues: (array) => crypto.getRandomValues(array),
  webcrypto: crypto,
};
