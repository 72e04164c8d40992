// SPDX-License-Identifier: MIT
// createECDH of node:crypto: a shared secret from points of a curve, as plain bytes.
'use strict';

const { codes, validateString } = load('errors');
const { Buffer } = load('buffer');
const { now, native, unpack, asBuffer } = load('crypto_native');
const { toBytes } = load('crypto_keys')[Symbol.for('vigil.host')];

const formats = ['compressed', 'uncompressed', 'hybrid'];
function shaped(x, y, format) {
  if (!formats.includes(format)) throw new codes.ERR_CRYPTO_ECDH_INVALID_FORMAT(format);
  const odd = y[y.length - 1] & 1;
  if (format === 'compressed') return Buffer.concat([Buffer.from([2 + odd]), x]);
  return Buffer.concat([Buffer.from([format === 'hybrid' ? 6 + odd : 4]), x, y]);
}
const given = (bytes, encoding) => (encoding === undefined || encoding === null || encoding === 'buffer' ? bytes : bytes.toString(encoding));
function publicKeyOf(curve, point, other = false) {
  try {
    return now('make', 'ec', false, curve, point);
  } catch {
    throw other ? new codes.ERR_CRYPTO_ECDH_INVALID_PUBLIC_KEY() : new codes.ERR_CRYPTO_OPERATION_FAILED('Failed to convert Buffer to EC_POINT');
  }
}

class ECDHState {
  constructor(curve) {
    validateString(curve, 'curve');
    if (!native.curveNames().includes(curve)) throw new codes.ERR_CRYPTO_INVALID_CURVE();
    this.curve = curve;
    this.private = null;
    this.public = null; // SubjectPublicKeyInfo
    this.foreign = false; // the two are no pair
  }
}
const states = new WeakMap();
function ECDH(curve) {
  if (!new.target) return new ECDH(curve);
  states.set(this, new ECDHState(curve));
}
ECDH.prototype.generateKeys = function (encoding = undefined, format = 'uncompressed') {
  const state = states.get(this);
  state.private = now('generate', 'ec', state.curve);
  state.public = now('public', state.private);
  state.foreign = false;
  return this.getPublicKey(encoding, format);
};
ECDH.prototype.getPublicKey = function (encoding = undefined, format = 'uncompressed') {
  const state = states.get(this);
  if (state.public === null) throw new Error('Failed to get ECDH public key');
  const [, x, y] = unpack(now('parts', state.public, false));
  return given(shaped(x, y, format ?? 'uncompressed'), encoding);
};
ECDH.prototype.getPrivateKey = function (encoding = undefined) {
  const state = states.get(this);
  if (state.private === null) throw new Error('Failed to get ECDH private key');
  const bytes = asBuffer(unpack(now('parts', state.private, true))[3]);
  let zeros = 0;
  while (zeros < bytes.length - 1 && bytes[zeros] === 0) zeros++;
  return given(bytes.subarray(zeros), encoding);
};
ECDH.prototype.setPrivateKey = function (key, encoding = undefined) {
  const state = states.get(this);
  try {
    state.private = now('make', 'ec', true, state.curve, undefined, toBytes(key, 'key', encoding));
  } catch {
    throw new codes.ERR_CRYPTO_INVALID_KEYTYPE('Private key is not valid for specified curve.');
  }
  state.public = now('public', state.private);
  state.foreign = false;
  return this;
};
ECDH.prototype.setPublicKey = function (key, encoding = undefined) {
  const state = states.get(this);
  state.public = publicKeyOf(state.curve, toBytes(key, 'key', encoding));
  state.foreign = state.private !== null && Buffer.compare(now('public', state.private), state.public) !== 0;
  return this;
};
ECDH.prototype.computeSecret = function (key, from = undefined, to = undefined) {
  const state = states.get(this);
  const other = publicKeyOf(state.curve, toBytes(key, 'otherPublicKey', from), true);
  if (state.private === null) throw new Error('Private key is not valid for specified curve.');
  if (state.foreign) throw new codes.ERR_CRYPTO_INVALID_KEYPAIR();
  return given(asBuffer(now('derive', state.private, other)), to);
};
ECDH.convertKey = (key, curve, from = undefined, to = undefined, format = 'uncompressed') => {
  const [, x, y] = unpack(now('parts', publicKeyOf(new ECDHState(curve).curve, toBytes(key, 'key', from)), false));
  return given(shaped(x, y, format), to);
};

module.exports = { ECDH, createECDH: (curve) => new ECDH(curve) };
