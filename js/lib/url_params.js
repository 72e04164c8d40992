// SPDX-License-Identifier: MIT
// URLSearchParams of the URL Standard, with Node's words for what is wrong.
'use strict';

const { codes, validateFunction } = load('errors');
const { kPlatform } = load('idl');

const custom = Symbol.for('nodejs.util.inspect.custom');

// ---- application/x-www-form-urlencoded ----------------------------------------------------------------------------

function bytesOf(text) {
  const bytes = new Uint8Array(3 * text.length);
  const { written } = new TextEncoder().encodeInto(text, bytes);
  let length = 0;
  for (let i = 0; i < written; i++) {
    const digits = bytes[i] === 0x25 && i + 2 < written ? String.fromCharCode(bytes[i + 1], bytes[i + 2]) : '';
    if (/^[0-9a-fA-F]{2}$/.test(digits)) {
      bytes[length++] = Number.parseInt(digits, 16);
      i += 2;
    } else {
      bytes[length++] = bytes[i];
    }
  }
  return bytes.subarray(0, length);
}
function decoded(text) {
  if (text.includes('+')) text = text.replaceAll('+', ' ');
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytesOf(text)); // what is no UTF-8 is replaced
  }
}
// [[name, value], ...]
function parse(text) {
  const list = [];
  for (let at = 0; at < text.length;) {
    let end = text.indexOf('&', at);
    if (end < 0) end = text.length;
    if (end > at) {
      const middle = text.indexOf('=', at);
      if (middle < 0 || middle >= end) list.push([decoded(text.slice(at, end)), '']);
      else list.push([decoded(text.slice(at, middle)), decoded(text.slice(middle + 1, end))]);
    }
    at = end + 1;
  }
  return list;
}
const SAFE = /^[A-Za-z0-9*._-]*$/;
const hex = (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`;
function encoded(text) {
  if (SAFE.test(text)) return text;
  return encodeURIComponent(text).replace(/[!~'()]/g, hex).replaceAll('%20', '+');
}
function write(list) {
  let text = '';
  for (let i = 0; i < list.length; i++) text += `${i === 0 ? '' : '&'}${encoded(list[i][0])}=${encoded(list[i][1])}`;
  return text;
}

// ---- the class ----------------------------------------------------------------------------------------------------

function textOf(value) {
  if (typeof value === 'string') return value.toWellFormed();
  if (typeof value === 'symbol') throw new TypeError('Cannot convert a Symbol value to a string');
  return `${value}`.toWellFormed();
}
const badPair = () => new codes.ERR_INVALID_TUPLE('Each query pair', '[name, value]');
function listFrom(init) {
  if (init === null || (typeof init !== 'object' && typeof init !== 'function')) {
    const text = textOf(init);
    return parse(text.startsWith('?') ? text.slice(1) : text);
  }
  const method = init[Symbol.iterator];
  if (method !== undefined && method !== null) {
    if (typeof method !== 'function') throw new codes.ERR_ARG_NOT_ITERABLE('Query pairs');
    const list = [];
    for (const pair of { [Symbol.iterator]: () => Reflect.apply(method, init, []) }) {
      if ((typeof pair !== 'object' && typeof pair !== 'function') || pair === null || typeof pair[Symbol.iterator] !== 'function') throw badPair();
      const [...items] = pair;
      if (items.length !== 2) throw badPair();
      list.push([textOf(items[0]), textOf(items[1])]);
    }
    return list;
  }
  // Of two names that are the same as texts the later one counts.
  const map = new Map();
  for (const key of Reflect.ownKeys(init)) {
    if (Reflect.getOwnPropertyDescriptor(init, key)?.enumerable) map.set(textOf(key), textOf(init[key]));
  }
  return [...map];
}

let attach, refill, listOf; // set by the class
class URLSearchParams {
  #list;
  #changed = null; // of a URL: is called with the new query
  constructor(init = undefined) {
    this.#list = init === undefined ? [] : listFrom(init);
  }
  static {
    attach = (query, changed) => {
      const made = new URLSearchParams();
      made.#list = parse(query);
      made.#changed = changed;
      return made;
    };
    refill = (params, query) => { params.#list = parse(query); };
    listOf = (params) => params.#list;
  }
  #tell() {
    if (this.#changed !== null) this.#changed(write(this.#list));
  }
  static #check(self, count, wanted) {
    if (typeof self !== 'object' || self === null || !(#list in self)) throw new codes.ERR_INVALID_THIS('URLSearchParams');
    if (count < wanted) throw new codes.ERR_MISSING_ARGS(...['name', 'value'].slice(0, wanted));
  }
  get size() {
    URLSearchParams.#check(this, 0, 0);
    return this.#list.length;
  }
  append(name, value) {
    URLSearchParams.#check(this, arguments.length, 2);
    this.#list.push([textOf(name), textOf(value)]);
    this.#tell();
  }
  delete(name, value = undefined) {
    URLSearchParams.#check(this, arguments.length, 1);
    name = textOf(name);
    if (value !== undefined) value = textOf(value);
    const list = this.#list;
    let kept = 0;
    for (let i = 0; i < list.length; i++) {
      if (list[i][0] !== name || (value !== undefined && list[i][1] !== value)) list[kept++] = list[i];
    }
    list.length = kept;
    this.#tell();
  }
  get(name) {
    URLSearchParams.#check(this, arguments.length, 1);
    name = textOf(name);
    const list = this.#list;
    for (let i = 0; i < list.length; i++) if (list[i][0] === name) return list[i][1];
    return null;
  }
  getAll(name) {
    URLSearchParams.#check(this, arguments.length, 1);
    name = textOf(name);
    const found = [];
    const list = this.#list;
    for (let i = 0; i < list.length; i++) if (list[i][0] === name) found.push(list[i][1]);
    return found;
  }
  has(name, value = undefined) {
    URLSearchParams.#check(this, arguments.length, 1);
    name = textOf(name);
    if (value !== undefined) value = textOf(value);
    const list = this.#list;
    for (let i = 0; i < list.length; i++) if (list[i][0] === name && (value === undefined || list[i][1] === value)) return true;
    return false;
  }
  set(name, value) {
    URLSearchParams.#check(this, arguments.length, 2);
    name = textOf(name);
    value = textOf(value);
    const list = this.#list;
    let kept = 0;
    let found = false;
    for (let i = 0; i < list.length; i++) {
      if (list[i][0] !== name) {
        list[kept++] = list[i];
      } else if (!found) {
        found = true;
        list[i][1] = value;
        list[kept++] = list[i];
      }
    }
    list.length = kept;
    if (!found) list.push([name, value]);
    this.#tell();
  }
  sort() {
    URLSearchParams.#check(this, 0, 0);
    this.#list.sort((a, b) => a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0);
    this.#tell();
  }
  entries() {
    URLSearchParams.#check(this, 0, 0);
    return iterate(this, 2);
  }
  forEach(callback, self = undefined) {
    URLSearchParams.#check(this, 0, 0);
    validateFunction(callback, 'callback');
    for (let i = 0; i < this.#list.length; i++) {
      const [name, value] = this.#list[i];
      Reflect.apply(callback, self, [value, name, this]);
    }
  }
  keys() {
    URLSearchParams.#check(this, 0, 0);
    return iterate(this, 0);
  }
  values() {
    URLSearchParams.#check(this, 0, 0);
    return iterate(this, 1);
  }
  toString() {
    URLSearchParams.#check(this, 0, 0);
    return write(this.#list);
  }
  [custom](depth, options, inspect) {
    URLSearchParams.#check(this, 0, 0);
    if (typeof depth === 'number' && depth < 0) return options.stylize('[Object]', 'special');
    const { separator, inner } = layout(options);
    const shown = this.#list.map(([name, value]) => `${inspect(name, inner)} => ${inspect(value, inner)}`);
    return joined('URLSearchParams', shown, separator, options);
  }
}

function layout(options) {
  const inner = { ...options };
  if (options.depth !== null) inner.depth = options.depth - 1;
  return { separator: ', ', inner };
}
function joined(name, shown, separator, options) {
  if (shown.length === 0) return `${name} {}`;
  const length = shown.reduce((sum, text) => sum + text.replace(/\x1b\[\d\d?m/g, '').length + separator.length, -separator.length);
  if (length > options.breakLength) return `${name} {\n  ${shown.join(',\n  ')} }`;
  return `${name} { ${shown.join(separator)} }`;
}

// ---- its iterators ------------------------------------------------------------------------------------------------

const Iterators = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]()));
let iterate;
class URLSearchParamsIterator {
  #of;
  #what; // 0: names, 1: values, 2: both
  #at = 0;
  constructor(of, what) {
    this.#of = of;
    this.#what = what;
  }
  static { iterate = (of, what) => new URLSearchParamsIterator(of, what); }
  next() {
    if (typeof this !== 'object' || this === null || !(#of in this)) throw new codes.ERR_INVALID_THIS('URLSearchParamsIterator');
    const list = listOf(this.#of);
    if (this.#at >= list.length) return { value: undefined, done: true };
    const pair = list[this.#at++];
    return { value: this.#what === 2 ? [pair[0], pair[1]] : pair[this.#what], done: false };
  }
  [custom](depth, options, inspect) {
    if (typeof this !== 'object' || this === null || !(#of in this)) throw new codes.ERR_INVALID_THIS('URLSearchParamsIterator');
    if (typeof depth === 'number' && depth < 0) return options.stylize('[Object]', 'special');
    const { separator, inner } = layout(options);
    const rest = listOf(this.#of).slice(this.#at).map((pair) => inspect(this.#what === 2 ? pair : pair[this.#what], inner));
    return joined('URLSearchParams Iterator', rest, separator, options);
  }
}
delete URLSearchParamsIterator.prototype.constructor;
Object.setPrototypeOf(URLSearchParamsIterator.prototype, Iterators);
Object.defineProperty(URLSearchParamsIterator.prototype, Symbol.toStringTag, { value: 'URLSearchParams Iterator', configurable: true });
Object.defineProperty(URLSearchParamsIterator.prototype, 'next', { enumerable: true });

for (const name of ['size', 'append', 'delete', 'get', 'getAll', 'has', 'set', 'sort', 'entries', 'forEach', 'keys', 'values', 'toString']) {
  Object.defineProperty(URLSearchParams.prototype, name, { enumerable: true });
}
Object.defineProperties(URLSearchParams.prototype, {
  [Symbol.iterator]: { value: URLSearchParams.prototype.entries, writable: true, configurable: true },
  [Symbol.toStringTag]: { value: 'URLSearchParams', configurable: true },
  [kPlatform]: { value: true },
});

module.exports = { URLSearchParams, attach, refill };
