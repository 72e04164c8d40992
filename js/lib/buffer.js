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
    if (isUtf8(encoding)) return fromBytes(binding.utf8Encode(value));
    if (/^base64(url)?$/i.test(encoding)) return fromBytes(binding.base64Decode(value));
    if (typeof encoding !== 'string' || !Buffer.isEncoding(encoding)) throw new codes.ERR_UNKNOWN_ENCODING(encoding);
  } else if (value === null || value === undefined || typeof value === 'number' || typeof value === 'boolean' ||
             typeof value === 'function' || typeof value === 'symbol' || typeof value === 'bigint') {
    throw new codes.ERR_INVALID_ARG_TYPE('first argument',
      fromWhat, value);
  }
  if (value instanceof ArrayBuffer) return overMemory(value, encoding, length);
  try {
    return slowFrom.call(Buffer, value, encoding, length);
  } catch (error) {
    if (error instanceof TypeError) throw new codes.ERR_INVALID_ARG_TYPE('first argument', fromWhat, value);
    throw error;
  }
};
const fromWhat = ['string', 'Buffer', 'ArrayBuffer', 'Array', 'an Array-like Object'];
function overMemory(memory, offset, length) {
  offset = +offset || 0;
  const most = memory.byteLength - offset;
  if (most < 0) throw new codes.ERR_BUFFER_OUT_OF_BOUNDS('offset');
  if (length === undefined) length = most;
  else if (!((length = +length || 0) > 0)) length = 0;
  else if (length > most) throw new codes.ERR_BUFFER_OUT_OF_BOUNDS('length');
  return slowFrom.call(Buffer, memory, offset, length);
}
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
load('buffer_numbers').install(Buffer.prototype);

const slowConcat = Buffer.concat;
Buffer.concat = function concat(list, total) {
  if (!Array.isArray(list)) throw new codes.ERR_INVALID_ARG_TYPE('list', 'Array', list);
  list.forEach((item, i) => {
    if (!(item instanceof Uint8Array)) throw new codes.ERR_INVALID_ARG_TYPE(`list[${i}]`, ['Buffer', 'Uint8Array'], item);
  });
  return slowConcat.call(Buffer, list, total);
};
Buffer.copyBytesFrom = function copyBytesFrom(view, offset = 0, length = view.length - offset) {
  if (!ArrayBuffer.isView(view) || view instanceof DataView) throw new codes.ERR_INVALID_ARG_TYPE('view', 'TypedArray', view);
  const part = view.subarray(offset, offset + length);
  return Buffer.from(new Uint8Array(part.buffer, part.byteOffset, part.byteLength));
};
const slowCompare = Buffer.compare;
Buffer.compare = function compare(a, b) {
  if (!(a instanceof Uint8Array)) throw new codes.ERR_INVALID_ARG_TYPE('buf1', ['Buffer', 'Uint8Array'], a);
  if (!(b instanceof Uint8Array)) throw new codes.ERR_INVALID_ARG_TYPE('buf2', ['Buffer', 'Uint8Array'], b);
  return slowCompare.call(Buffer, a, b);
};
const slowWrite = Buffer.prototype.write;
Buffer.prototype.write = function write(text, offset, length, encoding) {
  if (typeof text !== 'string') {
    const error = new codes.ERR_INVALID_ARG_TYPE('string', 'string', text);
    error.message = 'argument must be a string';
    throw error;
  }
  if (typeof offset === 'string') [encoding, offset, length] = [offset, undefined, undefined];
  else if (typeof length === 'string') [encoding, length] = [length, undefined];
  if (offset !== undefined && !(offset >= 0 && offset <= this.length)) {
    throw new codes.ERR_OUT_OF_RANGE('offset', `>= 0 && <= ${this.length}`, offset);
  }
  if (encoding !== undefined && !Buffer.isEncoding(encoding)) throw new codes.ERR_UNKNOWN_ENCODING(encoding);
  // The package takes half a byte for a whole one.
  if (/^hex$/i.test(encoding)) text = text.slice(0, text.length & ~1);
  if (/^base64url$/i.test(encoding)) encoding = 'base64';
  offset = offset === undefined ? 0 : offset >>> 0;
  return slowWrite.call(this, text, offset, Math.min(length ?? Infinity, this.length - offset), encoding);
};
const slowFill = Buffer.prototype.fill;
Buffer.prototype.fill = function fill(value, start, end, encoding) {
  if (typeof start === 'string') [encoding, start, end] = [start, undefined, undefined];
  else if (typeof end === 'string') [encoding, end] = [end, undefined];
  if (start !== undefined && !(start >= 0)) throw new codes.ERR_OUT_OF_RANGE('offset', '>= 0', start);
  if (start > this.length) return this;
  if (end !== undefined && !(end >= 0 && end <= this.length)) {
    throw new codes.ERR_OUT_OF_RANGE('end', `>= 0 && <= ${this.length}`, end);
  }
  if (value === '') value = 0;
  if (encoding !== undefined && typeof value === 'string') {
    if (!Buffer.isEncoding(encoding)) throw new codes.ERR_UNKNOWN_ENCODING(encoding);
    const bytes = Buffer.from(value, encoding);
    if (bytes.length === 0) throw new codes.ERR_INVALID_ARG_VALUE('value', value);
    value = bytes;
  }
  return slowFill.call(this, value, start ?? 0, end ?? this.length);
};
for (const [name, encoding] of [['ascii', 'ascii'], ['base64', 'base64'], ['base64url', 'base64url'], ['latin1', 'latin1'], ['hex', 'hex'],
                                ['ucs2', 'ucs2'], ['utf8', 'utf8']]) {
  Buffer.prototype[`${name}Slice`] = function (start, end) { return this.toString(encoding, start, end); };
  Buffer.prototype[`${name}Write`] = function (text, offset, length) { return this.write(text, offset, length, encoding); };
}
Object.defineProperty(Buffer.prototype, Symbol.for('nodejs.util.inspect.custom'), {
  configurable: true, writable: true,
  value: function (depth, options, inspect) {
    const most = module.exports.INSPECT_MAX_BYTES;
    let text = this.toString('hex', 0, Math.min(most, this.length)).replace(/(..)(?=.)/g, '$1 ');
    if (this.length > most) text += ` ... ${this.length - most} more byte${this.length - most > 1 ? 's' : ''}`;
    const extra = Object.keys(this).filter((key) => !/^\d+$/.test(key));
    for (const key of extra) text += `${text === '' ? '' : ', '}${key}: ${inspect(this[key], options)}`;
    return `<${this.constructor.name} ${text}>`;
  },
});
for (const name of Object.getOwnPropertyNames(Buffer.prototype)) {
  if (/UInt/.test(name)) {
    Object.defineProperty(Buffer.prototype, name.replace('UInt', 'Uint'), { value: Buffer.prototype[name], writable: true, configurable: true });
  }
}

binding.safe.adopt(Buffer.prototype);

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
  transcode(source, from, to) {
    let text = Buffer.from(source).toString(from);
    const most = /^ascii$/i.test(to) ? 0x7f : /^(latin1|binary)$/i.test(to) ? 0xff : 0x10ffff;
    if (most < 0x10ffff) text = [...text].map((char) => (char.codePointAt(0) > most ? '?' : char)).join('');
    return Buffer.from(text, to);
  },
};
