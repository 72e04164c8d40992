// SPDX-License-Identifier: MIT
// TextEncoder and TextDecoder (utf-8, utf-16le, latin1), atob, btoa.
'use strict';

const { codes } = load('errors');

class TextEncoder {
  [Symbol.for('nodejs.util.inspect.custom')](depth, options, inspect) {
    return inspect({ encoding: this.encoding }, options);
  }
  get encoding() { return 'utf-8'; }
  encode(text = '') {
    return binding.utf8Encode(`${text}`);
  }
  encodeInto(text, target) {
    if (typeof text !== 'string') throw new codes.ERR_INVALID_ARG_TYPE('src', 'string', text);
    if (!(target instanceof Uint8Array)) throw new codes.ERR_INVALID_ARG_TYPE('dest', 'Uint8Array', target);
    let read = 0;
    let written = 0;
    for (const character of text.toWellFormed()) {
      const code = character.codePointAt(0);
      const size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
      if (written + size > target.length) break;
      target.set(binding.utf8Encode(character), written);
      written += size;
      read += character.length;
    }
    return { read, written };
  }
}
Object.defineProperty(TextEncoder.prototype, Symbol.toStringTag, { value: 'TextEncoder', configurable: true });

const labels = {
  'utf-8': 'utf-8', 'utf8': 'utf-8', 'unicode-1-1-utf-8': 'utf-8', 'utf-16le': 'utf-16le', 'utf-16': 'utf-16le', 'ucs-2': 'utf-16le',
  'utf16le': 'utf-16le', 'latin1': 'windows-1252', 'iso-8859-1': 'windows-1252', 'ascii': 'windows-1252', 'us-ascii': 'windows-1252',
  'windows-1252': 'windows-1252',
};
// Bytes of an unfinished character at the end of a piece.
function unfinished(bytes) {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back];
    if ((byte & 0xc0) === 0x80) continue;
    const size = byte >= 0xf0 && byte <= 0xf4 ? 4 : byte >= 0xe0 && byte < 0xf0 ? 3 : byte >= 0xc2 && byte < 0xe0 ? 2 : 1;
    return size > back ? back : 0;
  }
  return 0;
}
class TextDecoder {
  #encoding;
  #fatal;
  #ignoreBOM;
  #kept = new Uint8Array(0);
  #begun = false;
  constructor(label = 'utf-8', options = undefined) {
    const known = labels[`${label}`.trim().toLowerCase()];
    if (known === undefined) throw new codes.ERR_ENCODING_NOT_SUPPORTED(label);
    this.#encoding = known;
    this.#fatal = !!options?.fatal;
    this.#ignoreBOM = !!options?.ignoreBOM;
  }
  [Symbol.for('nodejs.util.inspect.custom')](depth, options, inspect) {
    return `TextDecoder ${inspect({ encoding: this.encoding, fatal: this.fatal, ignoreBOM: this.ignoreBOM }, options)}`;
  }
  get encoding() { return this.#encoding; }
  get fatal() { return this.#fatal; }
  get ignoreBOM() { return this.#ignoreBOM; }
  decode(input = new Uint8Array(0), options = undefined) {
    let bytes;
    if (ArrayBuffer.isView(input)) bytes = new Uint8Array(input.buffer, input.byteOffset, input.byteLength);
    else if (input instanceof ArrayBuffer || input?.[Symbol.toStringTag] === 'SharedArrayBuffer') bytes = new Uint8Array(input);
    else throw new codes.ERR_INVALID_ARG_TYPE('list', ['ArrayBuffer', 'ArrayBufferView'], input);
    const stream = !!options?.stream;
    if (this.#kept.length > 0) {
      const joined = new Uint8Array(this.#kept.length + bytes.length);
      joined.set(this.#kept);
      joined.set(bytes, this.#kept.length);
      bytes = joined;
      this.#kept = new Uint8Array(0);
    }
    let end = bytes.length;
    if (stream) {
      end -= this.#encoding === 'utf-8' ? unfinished(bytes) : this.#encoding === 'utf-16le' ? bytes.length % 2 : 0;
      this.#kept = bytes.slice(end);
    }
    let text;
    if (this.#encoding === 'utf-8') {
      if (this.#fatal && !binding.utf8Valid(bytes, 0, end)) {
        this.#kept = new Uint8Array(0);
        throw new codes.ERR_ENCODING_INVALID_ENCODED_DATA(this.#encoding);
      }
      text = binding.utf8Decode(bytes, 0, end);
    } else if (this.#encoding === 'utf-16le') {
      text = binding.utf16Decode(bytes, 0, end);
      if (end % 2 === 1) text += '\ufffd';
      if (this.#fatal && !text.isWellFormed()) throw new codes.ERR_ENCODING_INVALID_ENCODED_DATA(this.#encoding);
      text = text.toWellFormed();
    } else {
      text = binding.latin1Decode(bytes, 0, end);
    }
    if (!this.#begun && !this.#ignoreBOM && text.charCodeAt(0) === 0xfeff) text = text.slice(1);
    this.#begun = stream && (this.#begun || text.length > 0 || end > 0);
    return text;
  }
}
Object.defineProperty(TextDecoder.prototype, Symbol.toStringTag, { value: 'TextDecoder', configurable: true });

function invalid() {
  return new (load('eventtarget').DOMException)('Invalid character', 'InvalidCharacterError');
}
function btoa(input) {
  if (arguments.length === 0) throw new codes.ERR_MISSING_ARGS('input');
  input = `${input}`;
  const bytes = new Uint8Array(input.length);
  for (let i = 0; i < input.length; i++) {
    const code = input.charCodeAt(i);
    if (code > 255) throw invalid();
    bytes[i] = code;
  }
  return binding.base64Encode(bytes);
}
function atob(input) {
  if (arguments.length === 0) throw new codes.ERR_MISSING_ARGS('input');
  let text = `${input}`.replace(/[\t\n\f\r ]/g, '');
  if (text.length % 4 === 0) text = text.replace(/={1,2}$/, '');
  if (text.length % 4 === 1 || /[^A-Za-z0-9+/]/.test(text)) throw invalid();
  return binding.latin1Decode(binding.base64Decode(text));
}

module.exports = { TextEncoder, TextDecoder, atob, btoa };
