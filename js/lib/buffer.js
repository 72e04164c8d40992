// SPDX-License-Identifier: MIT
// node:buffer: the npm package of the same name, with the engine's and C's faster ways where they count, and base64url.
'use strict';

const lib = load('npm:buffer');
const { codes, validateInteger } = load('errors');
const { Buffer } = lib;
const slowFrom = Buffer.from;

// What every Buffer is made as: the engine makes an instance of a class faster than it changes the prototype of another.
class FastBuffer extends Uint8Array {}
Object.defineProperties(FastBuffer.prototype, Object.getOwnPropertyDescriptors(Buffer.prototype));
FastBuffer.prototype.constructor = Buffer;
Buffer.prototype = FastBuffer.prototype;

// The bytes that a text needs in an encoding; for base64 that is not all digits, the most it may need.
function lengthOf(text, number) {
  switch (number) {
    case ENCODING.utf8: return binding.utf8Length(text);
    case ENCODING.hex: return text.length >>> 1;
    case ENCODING.base64: {
      let length = text.length;
      if (length > 1 && text.charCodeAt(length - 1) === 61) length -= text.charCodeAt(length - 2) === 61 ? 2 : 1;
      return (length * 3) >>> 2;
    }
    case ENCODING.utf16le: return text.length * 2;
    default: return text.length;
  }
}
// Unlike Node's, no two Buffers share memory: streams and messages may take the memory of one away.
function fromText(text, number) {
  const room = lengthOf(text, number);
  const made = new FastBuffer(room);
  if (room === 0) return made;
  const used = binding.writeText(made, text, number, 0, -1);
  return used === room ? made : new FastBuffer(made.buffer, 0, used);
}
// A Buffer over the bytes of a Uint8Array, without a copy.
function fromBytes(bytes) {
  if (Object.getPrototypeOf(bytes) === Buffer.prototype) return bytes;
  return Object.setPrototypeOf(bytes, Buffer.prototype);
}
const isUtf8 = (encoding) => encoding === undefined || encoding === null || encoding === 'utf8' || encoding === 'utf-8';
const ENCODING = load('constants').encoding;
const NUMBERS = {
  __proto__: null, 'utf8': ENCODING.utf8, 'utf-8': ENCODING.utf8, 'hex': ENCODING.hex, 'base64': ENCODING.base64, 'base64url': ENCODING.base64,
  'latin1': ENCODING.latin1, 'binary': ENCODING.latin1, 'ascii': ENCODING.latin1, 'ucs2': ENCODING.utf16le, 'ucs-2': ENCODING.utf16le,
  'utf16le': ENCODING.utf16le, 'utf-16le': ENCODING.utf16le,
};
// The number of an encoding; undefined: there is none of that name.
function numberOf(encoding) {
  if (encoding === undefined || encoding === null || encoding === '') return ENCODING.utf8;
  return NUMBERS[encoding] ?? (typeof encoding === 'string' ? NUMBERS[encoding.toLowerCase()] : undefined);
}
function checkedNumber(encoding) {
  const number = numberOf(encoding);
  if (number === undefined) throw new codes.ERR_UNKNOWN_ENCODING(encoding);
  return number;
}

// What methods of typed arrays make: a Buffer without a word about how it is made.
function Species(...args) { return Reflect.construct(Uint8Array, args, Buffer); }
Species.prototype = Buffer.prototype;
Object.defineProperty(Buffer, Symbol.species, { configurable: true, get: () => Species });
Buffer.of = function of(...items) {
  const made = Buffer.allocUnsafe(items.length);
  for (let i = 0; i < items.length; i++) made[i] = items[i];
  return made;
};

