// SPDX-License-Identifier: MIT
// node:buffer: the npm package of the same name, with the engine's and C's faster ways where they count, and base64url.
'use strict';

const lib = load('npm:buffer');
const { codes } = load('errors');
const { Buffer } = lib;
const slowToString = Buffer.prototype.toString;
const slowFrom = Buffer.from;
const slowIsEncoding = Buffer.isEncoding;
const slowByteLength = Buffer.byteLength;

// A Buffer over the bytes of a Uint8Array, without a copy.
function fromBytes(bytes) {
  if (Object.getPrototypeOf(bytes) === Buffer.prototype) return bytes;
  return Object.setPrototypeOf(bytes, Buffer.prototype);
}
const isUtf8 = (encoding) => encoding === undefined || encoding === null || encoding === 'utf8' || encoding === 'utf-8';

Buffer.from = function from(value, encoding, length) {
  if (typeof value === 'string') {
    if (isUtf8(encoding)) return fromBytes(binding.utf8Encode(value.toWellFormed()));
    if (/^base64(url)?$/i.test(encoding)) return fromBytes(binding.base64Decode(value));
    if (typeof encoding !== 'string' || !Buffer.isEncoding(encoding)) throw new codes.ERR_UNKNOWN_ENCODING(encoding);
  } else if (value === null || value === undefined || typeof value === 'number' || typeof value === 'boolean' ||
             typeof value === 'function' || typeof value === 'symbol' || typeof value === 'bigint') {
    throw new codes.ERR_INVALID_ARG_TYPE('first argument',
      ['string', 'Buffer', 'ArrayBuffer', 'Array', 'Array-like Object'], value);
  }
  return slowFrom.call(Buffer, value, encoding, length);
};
Buffer.isEncoding = (encoding) => typeof encoding === 'string' && (/^base64url$/i.test(encoding) || slowIsEncoding(encoding));
Buffer.byteLength = (value, encoding) => {
  if (typeof value === 'string' && /^base64url$/i.test(encoding)) return binding.base64Decode(value).length;
  if (typeof value !== 'string' && !ArrayBuffer.isView(value) && !(value instanceof ArrayBuffer)) {
    throw new codes.ERR_INVALID_ARG_TYPE('string', ['string', 'Buffer', 'ArrayBuffer'], value);
  }
  return slowByteLength(value, encoding);
};
Buffer.prototype.toString = function toString(encoding, start, end) {
  if (arguments.length === 0 || isUtf8(encoding)) return binding.utf8Decode(this, start ?? 0, end ?? this.length);
  switch (`${encoding}`.toLowerCase()) {
    case 'hex':
      return binding.hexEncode(this, start ?? 0, end ?? this.length);
    case 'base64':
      return binding.base64Encode(this, start ?? 0, end ?? this.length, false);
    case 'base64url':
      return binding.base64Encode(this, start ?? 0, end ?? this.length, true);
    case 'latin1':
    case 'binary':
      return binding.latin1Decode(this, start ?? 0, end ?? this.length);
    default:
      if (!Buffer.isEncoding(encoding)) throw new codes.ERR_UNKNOWN_ENCODING(encoding);
      return slowToString.call(this, encoding, start, end);
  }
};
for (const name of ['alloc', 'allocUnsafe', 'allocUnsafeSlow']) {
  const slow = Buffer[name];
  Buffer[name] = function (size, ...rest) {
    if (typeof size !== 'number') throw new codes.ERR_INVALID_ARG_TYPE('size', 'number', size);
    if (!(size >= 0 && size <= lib.kMaxLength)) {
      throw new codes.ERR_OUT_OF_RANGE('size', `>= 0 && <= ${lib.kMaxLength}`, size);
    }
    return slow.call(Buffer, size, ...rest);
  };
  Object.defineProperty(Buffer[name], 'name', { value: name });
}
Buffer.poolSize = 8192;
for (const name of Object.getOwnPropertyNames(Buffer.prototype)) {
  if (/UInt/.test(name)) {
    Object.defineProperty(Buffer.prototype, name.replace('UInt', 'Uint'), { value: Buffer.prototype[name], writable: true, configurable: true });
  }
}

module.exports = {
  Buffer, fromBytes,
  SlowBuffer: lib.SlowBuffer,
  kMaxLength: lib.kMaxLength,
  kStringMaxLength: 2 ** 31 - 2,
  constants: { MAX_LENGTH: lib.kMaxLength, MAX_STRING_LENGTH: 2 ** 31 - 2 },
  INSPECT_MAX_BYTES: 50,
  get atob() { return load('encoding').atob; },
  get btoa() { return load('encoding').btoa; },
  isUtf8: (input) => binding.utf8Valid(new Uint8Array(input.buffer ?? input, input.byteOffset ?? 0, input.byteLength)),
  isAscii: (input) => new Uint8Array(input.buffer ?? input, input.byteOffset ?? 0, input.byteLength).every((byte) => byte < 128),
  transcode: (source, from, to) => Buffer.from(Buffer.from(source).toString(from), to),
};
