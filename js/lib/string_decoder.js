// SPDX-License-Identifier: MIT
// node:string_decoder: bytes that come in pieces, as text; a character that is cut in two waits for its rest.
'use strict';

const { codes } = load('errors');
const { Buffer } = load('buffer');

function normal(encoding) {
  const name = encoding === undefined || encoding === null || encoding === '' ? 'utf8' : `${encoding}`.toLowerCase();
  switch (name) {
    case 'utf8': case 'utf-8': return 'utf8';
    case 'ucs2': case 'ucs-2': case 'utf16le': case 'utf-16le': return 'utf16le';
    case 'latin1': case 'binary': return 'latin1';
    case 'base64': case 'base64url': case 'ascii': case 'hex': return name;
    default: throw new codes.ERR_UNKNOWN_ENCODING(encoding);
  }
}
// How many bytes at the end begin a character that is not complete.
function openBytes(bytes) {
  const length = bytes.length;
  for (let back = 1; back <= Math.min(3, length); back++) {
    const byte = bytes[length - back];
    if ((byte & 0xc0) === 0x80) continue;
    const wanted = byte >= 0xf0 && byte <= 0xf4 ? 4 : byte >= 0xe0 && byte < 0xf0 ? 3 : byte >= 0xc2 && byte < 0xe0 ? 2 : 1;
    return wanted > back ? back : 0;
  }
  return 0;
}

const kRest = Symbol('rest');
// A function and no class: old code calls it on objects of its own.
function StringDecoder(encoding) {
  this.encoding = normal(encoding);
  Object.defineProperty(this, kRest, { value: Buffer.alloc(0), writable: true, configurable: true });
}
StringDecoder.prototype.write = function write(chunk) {
  if (typeof chunk === 'string') return chunk;
  if (!ArrayBuffer.isView(chunk)) throw new codes.ERR_INVALID_ARG_TYPE('buf', ['Buffer', 'TypedArray', 'DataView'], chunk);
  if (this?.[kRest] === undefined) throw new codes.ERR_INVALID_THIS('StringDecoder');
  let bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  if (this[kRest].length > 0) bytes = Buffer.concat([this[kRest], bytes]);
  let keep = 0;
  if (this.encoding === 'utf8') {
    keep = openBytes(bytes);
  } else if (this.encoding === 'utf16le') {
    keep = bytes.length % 2;
    const whole = bytes.length - keep;
    // A high surrogate waits for its partner. As Node: not if it comes together with half of that.
    const held = this[kRest].length >= 2 && whole === 2;
    if (whole >= 2 && (keep === 0 || held) && (bytes[whole - 1] & 0xfc) === 0xd8) keep += 2;
  } else if (this.encoding.startsWith('base64')) {
    keep = bytes.length % 3;
  }
  this[kRest] = Buffer.from(bytes.subarray(bytes.length - keep));
  return bytes.toString(this.encoding, 0, bytes.length - keep);
};
StringDecoder.prototype.end = function end(chunk) {
  const text = chunk === undefined ? '' : this.write(chunk);
  const rest = this[kRest];
  this[kRest] = Buffer.alloc(0);
  return text + rest.toString(this.encoding);
};
StringDecoder.prototype.text = function text(chunk, offset) {
  this[kRest] = Buffer.alloc(0);
  return this.write(chunk.slice(offset));
};
// What Node's decoder says about the character that is not complete.
const about = {
  lastChar() { return Buffer.concat([this[kRest]], 4); },
  lastNeed() {
    const rest = this[kRest];
    if (rest.length === 0) return 0;
    if (this.encoding === 'utf8') return (rest[0] >= 0xf0 ? 4 : rest[0] >= 0xe0 ? 3 : 2) - rest.length;
    return this.encoding === 'utf16le' ? (rest.length % 2 === 1 ? 1 : 2) : 3 - rest.length;
  },
  lastTotal() { return this[kRest].length === 0 ? 0 : this[kRest].length + this.lastNeed; },
};
for (const name of Object.keys(about)) {
  Object.defineProperty(StringDecoder.prototype, name, { configurable: true, enumerable: true, get: about[name] });
}

module.exports = { StringDecoder };
