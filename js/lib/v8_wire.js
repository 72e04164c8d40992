// SPDX-License-Identifier: MIT
// Values as bytes, in the format of V8's serializer (version 15), with the host objects of node:v8: what v8.serialize makes here Node reads, and
// the other way round. Workers' messages are written with it too.
'use strict';

const { codes } = load('errors');
const { Buffer } = load('buffer');

const VERSION = 15;
const MOST_INDEX = 2 ** 32 - 1;
// The order is that of node:v8: the number of a view's class.
const views = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array, Float64Array, DataView,
  null /* Buffer */, BigInt64Array, BigUint64Array];
const BUFFER = 10;
const errorTags = { EvalError: 'E', RangeError: 'R', ReferenceError: 'F', SyntaxError: 'S', TypeError: 'T', URIError: 'U' };
const errorKinds = { E: EvalError, R: RangeError, F: ReferenceError, S: SyntaxError, T: TypeError, U: URIError };
const FLAGS = ['g', 'i', 'm', 'y', 'u', 's', 'l', 'd', 'v'];
const code = (letter) => letter.charCodeAt(0);

function viewNumber(view) {
  if (Buffer.isBuffer(view)) return BUFFER;
  if (view instanceof DataView) return 9;
  for (let i = 0; i < views.length; i++) if (views[i] !== null && i !== 9 && views[i].name === view[Symbol.toStringTag]) return i;
  return -1;
}
function bytesOf(view) {
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
}

// ---- writing ------------------------------------------------------------------------------------------------------

class Serializer {
  #bytes = new Uint8Array(256);
  #view = new DataView(this.#bytes.buffer);
  #at = 0;
  #seen = new Map();
  #transferred = new Map();

