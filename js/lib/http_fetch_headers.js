// SPDX-License-Identifier: MIT
// Headers of the Fetch Standard.
'use strict';

const { expose, need, pairs } = load('idl');

const TOKEN = /^[\^_`a-zA-Z\-0-9!#$%&'*+.|~]+$/;

const PLAIN = /^[!-~](?:[ -~]*[!-~])?$/; // most values: nothing to be cut off, nothing to be refused
// A text of bytes.
function bytesOf(value) {
  const text = `${value}`;
  if (!PLAIN.test(text) && /[^\0-\xff]/.test(text)) throw new TypeError('Headers: a character beyond Latin-1');
  return text;
}
const known = new Map(); // names that were seen, in lower case; a program has few
function keyOf(name) {
  const text = `${name}`;
  let key = known.get(text);
  if (key !== undefined) return key;
  if (!TOKEN.test(text)) throw new TypeError(`Headers: '${text}' is no valid header name`);
  key = text.toLowerCase();
  if (known.size < 256) known.set(text, key);
  return key;
}
function valueOf(value) {
  if (typeof value === 'string' && PLAIN.test(value)) return value;
  const text = bytesOf(value).replace(/^[\t\r\n ]+|[\t\r\n ]+$/g, '');
  if (/[\0\r\n]/.test(text)) throw new TypeError('Headers: a value with a line break or a zero');
  return text;
}
// What the constructor takes: pairs, or an object whose own properties are the headers. Everything is converted before anything is used.
function listOf(init) {
  if (init === null || (typeof init !== 'object' && typeof init !== 'function')) {
    throw new TypeError('Headers: the argument is neither an object nor a list of pairs');
  }
  const method = init[Symbol.iterator];
  if (method !== undefined && method !== null) {
    const list = [];
    for (const pair of { [Symbol.iterator]: () => Reflect.apply(method, init, []) }) {
      if (pair === null || typeof pair !== 'object' || typeof pair[Symbol.iterator] !== 'function') {
        throw new TypeError('Headers: a pair has a name and a value');
      }
      const items = [...pair].map(bytesOf);
      if (items.length !== 2) throw new TypeError('Headers: a pair has a name and a value');
      list.push(items);
    }
    return list;
  }
  const list = [];
  const keys = Reflect.ownKeys(init);
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i];
    if (!Reflect.getOwnPropertyDescriptor(init, key)?.enumerable) continue;
    if (typeof key === 'symbol') throw new TypeError('Headers: a symbol is no name');
    list.push([bytesOf(key), bytesOf(init[key])]);
  }
  return list;
}

let freeze, sortedOf, ofPairs, eachOf; // set by the class
class Headers {
  #map = new Map(); // lower-case name -> values
  #sorted = null; // as the iterators show them, until something changes
  #fixed = false;
  constructor(init = undefined) {
    if (init === undefined) return;
    const list = listOf(init);
    for (let i = 0; i < list.length; i++) this.append(list[i][0], list[i][1]);
  }
  static {
    freeze = (headers) => {
      headers.#fixed = true;
      return headers;
    };
    // Of what a server has received: name, value, ... Its parser has looked at them.
    ofPairs = (list) => {
      const headers = new Headers();
      const map = headers.#map;
      for (let i = 0; i < list.length; i += 2) {
        const key = keyOf(list[i]);
        const values = map.get(key);
        if (values === undefined) map.set(key, [list[i + 1]]);
        else values.push(list[i + 1]);
      }
      return headers;
    };
    // Calls back with each name and its list of values, in the order in which they came.
    eachOf = (headers, callback) => headers.#map.forEach(callback);
    sortedOf = (headers) => headers.#sorted ??= headers.#sort();
  }
  #sort() {
    const list = [];
    for (const name of [...this.#map.keys()].sort()) {
      const values = this.#map.get(name);
      if (name !== 'set-cookie') list.push([name, values.join(', ')]);
      else for (const cookie of values) list.push([name, cookie]);
    }
    return list;
  }
  #change() {
    if (this.#fixed) throw new TypeError('Headers: these cannot be changed');
    this.#sorted = null;
  }
  append(name, value) {
    need(arguments.length, 2, 'Headers.append');
    const key = keyOf(name);
    const text = valueOf(value);
    this.#change();
    const list = this.#map.get(key);
    if (list === undefined) this.#map.set(key, [text]);
    else list.push(text);
  }
  delete(name) {
    need(arguments.length, 1, 'Headers.delete');
    const key = keyOf(name);
    this.#change();
    this.#map.delete(key);
  }
  get(name) {
    need(arguments.length, 1, 'Headers.get');
    return this.#map.get(keyOf(name))?.join(', ') ?? null;
  }
  getSetCookie() {
    return this.#map.get('set-cookie')?.slice() ?? [];
  }
  has(name) {
    need(arguments.length, 1, 'Headers.has');
    return this.#map.has(keyOf(name));
  }
  set(name, value) {
    need(arguments.length, 2, 'Headers.set');
    const key = keyOf(name);
    const text = valueOf(value);
    this.#change();
    this.#map.set(key, [text]);
  }
}
pairs(Headers, (headers) => sortedOf(headers));
expose(Headers);
Object.defineProperty(Headers.prototype, Symbol.for('nodejs.util.inspect.custom'), {
  configurable: true, writable: true,
  value(depth, options, inspect) { return `Headers ${inspect(Object.fromEntries(this), options)}`; },
});

module.exports = { Headers, TOKEN, eachOf, freeze, ofPairs };
