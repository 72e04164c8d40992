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
// How many bytes at the end of a chunk begin something that is not complete.
function openBytes(encoding, bytes) {
  const { length } = bytes;
  if (encoding === 'utf16le') {
    if (length % 2 === 1) return 1;
    return (bytes[length - 1] & 0xfc) === 0xd8 ? 2 : 0; // a high surrogate waits for its partner
  }
  if (encoding !== 'utf8') return length % 3;
  for (let back = 1; back <= Math.min(3, length); back++) {
    const byte = bytes[length - back];
    if ((byte & 0xc0) !== 0x80) return wanted(encoding, byte) > back ? back : 0;
  }
  return 0;
}
// How long that is in all, as its first byte says; as Node, also for first bytes that no character has.
function wanted(encoding, first, held) {
  if (encoding === 'utf16le') return held * 2;
  if (encoding !== 'utf8') return 3;
  return first >= 0xf8 || first < 0xc0 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
}

// What is not complete: the first `held` bytes of `last`, and `missing` bytes to come.
const kState = Symbol('state');
// A function and no class: old code calls it on objects of its own.
function StringDecoder(encoding) {
  this.encoding = normal(encoding);
  Object.defineProperty(this, kState, { value: { last: Buffer.alloc(4), held: 0, missing: 0 }, configurable: true });
}
// Takes what belongs to the character that waits: how many bytes.
function complete(state, encoding, bytes) {
  let count = 0;
  while (count < bytes.length && state.missing > 0) {
    if (encoding === 'utf8' && (bytes[count] & 0xc0) !== 0x80) {
      state.missing = 0; // it never gets complete
      break;
    }
    state.last[state.held++] = bytes[count++];
    state.missing--;
  }
  return count;
}
function release(state, encoding) {
  const text = state.last.toString(encoding, 0, state.held);
  state.held = state.missing = 0;
  return text;
}
StringDecoder.prototype.write = function write(chunk) {
  if (typeof chunk === 'string') return chunk;
  if (!ArrayBuffer.isView(chunk)) throw new codes.ERR_INVALID_ARG_TYPE('buf', ['Buffer', 'TypedArray', 'DataView'], chunk);
  const state = this?.[kState];
  if (state === undefined) throw new codes.ERR_INVALID_THIS('StringDecoder');
  const { encoding } = this;
  let bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  if (encoding === 'latin1' || encoding === 'ascii' || encoding === 'hex') return bytes.toString(encoding);
  let text = '';
  if (state.missing > 0) {
    bytes = bytes.subarray(complete(state, encoding, bytes));
    // As Node: a high surrogate that gets complete here does not wait for its partner.
    if (state.missing === 0) text = release(state, encoding);
  }
  if (bytes.length === 0) return text;
  const held = openBytes(encoding, bytes);
  const whole = bytes.length - held;
  if (held > 0) {
    bytes.copy(state.last, 0, whole);
    state.held = held;
    state.missing = wanted(encoding, bytes[whole], held) - held;
  }
  return text + bytes.toString(encoding, 0, whole);
};
StringDecoder.prototype.end = function end(chunk) {
  const text = chunk === undefined ? '' : this.write(chunk);
  const state = this[kState];
  return state.held > 0 ? text + release(state, this.encoding) : text;
};
StringDecoder.prototype.text = function text(chunk, offset) {
  this[kState].held = this[kState].missing = 0;
  return this.write(chunk.slice(offset));
};
// What Node's decoder says about the character that is not complete.
const about = {
  lastChar() { return this[kState].last; },
  lastNeed() { return this[kState].missing; },
  lastTotal() { return this[kState].held + this[kState].missing; },
};
for (const name of Object.keys(about)) {
  Object.defineProperty(StringDecoder.prototype, name, { configurable: true, enumerable: true, get: about[name] });
}

module.exports = { StringDecoder };