  #room(more) {
    if (this.#at + more <= this.#bytes.length) return;
    const bytes = new Uint8Array(Math.max(this.#bytes.length * 2, this.#at + more));
    bytes.set(this.#bytes);
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer);
  }
  #byte(value) {
    this.#room(1);
    this.#bytes[this.#at++] = value;
  }
  #tag(letter) { this.#byte(code(letter)); }
  #varint(value) {
    this.#room(10);
    while (value >= 128) {
      this.#bytes[this.#at++] = (value % 128) | 128;
      value = Math.floor(value / 128);
    }
    this.#bytes[this.#at++] = value;
  }
  #raw(bytes) {
    this.#room(bytes.length);
    this.#bytes.set(bytes, this.#at);
    this.#at += bytes.length;
  }
  #string(text) {
    let wide = false;
    for (let i = 0; i < text.length && !wide; i++) wide = text.charCodeAt(i) > 255;
    if (!wide) {
      this.#tag('"');
      this.#varint(text.length);
      this.#raw(Buffer.from(text, 'latin1'));
      return;
    }
    const length = text.length * 2;
    let size = 1;
    for (let left = length; left >= 128; left = Math.floor(left / 128)) size++;
    if ((this.#at + 1 + size) % 2 === 1) this.#byte(0); // what is two bytes wide stands at an even place
    this.#tag('c');
    this.#varint(length);
    this.#raw(Buffer.from(text, 'utf16le'));
  }
  #bigint(value) {
    const negative = value < 0n;
    let left = negative ? -value : value;
    const words = [];
    for (; left > 0n; left >>= 64n) words.push(left & 0xffffffffffffffffn);
    this.#varint(words.length * 16 + (negative ? 1 : 0));
    for (const word of words) {
      this.#room(8);
      this.#view.setBigUint64(this.#at, word, true);
      this.#at += 8;
    }
  }
  #properties(object, keys) {
    let count = 0;
    for (const key of keys) {
      const value = object[key];
      const number = Number(key);
      if (Number.isInteger(number) && number >= 0 && number < MOST_INDEX && `${number}` === key) this.#number(number);
      else this.#string(key);
      this.writeValue(value);
      count++;
    }
    return count;
  }
  #number(value) {
    if (Number.isInteger(value) && value >= -(2 ** 31) && value < 2 ** 31 && !Object.is(value, -0)) {
      this.#tag('I');
      this.#varint(value >= 0 ? value * 2 : -value * 2 - 1);
    } else {
      this.#tag('N');
      this.writeDouble(value);
    }
  }
  #object(value) {
    const known = this.#seen.get(value);
    if (known !== undefined) {
      this.#tag('^');
      this.#varint(known);
      return;
    }
    // A view's buffer is written before it.
    if (ArrayBuffer.isView(value) && !this._treatArrayBufferViewsAsHostObjects && !this.#seen.has(value)) {
      if (!this.#seen.has(value.buffer)) this.#object(value.buffer);
    }
    this.#seen.set(value, this.#seen.size);
    const { kindOf } = load('clone');
    if (Array.isArray(value)) {
      this.#array(value);
      return;
    }
    if (ArrayBuffer.isView(value)) {
      if (this._treatArrayBufferViewsAsHostObjects) {
        this.#host(value);
        return;
      }
      this.#tag('V');
      this.#tag({ Int8Array: 'b', Uint8Array: 'B', Uint8ClampedArray: 'C', Int16Array: 'w', Uint16Array: 'W', Int32Array: 'd', Uint32Array: 'D',
        Float16Array: 'h', Float32Array: 'f', Float64Array: 'F', BigInt64Array: 'q', BigUint64Array: 'Q' }[value[Symbol.toStringTag]] ?? '?');
      this.#varint(value.byteOffset);
      this.#varint(value.byteLength);
      this.#varint(0);
      return;
    }
    switch (kindOf(value)) {
      case 'Error': this.#error(value); return;
      case 'RegExp': {
        let flags = 0;
        FLAGS.forEach((flag, i) => {
          if (value.flags.includes(flag)) flags |= 1 << i;
        });
        this.#tag('R');
        this.#string(value.source);
        this.#varint(flags);
        return;
      }
      case 'Map': {
        this.#tag(';');
        const entries = [...value];
        for (const [key, item] of entries) {
          this.writeValue(key);
          this.writeValue(item);
        }
        this.#tag(':');
        this.#varint(entries.length * 2);
        return;
      }
      case 'Set': {
        this.#tag('\'');
        const items = [...value];
        for (const item of items) this.writeValue(item);
        this.#tag(',');
        this.#varint(items.length);
        return;
      }
      case 'Date':
        this.#tag('D');
        this.writeDouble(value.getTime());
        return;
      case 'ArrayBuffer': {
        const id = this.#transferred.get(value);
        if (id !== undefined) {
          this.#tag('t');
          this.#varint(id);
          return;
        }
        if (value.detached) throw new this._getDataCloneError('An ArrayBuffer is detached and could not be cloned.');
        this.#tag('B');
        this.#varint(value.byteLength);
        this.#raw(new Uint8Array(value));
        return;
      }
      case 'Boolean': this.#tag(value.valueOf() ? 'y' : 'x'); return;
      case 'Number':
        this.#tag('n');
        this.writeDouble(value.valueOf());
        return;
      case 'BigInt':
        this.#tag('z');
        this.#bigint(value.valueOf());
        return;
      case 'String':
        this.#tag('s');
        this.#string(value.valueOf());
        return;
      case 'Host': this.#host(value); return;
      case 'Object': {
        this.#tag('o');
        const count = this.#properties(value, Object.keys(value));
        this.#tag('{');
        this.#varint(count);
        return;
      }
      default:
        throw new this._getDataCloneError(`${load('clone').shownAs(value)} could not be cloned.`);
    }
  }
  #array(list) {
    const { length } = list;
    const keys = Object.keys(list);
    let dense = 0;
    while (dense < keys.length && keys[dense] === `${dense}`) dense++;
    if (dense === length) {
      this.#tag('A');
      this.#varint(length);
      for (let i = 0; i < length; i++) this.writeValue(list[i]);
      const count = this.#properties(list, keys.slice(length));
      this.#tag('$');
      this.#varint(count);
      this.#varint(length);
      return;
    }
    this.#tag('a');
    this.#varint(length);
    const count = this.#properties(list, keys);
    this.#tag('@');
    this.#varint(count);
    this.#varint(length);
  }
  #error(error) {
    this.#tag('r');
    const tag = errorTags[error.name];
    if (tag !== undefined) this.#tag(tag);
    const message = Object.getOwnPropertyDescriptor(error, 'message');
    if (message !== undefined && 'value' in message) {
      this.#tag('m');
      this.#string(`${message.value}`);
    }
    if (Object.hasOwn(error, 'cause')) {
      this.#tag('c');
      this.writeValue(error.cause);
    }
    if (typeof error.stack === 'string') {
      this.#tag('s');
      this.#string(error.stack);
    }
    this.#tag('.');
  }
  #host(value) {
    if (typeof this._writeHostObject !== 'function') throw new this._getDataCloneError(`${load('clone').shownAs(value)} could not be cloned.`);
    this.#tag('\\');
    this._writeHostObject(value);
  }

  writeHeader() {
    this.#byte(255);
    this.#byte(VERSION);
  }
  writeValue(value) {
    switch (typeof value) {
      case 'undefined': this.#tag('_'); break;
      case 'boolean': this.#tag(value ? 'T' : 'F'); break;
      case 'number': this.#number(value); break;
      case 'bigint':
        this.#tag('Z');
        this.#bigint(value);
        break;
      case 'string': this.#string(value); break;
      case 'object':
        if (value === null) this.#tag('0');
        else this.#object(value);
        break;
      default:
        throw new this._getDataCloneError(`${load('clone').shownAs(value)} could not be cloned.`);
    }
    return true;
  }
  releaseBuffer() {
    const made = Buffer.from(this.#bytes.buffer, 0, this.#at);
    this.#bytes = new Uint8Array(256);
    this.#view = new DataView(this.#bytes.buffer);
    this.#at = 0;
    return made;
  }
  transferArrayBuffer(id, buffer) { this.#transferred.set(buffer, id); }
  writeUint32(value) { this.#varint(value >>> 0); }
  writeUint64(high, low) {
    let value = (BigInt(high >>> 0) << 32n) | BigInt(low >>> 0);
    while (value >= 128n) {
      this.#byte(Number(value & 127n) | 128);
      value >>= 7n;
    }
    this.#byte(Number(value));
  }
  writeDouble(value) {
    this.#room(8);
    this.#view.setFloat64(this.#at, value, true);
    this.#at += 8;
  }
  writeRawBytes(source) {
    if (!ArrayBuffer.isView(source)) throw new codes.ERR_INVALID_ARG_TYPE('source', ['Buffer', 'TypedArray', 'DataView'], source);
    this.#raw(bytesOf(source));
  }
  _setTreatArrayBufferViewsAsHostObjects(on) { this._treatArrayBufferViewsAsHostObjects = !!on; }
}
Object.defineProperty(Serializer.prototype, '_getDataCloneError', { value: Error, writable: true, configurable: true });
Object.defineProperty(Serializer.prototype, '_treatArrayBufferViewsAsHostObjects', { value: false, writable: true, configurable: true });

// ---- reading ------------------------------------------------------------------------------------------------------

class Deserializer {
  #bytes;
  #view;
  #at = 0;
  #seen = [];
  #transferred = new Map();
  #version = VERSION;
  constructor(buffer) {
    if (!ArrayBuffer.isView(buffer)) throw new codes.ERR_INVALID_ARG_TYPE('buffer', ['Buffer', 'TypedArray', 'DataView'], buffer);
    this.buffer = buffer;
    this.#bytes = bytesOf(buffer);
    this.#view = new DataView(this.#bytes.buffer, this.#bytes.byteOffset, this.#bytes.byteLength);
  }
  #fail() { throw new Error('Unable to deserialize cloned data.'); }
  #byte() {
    if (this.#at >= this.#bytes.length) this.#fail();
    return this.#bytes[this.#at++];
  }
  #varint() {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = this.#byte();
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  }
  #take(length) {
    if (length > this.#bytes.length - this.#at) this.#fail();
    const from = this.#at;
    this.#at += length;
    return this.#bytes.subarray(from, this.#at);
  }
  #text(encoding) {
    const bytes = this.#take(this.#varint());
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString(encoding);
  }
  #tag() {
    let tag;
    do tag = this.#byte(); while (tag === 0);
    return String.fromCharCode(tag);
  }
  #string() {
    switch (this.#tag()) {
      case '"': return this.#text('latin1');
      case 'c': return this.#text('utf16le');
      case 'S': return this.#text('utf8');
      default: return this.#fail();
    }
  }
  #bigint() {
    const field = this.#varint();
    const bytes = this.#take(Math.floor(field / 2));
    let value = 0n;
    for (let i = bytes.length - 1; i >= 0; i--) value = (value << 8n) | BigInt(bytes[i]);
    return field & 1 ? -value : value;
  }
  #keep(value) {
    this.#seen.push(value);
    return value;
  }
  // Until the tag that ends it; how many there were.
  #properties(object, end) {
    let count = 0;
    for (;;) {
      const at = this.#at;
      if (this.#tag() === end) return count;
      this.#at = at;
      const key = this.readValue();
      if (typeof key !== 'string' && typeof key !== 'number') this.#fail();
      const value = this.readValue();
      Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
      count++;
    }
  }
  readHeader() {
    if (this.#bytes[this.#at] !== 255) throw new Error('Unable to deserialize cloned data due to invalid or unsupported version.');
    this.#at++;
    this.#version = this.#varint();
    if (this.#version > VERSION) throw new Error('Unable to deserialize cloned data due to invalid or unsupported version.');
    return true;
  }
  readValue() {
    const tag = this.#tag();
    switch (tag) {
      case '_': return undefined;
      case '0': return null;
      case 'T': return true;
      case 'F': return false;
      case 'I': {
        const value = this.#varint();
        return value % 2 === 1 ? -(value + 1) / 2 : value / 2;
      }
      case 'U': return this.#varint();
      case 'N': return this.readDouble();
      case 'Z': return this.#bigint();
      case '"': return this.#text('latin1');
      case 'c': return this.#text('utf16le');
      case 'S': return this.#text('utf8');
      case '^': {
        const at = this.#varint();
        if (at >= this.#seen.length) this.#fail();
        return this.#seen[at];
      }
      case 'o': {
        const made = this.#keep({});
        if (this.#properties(made, '{') !== this.#varint()) this.#fail();
        return made;
      }
      case 'A': {
        const length = this.#varint();
        if (length > this.#bytes.length - this.#at) this.#fail();
        const made = this.#keep(new Array(length));
        for (let i = 0; i < length; i++) {
          if (this.#bytes[this.#at] === code('-')) this.#at++; // a hole
          else made[i] = this.readValue();
        }
        if (this.#properties(made, '$') !== this.#varint() || this.#varint() !== length) this.#fail();
        return made;
      }
      case 'a': {
        const length = this.#varint();
        const made = this.#keep([]);
        made.length = length;
        if (this.#properties(made, '@') !== this.#varint() || this.#varint() !== length) this.#fail();
        return made;
      }
      case 'D': return this.#keep(new Date(this.readDouble()));
      case 'y': return this.#keep(Object(true));
      case 'x': return this.#keep(Object(false));
      case 'n': return this.#keep(Object(this.readDouble()));
      case 'z': return this.#keep(Object(this.#bigint()));
      case 's': return this.#keep(Object(this.#string()));
      case 'R': {
        const at = this.#seen.push(undefined) - 1;
        const source = this.#string();
        const flags = this.#varint();
        return this.#seen[at] = new RegExp(source, FLAGS.filter((flag, i) => flags & (1 << i)).join(''));
      }
      case ';': {
        const made = this.#keep(new Map());
        let count = 0;
        for (; this.#bytes[this.#at] !== code(':'); count += 2) {
          const key = this.readValue();
          made.set(key, this.readValue());
        }
        this.#at++;
        if (this.#varint() !== count) this.#fail();
        return made;
      }
      case '\'': {
        const made = this.#keep(new Set());
        let count = 0;
        for (; this.#bytes[this.#at] !== code(','); count++) made.add(this.readValue());
        this.#at++;
        if (this.#varint() !== count) this.#fail();
        return made;
      }
      case 'B': {
        const bytes = this.#take(this.#varint());
        return this.#view1(this.#keep(bytes.slice().buffer));
      }
      case 't': {
        const made = this.#transferred.get(this.#varint());
        if (made === undefined) this.#fail();
        return this.#view1(this.#keep(made));
      }
      case 'r': return this.#error();
      case '\\': {
        const at = this.#seen.push(undefined) - 1;
        if (typeof this._readHostObject !== 'function') this.#fail();
        return this.#seen[at] = this._readHostObject();
      }
      default: return this.#fail();
    }
  }
  // A view follows the buffer that it is of.
  #view1(buffer) {
    if (this.#bytes[this.#at] !== code('V')) return buffer;
    this.#at++;
    const Kind = { b: Int8Array, B: Uint8Array, C: Uint8ClampedArray, w: Int16Array, W: Uint16Array, d: Int32Array, D: Uint32Array,
      h: globalThis.Float16Array, f: Float32Array, F: Float64Array, q: BigInt64Array, Q: BigUint64Array, '?': DataView }[this.#tag()];
    const offset = this.#varint();
    const length = this.#varint();
    if (this.#version >= 14) this.#varint();
    if (Kind === undefined || offset + length > buffer.byteLength) this.#fail();
    return this.#keep(new Kind(buffer, offset, Kind === DataView ? length : length / Kind.BYTES_PER_ELEMENT));
  }
  #error() {
    const at = this.#seen.push(undefined) - 1;
    let Kind = Error;
    const parts = {};
    for (;;) {
      const tag = this.#tag();
      if (tag === '.') break;
      if (errorKinds[tag] !== undefined) Kind = errorKinds[tag];
      else if (tag === 'm') parts.message = this.#string();
      else if (tag === 'c') parts.cause = this.readValue();
      else if (tag === 's') parts.stack = this.#string();
      else this.#fail();
    }
    const made = this.#seen[at] = new Kind(parts.message, 'cause' in parts ? { cause: parts.cause } : undefined);
    Object.defineProperty(made, 'stack', { value: parts.stack, writable: true, configurable: true, enumerable: false });
    return made;
  }
  getWireFormatVersion() { return this.#version; }
  transferArrayBuffer(id, buffer) { this.#transferred.set(id, buffer); }
  readUint32() { return this.#varint(); }
  readUint64() {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = this.#byte();
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return [Number((value >> 32n) & 0xffffffffn), Number(value & 0xffffffffn)];
    }
  }
  readDouble() {
    if (this.#bytes.length - this.#at < 8) this.#fail();
    this.#at += 8;
    return this.#view.getFloat64(this.#at - 8, true);
  }
  readRawBytes(length) {
    const bytes = this.#take(length);
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }
}

// ---- with the views of node:v8 ------------------------------------------------------------------------------------

class DefaultSerializer extends Serializer {
  constructor() {
    super();
    this._setTreatArrayBufferViewsAsHostObjects(true);
  }
  _writeHostObject(value) {
    const number = ArrayBuffer.isView(value) ? viewNumber(value) : -1;
    if (number < 0) throw new this._getDataCloneError(`Unserializable host object: ${load('inspect').inspect(value)}`);
    this.writeUint32(number);
    this.writeUint32(value.byteLength);
    this.writeRawBytes(bytesOf(value));
  }
}
class DefaultDeserializer extends Deserializer {
  _readHostObject() {
    const number = this.readUint32();
    const length = this.readUint32();
    const bytes = this.readRawBytes(length);
    if (number === BUFFER) return Buffer.from(bytes);
    const Kind = views[number];
    if (Kind === undefined) throw new Error('Unable to deserialize cloned data.');
    const own = new Uint8Array(bytes).buffer;
    return new Kind(own, 0, Kind === DataView ? length : length / Kind.BYTES_PER_ELEMENT);
  }
}

module.exports = { Serializer, Deserializer, DefaultSerializer, DefaultDeserializer };
