// SPDX-License-Identifier: MIT
// globalThis.crypto: random numbers; subtle.js has the rest.
'use strict';

const { codes } = load('errors');
const { DOMException } = load('eventtarget');

class Crypto {
  getRandomValues(array) {
    const good = ArrayBuffer.isView(array) && !(array instanceof DataView) && !(array instanceof Float32Array) &&
                 !(array instanceof Float64Array);
    if (!good) throw new DOMException('The data argument must be an integer-type TypedArray', 'TypeMismatchError');
    if (array.byteLength > 65536) {
      throw new DOMException(`The requested length exceeds 65,536 bytes`, 'QuotaExceededError');
    }
    const result = binding.randomBytes(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
    if (result < 0) throw load('fserrors').make(result, 'getrandom');
    return array;
  }
  randomUUID() {
    const bytes = this.getRandomValues(new Uint8Array(16));
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    const hex = binding.hexEncode(bytes);
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  }
  get subtle() {
    if (binding.openssl === undefined) {
      throw new codes.ERR_FEATURE_UNAVAILABLE_ON_PLATFORM('crypto.subtle (OpenSSL was missing when this was built)');
    }
    return load('subtle').subtle;
  }
}
load('idl').expose(Crypto);
module.exports = { crypto: new Crypto(), Crypto };
