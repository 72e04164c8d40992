// SPDX-License-Identifier: MIT
// Blob and File: bytes that do not change. A slice shares the bytes of what it was taken from.
'use strict';

const { codes } = load('errors');
const { expose, isObject, need } = load('idl');

const kParts = Symbol('parts');
const kSlice = Symbol('slice');
const PIECE = 65536;
const encoder = new TextEncoder();

const isShared = (value) => typeof SharedArrayBuffer === 'function' && value instanceof SharedArrayBuffer;
// One part as Web IDL converts it: bytes, a Blob, or text.
const partOf = (value) => ArrayBuffer.isView(value) || value instanceof ArrayBuffer || isShared(value) || isBlob(value) ? value : `${value}`;
function bytesOf(value, endings) {
  if (ArrayBuffer.isView(value)) {
    return value.buffer.detached ? new Uint8Array(0) : new Uint8Array(value.buffer, value.byteOffset, value.byteLength).slice();
  }
  if (typeof value !== 'string') return value.detached ? new Uint8Array(0) : new Uint8Array(value).slice();
  return encoder.encode(endings === 'native' ? value.replace(/\r\n|\r/g, '\n') : value);
}
function typeOf(value) {
  const type = `${value}`;
  return /[^\x20-\x7e]/.test(type) ? '' : type.toLowerCase();
}
// WebIDL's [Clamp] long long.
function clamp(value, fallback) {
  if (value === undefined) return fallback;
  const number = +value;
  if (Number.isNaN(number)) return 0;
  const near = Math.min(Math.max(number, -Number.MAX_SAFE_INTEGER), Number.MAX_SAFE_INTEGER);
  const floor = Math.floor(near);
  return near - floor > 0.5 || (near - floor === 0.5 && floor % 2 !== 0) ? floor + 1 : floor;
}

let isBlob; // set by the class, which alone sees the brand
class Blob {
  #parts; // of Uint8Array
  #size = 0;
  #type;
  constructor(parts = [], options = {}) {
    const iterate = isObject(parts) ? parts[Symbol.iterator] : undefined;
    if (typeof iterate !== 'function') {
      throw new codes.ERR_INVALID_ARG_TYPE('sources', 'a sequence', parts);
    }
    if (options !== undefined && options !== null && !isObject(options)) {
      throw new codes.ERR_INVALID_ARG_TYPE('options', 'Object', options);
    }
    if (parts[kSlice] === true) {
      this.#parts = parts.list;
    } else {
      const list = [];
      const items = [];
      for (const item of { [Symbol.iterator]: () => Reflect.apply(iterate, parts, []) }) items.push(partOf(item)); // one after the other, and all before the options
      const endings = options?.endings === undefined ? 'transparent' : `${options.endings}`;
      const type = options?.type === undefined ? '' : typeOf(options.type);
      if (endings !== 'transparent' && endings !== 'native') throw new codes.ERR_INVALID_ARG_VALUE('options.endings', endings);
      for (const item of items) {
        if (isBlob(item)) list.push(...item[kParts]());
        else list.push(bytesOf(item, endings));
      }
      this.#parts = list;
      this.#type = type;
    }
    for (const part of this.#parts) this.#size += part.byteLength;
    this.#type ??= parts.type;
  }
  static #brand(value) { return #parts in value; }
  static { isBlob = (value) => value !== null && typeof value === 'object' && Blob.#brand(value); }
  get size() { return this.#size; }
  get type() { return this.#type; }
  [kParts]() { return this.#parts; }
  slice(start = undefined, end = undefined, type = '') {
    const size = this.#size;
    const place = (value, fallback) => {
      const number = clamp(value, fallback);
      return number < 0 ? Math.max(size + number, 0) : Math.min(number, size);
    };
    const from = place(start, 0);
    const to = Math.max(from, place(end, size));
    const list = [];
    let at = 0;
    for (const part of this.#parts) {
      const first = Math.max(from - at, 0);
      const last = Math.min(to - at, part.byteLength);
      if (first < last) list.push(part.subarray(first, last));
      at += part.byteLength;
    }
    return new Blob({ [kSlice]: true, list, type: typeOf(type), [Symbol.iterator]() {} });
  }
  #whole() {
    const whole = new Uint8Array(this.#size);
    let at = 0;
    for (const part of this.#parts) {
      whole.set(part, at);
      at += part.byteLength;
    }
    return whole;
  }
  async bytes() { return this.#whole(); }
  async arrayBuffer() { return this.#whole().buffer; }
  async text() { return new TextDecoder().decode(this.#whole()); }
  textStream() { return this.stream().pipeThrough(new (load('stream_web').TextDecoderStream)()); }
  stream() {
    const parts = this.#parts;
    let part = 0;
    let at = 0;
    return new (load('stream_web').ReadableStream)({
      type: 'bytes',
      pull(controller) {
        while (part < parts.length && at >= parts[part].byteLength) {
          part++;
          at = 0;
        }
        if (part >= parts.length) {
          controller.close();
          controller.byobRequest?.respond(0);
          return;
        }
        const piece = parts[part].slice(at, at + PIECE);
        at += piece.byteLength;
        controller.enqueue(piece);
      },
    });
  }
  [Symbol.for('nodejs.util.inspect.custom')](depth, options, inspect) {
    return `Blob ${inspect({ size: this.#size, type: this.#type }, options)}`;
  }
}

class File extends Blob {
  #name;
  #modified;
  constructor(parts, name, options = {}) {
    if (arguments.length < 2) throw new codes.ERR_MISSING_ARGS('fileBits', 'fileName');
    super(parts, options);
    this.#name = `${name}`.toWellFormed();
    const modified = options?.lastModified;
    this.#modified = modified === undefined ? Date.now() : Math.trunc(+modified) || 0;
  }
  get name() { return this.#name; }
  get lastModified() { return this.#modified; }
  get webkitRelativePath() { return ''; }
  [Symbol.for('nodejs.util.inspect.custom')](depth, options, inspect) {
    return `File ${inspect({ size: this.size, type: this.type, name: this.#name, lastModified: this.#modified }, options)}`;
  }
}
expose(Blob, File);

// Another object with the same bytes.
function copyOf(blob) {
  if (!(blob instanceof File)) return blob.slice(0, blob.size, blob.type);
  return new File([blob], blob.name, { type: blob.type, lastModified: blob.lastModified });
}

// Bytes that nobody else has, with a type as it is written.
const typed = (bytes, type) => new Blob({ [kSlice]: true, list: [bytes], type, [Symbol.iterator]() {} });

// ---- blob: URLs ---------------------------------------------------------------------------------------------------

const urls = new Map(); // what this host has made and not revoked
function createObjectURL(blob) {
  need(arguments.length, 1, 'URL.createObjectURL');
  if (!isBlob(blob)) throw new codes.ERR_INVALID_ARG_TYPE('obj', 'Blob', blob);
  const url = `blob:nodedata:${load('crypto').crypto.randomUUID()}`;
  urls.set(url, blob);
  return url;
}
function revokeObjectURL(url) {
  need(arguments.length, 1, 'URL.revokeObjectURL');
  urls.delete(`${url}`);
}
const resolveObjectURL = (url) => urls.get(`${url}`);

module.exports = {
  copyOf, Blob, File, isBlob, typed, partsOf: (blob) => blob[kParts](), createObjectURL, revokeObjectURL, resolveObjectURL,
};
