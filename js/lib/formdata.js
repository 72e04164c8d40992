// SPDX-License-Identifier: MIT
// FormData, and forms in bodies: multipart/form-data and application/x-www-form-urlencoded, both ways.
'use strict';

const { codes } = load('errors');
const { File, isBlob, partsOf } = load('blob');
const { Buffer } = load('buffer');
const { expose, pairs } = load('idl');

const named = (name) => `${name}`.toWellFormed();
function entryOf(value, filename) {
  if (!isBlob(value)) return named(value);
  if (value instanceof File && filename === undefined) return value;
  return new File([value], filename === undefined ? 'blob' : `${filename}`,
                  { type: value.type, lastModified: value instanceof File ? value.lastModified : undefined });
}

let listOf; // set by the class
class FormData {
  #list = []; // of [name, value]
  static { listOf = (form) => form.#list; }
  constructor(form = undefined) {
    if (form !== undefined) throw new codes.ERR_INVALID_ARG_TYPE('form', 'undefined', form);
  }
  static #check(count, wanted, value, filename) {
    if (count < wanted) throw new TypeError(`FormData: ${wanted} arguments are needed, and ${count} are here`);
    if (filename !== undefined && !isBlob(value)) throw new TypeError('FormData: only a Blob has a file name');
  }
  append(name, value, filename = undefined) {
    FormData.#check(arguments.length, 2, value, arguments.length > 2 ? filename ?? '' : undefined);
    this.#list.push([named(name), entryOf(value, filename)]);
  }
  set(name, value, filename = undefined) {
    FormData.#check(arguments.length, 2, value, arguments.length > 2 ? filename ?? '' : undefined);
    const key = named(name);
    const entry = [key, entryOf(value, filename)];
    const at = this.#list.findIndex((one) => one[0] === key);
    if (at < 0) {
      this.#list.push(entry);
      return;
    }
    this.#list = this.#list.filter((one, i) => i <= at || one[0] !== key);
    this.#list[at] = entry;
  }
  get(name) {
    FormData.#check(arguments.length, 1);
    const key = named(name);
    return this.#list.find((one) => one[0] === key)?.[1] ?? null;
  }
  getAll(name) {
    FormData.#check(arguments.length, 1);
    const key = named(name);
    return this.#list.filter((one) => one[0] === key).map((one) => one[1]);
  }
  has(name) {
    FormData.#check(arguments.length, 1);
    const key = named(name);
    return this.#list.some((one) => one[0] === key);
  }
  delete(name) {
    FormData.#check(arguments.length, 1);
    const key = named(name);
    this.#list = this.#list.filter((one) => one[0] !== key);
  }
  [Symbol.for('nodejs.util.inspect.custom')](depth, options, inspect) {
    const shown = {};
    for (const [name, value] of this.#list) {
      if (!Object.hasOwn(shown, name)) shown[name] = value;
      else if (Array.isArray(shown[name])) shown[name].push(value);
      else shown[name] = [shown[name], value];
    }
    return `FormData ${inspect(shown, options)}`;
  }
}
pairs(FormData, (form) => listOf(form));
expose(FormData);

// ---- in a body ----------------------------------------------------------------------------------------------------

const quoted = (text) => text.replace(/\r\n|\r|\n/g, '%0D%0A').replaceAll('"', '%22');
const lines = (text) => text.replace(/\r\n|\r|\n/g, '\r\n');

// [bytes, content type]
function encodeForm(form) {
  const random = load('crypto').crypto.getRandomValues(new Uint8Array(12));
  const boundary = `----formdata-vigil-${Buffer.from(random.buffer).toString('hex')}`;
  const pieces = [];
  for (const [name, value] of form) {
    let head = `--${boundary}\r\nContent-Disposition: form-data; name="${quoted(lines(name))}"`;
    if (typeof value === 'string') {
      pieces.push(Buffer.from(`${head}\r\n\r\n${lines(value)}\r\n`));
      continue;
    }
    head += `; filename="${quoted(value.name)}"\r\nContent-Type: ${value.type || 'application/octet-stream'}\r\n\r\n`;
    pieces.push(Buffer.from(head), ...partsOf(value), Buffer.from('\r\n'));
  }
  pieces.push(Buffer.from(`--${boundary}--\r\n`));
  return [Buffer.concat(pieces), `multipart/form-data; boundary=${boundary}`];
}

const broken = () => new TypeError('Failed to parse body as FormData.');
function parameter(text, name) {
  const match = new RegExp(`;\\s*${name}=(?:"((?:[^"\\\\]|\\\\.)*)"|([^;\\s]*))`, 'i').exec(text);
  return match === null ? undefined : match[1] ?? match[2];
}
const unquoted = (text) => text.replace(/%0D|%0A|%22/gi, (code) => String.fromCharCode(parseInt(code.slice(1), 16)));

function decodeMultipart(bytes, boundary) {
  const form = new FormData();
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const mark = Buffer.from(`--${boundary}`);
  let at = whole.indexOf(mark);
  if (at < 0) throw broken();
  for (;;) {
    at += mark.length;
    if (whole[at] === 0x2d && whole[at + 1] === 0x2d) return form;
    if (whole[at] !== 0x0d || whole[at + 1] !== 0x0a) throw broken();
    at += 2;
    const headEnd = whole[at] === 0x0d && whole[at + 1] === 0x0a ? at - 2 : whole.indexOf('\r\n\r\n', at);
    if (headEnd < 0) throw broken();
    const head = headEnd < at ? '' : whole.toString('utf8', at, headEnd);
    const start = headEnd + 4;
    const end = whole.indexOf(Buffer.concat([Buffer.from('\r\n'), mark]), start - 2);
    if (end < 0) throw broken();
    let name;
    let filename;
    let type = 'text/plain';
    for (const line of head.split('\r\n')) {
      const colon = line.indexOf(':');
      const field = line.slice(0, colon).trim().toLowerCase();
      const value = line.slice(colon + 1).trim();
      if (field === 'content-disposition') {
        if (!/^form-data\s*(;|$)/i.test(value)) throw broken();
        name = parameter(value, 'name');
        filename = parameter(value, 'filename');
      } else if (field === 'content-type') {
        type = value;
      }
    }
    if (name === undefined) throw broken();
    const content = whole.subarray(start, Math.max(start, end));
    if (filename === undefined) form.append(unquoted(name), content.toString('utf8'));
    else form.append(unquoted(name), new File([content], unquoted(filename), { type }));
    at = end + 2;
  }
}

function decodeForm(bytes, type) {
  const mime = load('mime').mimeOf(type);
  const essence = mime?.essence;
  if (essence === 'multipart/form-data') {
    const boundary = mime.parameters.get('boundary');
    if (boundary === undefined || boundary === '') throw broken();
    return decodeMultipart(bytes, boundary);
  }
  if (essence !== 'application/x-www-form-urlencoded') throw broken();
  const form = new FormData();
  for (const [name, value] of new (load('url').URLSearchParams)(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes))) {
    form.append(name, value);
  }
  return form;
}

module.exports = { FormData, encodeForm, decodeForm };
