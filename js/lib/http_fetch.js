// SPDX-License-Identifier: MIT
// Headers, Request and Response as far as a server needs them, and a fetch that says that there is no client yet. A body is text,
// bytes, or an iterable of such (also an asynchronous one); what it can be read with is text, json, bytes, arrayBuffer, and
// iterating over `body`, which gives chunks of bytes as they come.
'use strict';

const { codes } = load('errors');
const { Buffer } = load('buffer');

const TOKEN = /^[\^_`a-zA-Z\-0-9!#$%&'*+.|~]+$/;

// ---- Headers ------------------------------------------------------------------------------------------------------

class Headers {
  #map = new Map(); // lower-case name -> values
  constructor(init = undefined) {
    if (init === undefined || init === null) return;
    if (typeof init !== 'object') throw new TypeError('Headers: the argument is neither an object nor a list of pairs');
    const pairs = typeof init[Symbol.iterator] === 'function' ? init : Object.entries(init);
    for (const pair of pairs) {
      const [name, value, more] = pair;
      if (value === undefined || more !== undefined) throw new TypeError('Headers: a pair has a name and a value');
      this.append(name, value);
    }
  }
  static #key(name) {
    const text = `${name}`;
    if (!TOKEN.test(text)) throw new TypeError(`Headers: '${text}' is no valid header name`);
    return text.toLowerCase();
  }
  static #value(value) {
    const text = `${value}`.replace(/^[\t\r\n ]+|[\t\r\n ]+$/g, '');
    if (/[\0\r\n]|[^\0-\xff]/.test(text)) throw new TypeError('Headers: a value with a line break, a zero or a character beyond Latin-1');
    return text;
  }
  append(name, value) {
    const key = Headers.#key(name);
    const text = Headers.#value(value);
    const list = this.#map.get(key);
    if (list === undefined) this.#map.set(key, [text]);
    else list.push(text);
  }
  set(name, value) {
    this.#map.set(Headers.#key(name), [Headers.#value(value)]);
  }
  get(name) {
    return this.#map.get(Headers.#key(name))?.join(', ') ?? null;
  }
  has(name) {
    return this.#map.has(Headers.#key(name));
  }
  delete(name) {
    this.#map.delete(Headers.#key(name));
  }
  getSetCookie() {
    return this.#map.get('set-cookie')?.slice() ?? [];
  }
  forEach(callback, self) {
    for (const [name, value] of this) callback.call(self, value, name, this);
  }
  *entries() {
    for (const name of [...this.#map.keys()].sort()) {
      const list = this.#map.get(name);
      if (name !== 'set-cookie') yield [name, list.join(', ')];
      else for (const cookie of list) yield [name, cookie];
    }
  }
  *keys() {
    for (const [name] of this) yield name;
  }
  *values() {
    for (const [, value] of this) yield value;
  }
  [Symbol.iterator]() {
    return this.entries();
  }
  get [Symbol.toStringTag]() { return 'Headers'; }
  [Symbol.for('nodejs.util.inspect.custom')](depth, options, inspect) {
    return `Headers ${inspect(Object.fromEntries(this), options)}`;
  }
}

// ---- bodies -------------------------------------------------------------------------------------------------------

function bytesOf(chunk) {
  if (typeof chunk === 'string') return Buffer.from(chunk);
  if (chunk instanceof Uint8Array) return chunk;
  if (ArrayBuffer.isView(chunk)) return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  if (chunk instanceof ArrayBuffer) return new Uint8Array(chunk);
  throw new codes.ERR_INVALID_ARG_TYPE('chunk', ['string', 'ArrayBuffer', 'Uint8Array'], chunk);
}
const isPlain = (value) => typeof value === 'string' || ArrayBuffer.isView(value) || value instanceof ArrayBuffer;

// What Request and Response have in common.
class Body {
  #body; // null, text, bytes, or something to iterate
  #used = false;
  constructor(body) {
    if (body !== null && !isPlain(body) && typeof body[Symbol.asyncIterator] !== 'function' &&
        typeof body[Symbol.iterator] !== 'function') {
      body = `${body}`;
    }
    this.#body = body;
  }
  get bodyUsed() { return this.#used; }
  // Text or bytes that need not be iterated; undefined otherwise.
  static peek(message) {
    const body = message.#body;
    if (body !== null && !isPlain(body)) return undefined;
    message.#used = body !== null;
    return body ?? '';
  }
  #take() {
    if (this.#used) throw new TypeError('Body is unusable: Body has already been read');
    this.#used = this.#body !== null;
    return this.#body;
  }
  get body() {
    if (this.#body === null) return null;
    const chunks = this.#chunks.bind(this);
    return { [Symbol.asyncIterator]: chunks };
  }
  async *#chunks() {
    const body = this.#take();
    if (isPlain(body)) yield bytesOf(body);
    else for await (const chunk of body) yield bytesOf(chunk);
  }
  async bytes() {
    if (this.#body === null) return new Uint8Array(0);
    const chunks = [];
    for await (const chunk of this.#chunks()) chunks.push(chunk);
    if (chunks.length === 1) return chunks[0];
    return Buffer.concat(chunks);
  }
  async arrayBuffer() {
    const bytes = await this.bytes();
    return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  }
  async text() {
    if (typeof this.#body === 'string') return this.#take();
    return new TextDecoder().decode(await this.bytes());
  }
  async json() {
    return JSON.parse(await this.text());
  }
}

function typeOf(body) {
  if (typeof body === 'string') return 'text/plain;charset=UTF-8';
  if (body instanceof load('url').URLSearchParams) return 'application/x-www-form-urlencoded;charset=UTF-8';
  return null;
}

// ---- Request ------------------------------------------------------------------------------------------------------

class Request extends Body {
  #method;
  #url;
  #headers;
  #signal;
  constructor(input, init = {}) {
    const from = input instanceof Request ? input : undefined;
    const method = `${init.method ?? from?.method ?? 'GET'}`;
    const body = init.body ?? null;
    if (body !== null && /^(GET|HEAD)$/i.test(method)) throw new TypeError(`Request with ${method} method cannot have body`);
    if (!TOKEN.test(method)) throw new TypeError(`'${method}' is not a valid HTTP method`);
    super(body === null && from !== undefined ? from.body : body);
    this.#method = /^(get|head|post|put|delete|options)$/i.test(method) ? method.toUpperCase() : method;
    this.#url = from?.url ?? new (load('url').URL)(`${input}`).href;
    this.#headers = new Headers(init.headers ?? from?.headers);
    this.#signal = init.signal ?? from?.signal;
    const type = body === null ? null : typeOf(body);
    if (type !== null && !this.#headers.has('content-type')) this.#headers.set('content-type', type);
  }
  get method() { return this.#method; }
  get url() { return this.#url; }
  get headers() { return this.#headers; }
  get signal() { return this.#signal ??= new AbortController().signal; }
  get [Symbol.toStringTag]() { return 'Request'; }
}

// ---- Response -----------------------------------------------------------------------------------------------------

const EMPTY = new Set([101, 204, 205, 304]);

class Response extends Body {
  #status;
  #statusText;
  #headers;
  constructor(body = null, init = {}) {
    const status = init.status === undefined ? 200 : +init.status;
    if (!(Number.isInteger(status) && status >= 200 && status <= 599)) {
      throw new RangeError('init["status"] must be in the range of 200 to 599, inclusive.');
    }
    if (EMPTY.has(status) && body !== null && body !== undefined) {
      throw new TypeError(`Response constructor: Invalid response status code ${status}`);
    }
    super(body ?? null);
    this.#status = status;
    this.#statusText = `${init.statusText ?? ''}`;
    if (/[^\t\x20-\x7e\x80-\xff]/.test(this.#statusText)) throw new TypeError('Invalid statusText');
    this.#headers = new Headers(init.headers);
    const type = body === null || body === undefined ? null : typeOf(body);
    if (type !== null && !this.#headers.has('content-type')) this.#headers.set('content-type', type);
  }
  static json(data, init = {}) {
    const text = JSON.stringify(data);
    if (text === undefined) throw new TypeError('Value is not JSON serializable');
    const headers = new Headers(init.headers);
    if (!headers.has('content-type')) headers.set('content-type', 'application/json');
    return new Response(text, { ...init, headers });
  }
  static redirect(url, status = 302) {
    if (![301, 302, 303, 307, 308].includes(status)) throw new RangeError(`Invalid status code ${status}`);
    return new Response(null, { status, headers: { location: `${url}` } });
  }
  get status() { return this.#status; }
  get statusText() { return this.#statusText; }
  get ok() { return this.#status >= 200 && this.#status <= 299; }
  get headers() { return this.#headers; }
  get [Symbol.toStringTag]() { return 'Response'; }
}

async function fetch() {
  const error = new TypeError('fetch: this host has an HTTP server and no client yet');
  error.code = 'ERR_METHOD_NOT_IMPLEMENTED';
  throw error;
}

module.exports = { Headers, Request, Response, fetch, peek: Body.peek };