// Buffer(x) and new Buffer(x). The warning is for the program's own code; that of packages is warned of on request.
let warned = false;
Object.defineProperty(Buffer, 'vigil:old', {
  value(value, encoding, length) {
    if (!warned) {
      const inPackage = () => load('util').getCallSites(1)[0]?.scriptName.includes('/node_modules/');
      if (binding.pendingDeprecation || !inPackage()) {
        warned = true;
        process.emitWarning('Buffer() is deprecated due to security and usability issues. Please use the Buffer.alloc(), Buffer.allocUnsafe(), ' +
                            'or Buffer.from() methods instead.', 'DeprecationWarning', 'DEP0005');
      }
    }
    if (typeof value !== 'number') return Buffer.from(value, encoding, length);
    if (typeof encoding === 'string') throw new codes.ERR_INVALID_ARG_TYPE('string', 'string', value);
    return Buffer.alloc(value);
  },
});
Buffer.from = function from(value, encoding, length) {
  if (typeof value === 'string') return fromText(value, typeof encoding === 'string' ? checkedNumber(encoding) : ENCODING.utf8);
  if (value === null || value === undefined || typeof value === 'number' || typeof value === 'boolean' ||
      typeof value === 'function' || typeof value === 'symbol' || typeof value === 'bigint') {
    throw new codes.ERR_INVALID_ARG_TYPE('first argument', fromWhat, value);
  }
  if (value instanceof ArrayBuffer) return overMemory(value, encoding, length);
  if (value instanceof Uint8Array) return fromView(value);
  try {
    return slowFrom.call(Buffer, value, encoding, length);
  } catch (error) {
    if (error instanceof TypeError) throw new codes.ERR_INVALID_ARG_TYPE('first argument', fromWhat, value);
    throw error;
  }
};
const fromWhat = ['string', 'Buffer', 'ArrayBuffer', 'Array', 'Array-like Object'];
function fromView(view) {
  const count = view.length;
  const made = new FastBuffer(count);
  if (count > 0) binding.copyBytes(made, 0, view, 0, count);
  return made;
}
function overMemory(memory, offset, length) {
  offset = +offset || 0;
  const most = memory.byteLength - offset;
  if (most < 0) throw new codes.ERR_BUFFER_OUT_OF_BOUNDS('offset');
  if (length === undefined) length = most;
  else if (!((length = +length || 0) > 0)) length = 0;
  else if (length > most) throw new codes.ERR_BUFFER_OUT_OF_BOUNDS('length');
  return new FastBuffer(memory, offset, length);
}
Buffer.isEncoding = (encoding) => typeof encoding === 'string' && encoding.length > 0 && numberOf(encoding) !== undefined;
Buffer.byteLength = (value, encoding) => {
  if (typeof value !== 'string') {
    if (!ArrayBuffer.isView(value) && !(value instanceof ArrayBuffer) && !load('util_types').isAnyArrayBuffer(value)) {
      throw new codes.ERR_INVALID_ARG_TYPE('string', ['string', 'Buffer', 'ArrayBuffer'], value);
    }
    return value.byteLength;
  }
  const number = numberOf(encoding);
  return lengthOf(value, number === undefined ? ENCODING.utf8 : number);
};
Buffer.prototype.toString = function toString(encoding, start, end) {
  if (arguments.length > 1) {
    start = start > 0 ? Math.trunc(start) : 0;
    end = end === undefined || end > this.length ? this.length : end > 0 ? Math.trunc(end) : 0;
    if (start >= end) {
      if (encoding !== undefined) checkedNumber(encoding ?? 'null');
      return '';
    }
  }
  if (encoding === null) throw new codes.ERR_UNKNOWN_ENCODING(encoding);
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
    case 'ascii':
      return binding.asciiDecode(this, start ?? 0, end ?? this.length);
    case 'utf16le': case 'utf-16le': case 'ucs2': case 'ucs-2':
      return binding.utf16Decode(this, start ?? 0, end ?? this.length);
    default:
      if (encoding === null || !Buffer.isEncoding(encoding)) throw new codes.ERR_UNKNOWN_ENCODING(encoding);
      return binding.utf8Decode(this, start ?? 0, end ?? this.length);
  }
};
for (const name of ['alloc', 'allocUnsafe', 'allocUnsafeSlow']) {
  const slow = Buffer[name];
  Buffer[name] = function (size, ...rest) {
    if (typeof size !== 'number') throw new codes.ERR_INVALID_ARG_TYPE('size', 'number', size);
    if (!(size >= 0 && size <= lib.kMaxLength)) {
      throw new codes.ERR_OUT_OF_RANGE('size', `>= 0 && <= ${lib.kMaxLength}`, size);
    }
    if (rest.length === 0 || name !== 'alloc') return new FastBuffer(Math.floor(size));
    return slow.call(Buffer, size, ...rest);
  };
  Object.defineProperty(Buffer[name], 'name', { value: name });
}
Buffer.poolSize = 8192;
load('buffer_numbers').install(Buffer.prototype);

