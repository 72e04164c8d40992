// SPDX-License-Identifier: MIT
// TextEncoder, TextDecoder with the encodings of the WHATWG Encoding Standard, atob, btoa.
'use strict';

const { codes } = load('errors');
const { expose } = load('idl');

class TextEncoder {
  #utf8 = 'utf-8';
  [Symbol.for('nodejs.util.inspect.custom')](depth, options, inspect) {
    return inspect({ encoding: this.encoding }, options);
  }
  get encoding() { return this.#utf8; }
  encode(text = '') {
    void this.#utf8; // another object has no such method
    return binding.utf8Encode(`${text}`);
  }
  encodeInto(text, target) {
    void this.#utf8;
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

// The first bytes of three and four whose second byte has limits of its own: [least, most].
const SECOND = { 0xe0: [0xa0, 0xbf], 0xed: [0x80, 0x9f], 0xf0: [0x90, 0xbf], 0xf4: [0x80, 0x8f] };
// Bytes of an unfinished character at the end of a piece. What can become no character is not waited for.
function unfinished(bytes) {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back];
    if ((byte & 0xc0) === 0x80) continue;
    const size = byte >= 0xf0 && byte <= 0xf4 ? 4 : byte >= 0xe0 && byte < 0xf0 ? 3 : byte >= 0xc2 && byte < 0xe0 ? 2 : 1;
    if (size <= back) return 0;
    const limits = back > 1 ? SECOND[byte] : undefined;
    const second = bytes[bytes.length - back + 1];
    return limits !== undefined && (second < limits[0] || second > limits[1]) ? 0 : back;
  }
  return 0;
}
// GB18030 of 2022 has characters for these places, where ICU has private ones.
const GB18030 = {
  '\ue5e5': '\u3000', '\ue78d': '\ufe10', '\ue78e': '\ufe12', '\ue78f': '\ufe11', '\ue790': '\ufe13', '\ue791': '\ufe14', '\ue792': '\ufe15',
  '\ue793': '\ufe16', '\ue794': '\ufe17', '\ue795': '\ufe18', '\ue796': '\ufe19', '\ue81e': '\u9fb4', '\ue826': '\u9fb5', '\ue82b': '\u9fb6',
  '\ue82c': '\u9fb7', '\ue832': '\u9fb8', '\ue843': '\u9fb9', '\ue854': '\u9fba', '\ue864': '\u9fbb',
};
const PRIVATE = /[\ue5e5\ue78d-\ue796\ue81e\ue826\ue82b\ue82c\ue832\ue843\ue854\ue864]/g;
// The names by which ICU has them.
const CONVERTERS = {
  'gbk': 'gb18030', 'gb18030': 'gb18030', 'big5': 'Big5-HKSCS', 'euc-jp': 'EUC-JP', 'iso-2022-jp': 'ISO-2022-JP', 'shift_jis': 'ibm-943_P15A-2003',
  'euc-kr': 'windows-949',
};
const NOTHING = new Uint8Array(0);
const isSurrogate = (unit, kind) => unit >= kind && unit < kind + 0x400;

class TextDecoder {
  #encoding;
  #fatal;
  #ignoreBOM;
  #kept = NOTHING;
  #begun = false;
  #converter;
  constructor(label = 'utf-8', options = undefined) {
    const plain = `${label}`.replace(/^[\t\n\f\r ]+|[\t\n\f\r ]+$/g, '').toLowerCase();
    const known = plain === 'utf-8' || plain === 'utf8' ? 'utf-8' : load('encoding_names').encodingOf.get(plain);
    if (known === undefined || known === 'replacement') throw new codes.ERR_ENCODING_NOT_SUPPORTED(label);
    if (Object.hasOwn(CONVERTERS, known)) {
      this.#converter = binding.converter(CONVERTERS[known]);
      if (this.#converter === undefined) throw new codes.ERR_ENCODING_NOT_SUPPORTED(label);
    }
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
  decode(input = NOTHING, options = undefined) {
    let bytes;
    if ((ArrayBuffer.isView(input) ? input.buffer : input)?.detached === true) bytes = NOTHING;
    else if (ArrayBuffer.isView(input)) bytes = new Uint8Array(input.buffer, input.byteOffset, input.byteLength);
    else if (input instanceof ArrayBuffer || input?.[Symbol.toStringTag] === 'SharedArrayBuffer') bytes = new Uint8Array(input);
    else throw new codes.ERR_INVALID_ARG_TYPE('list', ['ArrayBuffer', 'ArrayBufferView'], input);
    const stream = !!options?.stream;
    if (this.#kept.length > 0) {
      const joined = new Uint8Array(this.#kept.length + bytes.length);
      joined.set(this.#kept);
      joined.set(bytes, this.#kept.length);
      bytes = joined;
      this.#kept = NOTHING;
    }
    const text = this.#text(bytes, stream);
    if (text === undefined) {
      this.#kept = NOTHING;
      this.#begun = false;
      throw new codes.ERR_ENCODING_INVALID_ENCODED_DATA(this.#encoding);
    }
    const first = !this.#begun;
    this.#begun = stream && (this.#begun || text.length > 0);
    return first && text.charCodeAt(0) === 0xfeff && !this.#ignoreBOM && this.#encoding.startsWith('utf-') ? text.slice(1) : text;
  }
  // Undefined: these are no characters, and the decoder is a fatal one.
  #text(bytes, stream) {
    switch (this.#encoding) {
      case 'utf-8': {
        const end = stream ? bytes.length - unfinished(bytes) : bytes.length;
        if (end < bytes.length) this.#kept = bytes.slice(end);
        return this.#fatal && !binding.utf8Valid(bytes, 0, end) ? undefined : binding.utf8Decode(bytes, 0, end);
      }
      case 'utf-16le':
      case 'utf-16be':
        return this.#utf16(bytes, stream);
      case 'iso-8859-8-i':
        return this.#single(bytes, 'iso-8859-8');
      case 'x-user-defined': {
        let text = '';
        for (let i = 0; i < bytes.length; i++) text += String.fromCharCode(bytes[i] < 128 ? bytes[i] : 0xf780 + bytes[i] - 128);
        return text;
      }
      default:
        if (this.#converter === undefined) return this.#single(bytes, this.#encoding);
        return this.#convert(bytes, stream);
    }
  }
  #convert(bytes, stream) {
    const text = binding.convert(this.#converter, bytes, 0, bytes.length, !stream, this.#fatal);
    if (text === undefined || (this.#encoding !== 'gb18030' && this.#encoding !== 'gbk')) return text;
    return text.replace(PRIVATE, (character) => GB18030[character]);
  }
  #single(bytes, name) {
    const text = binding.tableDecode(bytes, 0, bytes.length, load('encoding_names').tableOf(name));
    return this.#fatal && text.includes('\ufffd') ? undefined : text;
  }
  // Half a unit, and a high surrogate without its partner, wait for the next piece.
  #utf16(bytes, stream) {
    let end = bytes.length & ~1;
    const half = end < bytes.length;
    const high = this.#encoding === 'utf-16le' ? 1 : 0;
    if (stream && end > 0 && isSurrogate(bytes[end - 2 + high] << 8 | bytes[end - 1 - high], 0xd800)) end -= 2;
    if (stream) this.#kept = bytes.slice(end);
    if (high === 0) {
      bytes = bytes.slice(0, end);
      for (let i = 0; i < end; i += 2) {
        const byte = bytes[i];
        bytes[i] = bytes[i + 1];
        bytes[i + 1] = byte;
      }
    }
    const text = binding.utf16Decode(bytes, 0, end);
    if (this.#fatal && ((half && !stream) || !text.isWellFormed())) return undefined;
    // A lone high surrogate before the odd byte at the end and that byte are one character that is none.
    const whole = text.toWellFormed();
    return half && !stream && !isSurrogate(text.charCodeAt(text.length - 1), 0xd800) ? `${whole}\ufffd` : whole;
  }
}
expose(TextEncoder, TextDecoder);

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
  return binding.latin1Decode(binding.bytesOf(text, load('constants').encoding.base64));
}

module.exports = { TextEncoder, TextDecoder, atob, btoa };
