// SPDX-License-Identifier: MIT
// The operations of work_crypto.h: at once, or on the pool.
'use strict';

const { Buffer } = load('buffer');
const { crypto: operations, work: KIND } = load('constants');
const native = binding.openssl();

// Libraries of OpenSSL whose names stand in the codes of errors.
const libraries = {
  2: 'SYS', 3: 'BN', 4: 'RSA', 5: 'DH', 6: 'EVP', 7: 'BUF', 8: 'OBJ', 9: 'PEM', 10: 'DSA', 11: 'X509', 13: 'ASN1', 14: 'CONF', 15: 'CRYPTO',
  16: 'EC', 20: 'SSL', 32: 'BIO', 33: 'PKCS7', 34: 'X509V3', 35: 'PKCS12', 36: 'RAND', 37: 'DSO', 42: 'ECDSA', 43: 'ECDH',
  44: 'OSSL_STORE', 52: 'KDF', 53: 'SM2',
};
function errorOf(text) {
  const error = new Error(text);
  const parts = /^error:([0-9A-F]+):([^:]*):[^:]*:(.*)$/.exec(text);
  if (parts === null) return error;
  const library = libraries[(parseInt(parts[1], 16) >>> 23) & 0xff];
  error.library = parts[2];
  error.reason = parts[3];
  error.code = `ERR_OSSL_${library === undefined ? '' : `${library}_`}${parts[3].replaceAll(' ', '_').toUpperCase()}`;
  return error;
}
function guard(call) {
  try {
    return call();
  } catch (error) {
    throw errorOf(error.message);
  }
}
const now = (operation, ...args) => guard(() => native.now(operations[operation], ...args));
async function later(operation, ...args) {
  const { submit } = load('pool')[Symbol.for('vigil.host')];
  try {
    return await submit('', KIND.crypto, 0, [operations[operation], ...args], {});
  } catch (error) {
    throw error.message.startsWith(': ') ? errorOf(error.message.slice(2)) : error;
  }
}
function unpack(bytes) {
  const items = [];
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < bytes.length;) {
    const length = view.getUint32(at);
    items.push(bytes.slice(at + 4, at + 4 + length));
    at += 4 + length;
  }
  return items;
}
const textOf = (bytes) => asBuffer(bytes).toString('utf8');
const asBuffer = (bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

module.exports = { native, now, later, guard, errorOf, unpack, textOf, asBuffer };