const fillBytes = Uint8Array.prototype.fill;
Buffer.concat = function concat(list, total) {
  if (!Array.isArray(list)) throw new codes.ERR_INVALID_ARG_TYPE('list', 'Array', list);
  if (list.length === 0) return new FastBuffer();
  let sum = 0;
  for (let i = 0; i < list.length; i++) {
    if (!(list[i] instanceof Uint8Array)) throw new codes.ERR_INVALID_ARG_TYPE(`list[${i}]`, ['Buffer', 'Uint8Array'], list[i]);
    sum += list[i].length;
  }
  if (total === undefined) total = sum;
  else if (typeof total !== 'number') throw new codes.ERR_INVALID_ARG_TYPE('length', 'number', total);
  else if (!(total >= 0 && total <= lib.kMaxLength && Math.floor(total) === total)) {
    throw new codes.ERR_OUT_OF_RANGE('length', Math.floor(total) === total ? `>= 0 && <= ${lib.kMaxLength}` : 'an integer', total);
  }
  const made = new FastBuffer(total);
  let at = 0;
  for (let i = 0; i < list.length && at < total; i++) {
    const count = Math.min(list[i].length, total - at);
    binding.copyBytes(made, at, list[i], 0, count);
    at += count;
  }
  if (at < total) fillBytes.call(made, 0, at);
  return made;
};
Buffer.copyBytesFrom = function copyBytesFrom(view, offset, length) {
  if (!ArrayBuffer.isView(view) || view instanceof DataView) throw new codes.ERR_INVALID_ARG_TYPE('view', 'TypedArray', view);
  if (view.length === 0) return new FastBuffer();
  if (offset !== undefined) validateInteger(offset, 'offset', 0);
  else offset = 0;
  if (length !== undefined) validateInteger(length, 'length', 0);
  else length = view.length;
  const part = view.subarray(offset, offset + length);
  return Buffer.from(new Uint8Array(part.buffer, part.byteOffset, part.byteLength));
};
function checkBytes(value, name) {
  if (!(value instanceof Uint8Array)) throw new codes.ERR_INVALID_ARG_TYPE(name, ['Buffer', 'Uint8Array'], value);
}
Buffer.compare = function compare(a, b) {
  checkBytes(a, 'buf1');
  checkBytes(b, 'buf2');
  return binding.compareBytes(a, b);
};
Buffer.prototype.equals = function equals(other) {
  checkBytes(other, 'otherBuffer');
  return this === other || (this.length === other.length && binding.compareBytes(this, other) === 0);
};
function bound(value, fallback, name, most) {
  if (value === undefined) return fallback;
  if (typeof value !== 'number') throw new codes.ERR_INVALID_ARG_TYPE(name, 'number', value);
  if (!(value >= 0 && value <= most)) throw new codes.ERR_OUT_OF_RANGE(name, `>= 0 && <= ${most}`, value);
  return Math.trunc(value);
}
Buffer.prototype.compare = function compare(target, targetStart, targetEnd, start, end) {
  checkBytes(target, 'target');
  if (arguments.length === 1) return binding.compareBytes(this, target);
  targetStart = bound(targetStart, 0, 'targetStart', Number.MAX_SAFE_INTEGER);
  start = bound(start, 0, 'sourceStart', Number.MAX_SAFE_INTEGER);
  targetEnd = bound(targetEnd, target.length, 'targetEnd', target.length);
  end = bound(end, this.length, 'sourceEnd', this.length);
  if (start >= end) return targetStart >= targetEnd ? 0 : -1;
  if (targetStart >= targetEnd) return 1;
  return binding.compareBytes(this.subarray(start, end), target.subarray(targetStart, targetEnd));
};
Buffer.prototype.copy = function copy(target, targetStart = 0, start = 0, end = this.length) {
  checkBytes(target, 'target');
  targetStart = Math.trunc(+targetStart) || 0;
  start = Math.trunc(+start) || 0;
  end = Math.trunc(+end) || 0;
  if (targetStart < 0) throw new codes.ERR_OUT_OF_RANGE('targetStart', '>= 0', targetStart);
  if (start < 0 || start > this.length) throw new codes.ERR_OUT_OF_RANGE('sourceStart', `>= 0 && <= ${this.length}`, start);
  if (end < 0) throw new codes.ERR_OUT_OF_RANGE('sourceEnd', '>= 0', end);
  if (targetStart >= target.length || start >= end) return 0;
  const count = Math.min(end - start, target.length - targetStart, this.length - start);
  binding.copyBytes(target, targetStart, this, start, count);
  return count;
};
// As Node: an offset that is no number searches everything; a negative one counts from the end.
function search(bytes, value, offset, encoding, backwards) {
  if (!(bytes instanceof Uint8Array)) throw new codes.ERR_INVALID_ARG_TYPE('buffer', ['Buffer', 'TypedArray', 'DataView'], bytes);
  if (typeof offset === 'string') {
    encoding = offset;
    offset = undefined;
  }
  offset = +offset;
  if (offset !== offset) offset = backwards ? bytes.length : 0;
  offset = Math.max(-0x80000000, Math.min(0x7fffffff, Math.trunc(offset)));
  if (offset < 0) offset += bytes.length;
  const before = offset < 0;
  if (before) offset = 0;
  if (typeof value === 'number') return before && backwards ? -1 : binding.findBytes(bytes, value & 255, Math.min(offset, bytes.length), backwards);
  let step = 1;
  if (typeof value === 'string') {
    const number = checkedNumber(encoding);
    if (value.length === 0) return Math.min(offset, bytes.length);
    if (before && backwards) return -1;
    return binding.findBytes(bytes, value, offset, backwards, number === ENCODING.utf16le ? 2 : 1, number);
  } else if (!(value instanceof Uint8Array)) {
    throw new codes.ERR_INVALID_ARG_TYPE('value', ['number', 'string', 'Buffer', 'Uint8Array'], value);
  } else if (encoding !== undefined && numberOf(encoding) === ENCODING.utf16le) {
    step = 2;
  }
  if (value.length === 0) return Math.min(offset, bytes.length);
  if (before && backwards) return -1;
  if (step === 2 && (bytes.length < 2 || value.length < 2)) return -1;
  return binding.findBytes(bytes, value, offset, backwards, step);
}
Buffer.prototype.indexOf = function indexOf(value, offset, encoding) { return search(this, value, offset, encoding, false); };
Buffer.prototype.lastIndexOf = function lastIndexOf(value, offset, encoding) { return search(this, value, offset, encoding, true); };
Buffer.prototype.includes = function includes(value, offset, encoding) { return search(this, value, offset, encoding, false) !== -1; };
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
  offset = offset === undefined ? 0 : offset >>> 0;
  return binding.writeText(this, text, checkedNumber(encoding), offset, length ?? -1);
};
Buffer.prototype.fill = function fill(value, start, end, encoding) {
  if (typeof start === 'string') [encoding, start, end] = [start, undefined, undefined];
  else if (typeof end === 'string') [encoding, end] = [end, undefined];
  if (start !== undefined && !(start >= 0)) throw new codes.ERR_OUT_OF_RANGE('offset', '>= 0', start);
  if (start > this.length) return this;
  if (end !== undefined && !(end >= 0 && end <= this.length)) {
    throw new codes.ERR_OUT_OF_RANGE('end', `>= 0 && <= ${this.length}`, end);
  }
  if (value === '') value = 0;
  start ??= 0;
  end ??= this.length;
  if (typeof value === 'string') {
    if (encoding !== undefined && typeof encoding !== 'string') throw new codes.ERR_INVALID_ARG_TYPE('encoding', 'string', encoding);
    const number = checkedNumber(encoding);
    if (start >= end && binding.bytesOf(value, number).length > 0) return this;
    if (binding.fillBytes(this, value, number, Math.trunc(Math.min(start, end)), Math.trunc(end)) === 0) throw new codes.ERR_INVALID_ARG_VALUE('value', value);
    return this;
  }
  if (ArrayBuffer.isView(value)) {
    if (value.byteLength === 0) throw new codes.ERR_INVALID_ARG_VALUE('value', value);
    if (start < end) binding.fillBytes(this, new Uint8Array(value.buffer, value.byteOffset, value.byteLength), 0, Math.trunc(start), Math.trunc(end));
    return this;
  }
  if (start >= end) return this;
  return fillBytes.call(this, value & 255, start, end);
};
// As Uint8Array's own, which looks for a species each time.
Buffer.prototype.subarray = function subarray(start, end) {
  const length = this.length;
  start = start === undefined ? 0 : Math.trunc(+start) || 0;
  end = end === undefined ? length : Math.trunc(+end) || 0;
  if (start < 0) start = Math.max(0, start + length);
  else if (start > length) start = length;
  if (end < 0) end = Math.max(0, end + length);
  else if (end > length) end = length;
  return new FastBuffer(this.buffer, this.byteOffset + start, end > start ? end - start : 0);
};
Buffer.prototype.slice = function slice(start, end) { return this.subarray(start, end); };
for (const [name, width] of [['swap16', 2], ['swap32', 4], ['swap64', 8]]) {
  Buffer.prototype[name] = { [name]() {
    if (this.length % width !== 0) throw new codes.ERR_INVALID_BUFFER_SIZE(`${width * 8}-bits`);
    binding.swapBytes(this, width);
    return this;
  } }[name];
}
for (const [name, encoding] of [['ascii', 'ascii'], ['base64', 'base64'], ['base64url', 'base64url'], ['latin1', 'latin1'], ['hex', 'hex'],
                                ['ucs2', 'ucs2'], ['utf8', 'utf8']]) {
  Buffer.prototype[`${name}Slice`] = function (start, end) { return this.toString(encoding, start, end); };
  Buffer.prototype[`${name}Write`] = function (text, offset, length) { return this.write(text, offset, length, encoding); };
}
let sampled = false;
function isPlain(buffer) {
  if (!sampled) {
    sampled = true;
    for (const sample of [Buffer.alloc(1), Buffer.from('a'), Buffer.allocUnsafe(1), Buffer.from(new ArrayBuffer(8)), Buffer.alloc(9000)]) {
      binding.safe.addSample(sample);
      binding.safe.addSample(sample.subarray(0, 1));
    }
  }
  return binding.safe.plainList(buffer);
}
Object.defineProperty(Buffer.prototype, Symbol.for('nodejs.util.inspect.custom'), {
  configurable: true, writable: true,
  value: function (depth, options, inspect) {
    const most = module.exports.INSPECT_MAX_BYTES;
    let text = this.toString('hex', 0, Math.min(most, this.length)).replace(/(..)(?=.)/g, '$1 ');
    if (this.length > most) text += ` ... ${this.length - most} more byte${this.length - most > 1 ? 's' : ''}`;
    const extra = isPlain(this) ? [] : Object.keys(this).filter((key) => !/^\d+$/.test(key));
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

// The bytes of any view or ArrayBuffer.
function memoryOf(input) {
  const isView = ArrayBuffer.isView(input);
  if (!isView && !(input instanceof ArrayBuffer)) throw new codes.ERR_INVALID_ARG_TYPE('input', ['ArrayBuffer', 'Buffer', 'TypedArray'], input);
  const memory = isView ? input.buffer : input;
  if (memory.detached) throw new codes.ERR_INVALID_STATE('Cannot validate on a detached buffer');
  return new Uint8Array(memory, isView ? input.byteOffset : 0, input.byteLength);
}
let inspectMax = 50;

module.exports = {
  Buffer, fromBytes,
  SlowBuffer: function SlowBuffer(size) {
    return Buffer.allocUnsafeSlow(size);
  },
  kMaxLength: lib.kMaxLength,
  kStringMaxLength: 2 ** 31 - 2,
  constants: { MAX_LENGTH: lib.kMaxLength, MAX_STRING_LENGTH: 2 ** 31 - 2 },
  get INSPECT_MAX_BYTES() { return inspectMax; },
  set INSPECT_MAX_BYTES(value) {
    load('errors').validateNumber(value, 'INSPECT_MAX_BYTES', 0);
    inspectMax = value;
  },
  get Blob() { return load('blob').Blob; },
  get File() { return load('blob').File; },
  get atob() { return load('encoding').atob; },
  get resolveObjectURL() { return load('blob').resolveObjectURL; },
  get Blob() { return load('blob').Blob; },
  get File() { return load('blob').File; },
  get btoa() { return load('encoding').btoa; },
  isUtf8: (input) => binding.utf8Valid(memoryOf(input)),
  isAscii: (input) => binding.asciiOnly(memoryOf(input)),
  transcode(source, from, to) {
    let text = Buffer.from(source).toString(from);
    const most = /^ascii$/i.test(to) ? 0x7f : /^(latin1|binary)$/i.test(to) ? 0xff : 0x10ffff;
    if (most < 0x10ffff) text = [...text].map((char) => (char.codePointAt(0) > most ? '?' : char)).join('');
    return Buffer.from(text, to);
  },
};
