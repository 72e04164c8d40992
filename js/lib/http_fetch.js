// SPDX-License-Identifier: MIT
// Headers, Request and Response, and fetch, whose work is done in http_fetch_client.js. A body is text, bytes, a Blob, a form, a
// ReadableStream, or an iterable of chunks (also an asynchronous one). `body` is made a stream when somebody asks for it: a server
// that answers with text never makes one.
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
const isStream = (value) => binding.isLoaded('stream_web') && value instanceof load('stream_web').ReadableStream;
const unusable = () => new TypeError('Body is unusable: Body has already been read');

// [what is kept, its type]. Bytes are copied, because the program may change them.
function extract(body) {
  if (typeof body === 'string') return [body, 'text/plain;charset=UTF-8'];
  if (ArrayBuffer.isView(body) || body instanceof ArrayBuffer) return [bytesOf(body).slice(), null];
  if (binding.isLoaded('blob') && load('blob').isBlob(body)) {
    return [Buffer.concat(load('blob').partsOf(body)), body.type === '' ? null : body.type];
  }
  if (binding.isLoaded('formdata') && body instanceof load('formdata').FormData) return load('formdata').encodeForm(body);
  if (body instanceof load('url').URLSearchParams) return [`${body}`, 'application/x-www-form-urlencoded;charset=UTF-8'];
  if (isStream(body)) {
    if (body.locked || body._disturbed) throw new TypeError('Response body object should not be disturbed or locked');
    return [body, null];
  }
  if (typeof body === 'object' && (typeof body[Symbol.asyncIterator] === 'function' || typeof body[Symbol.iterator] === 'function')) {
    return [body, null];
  }
  return [`${body}`, 'text/plain;charset=UTF-8'];
}

// What Request and Response have in common.
class Body {
  #body; // null, text, bytes, or something to iterate
  #used = false;
  #stream = null; // made of the body when somebody asked for it
  constructor(body) {
    this.#body = body;
    if (isStream(body)) this.#stream = body;
  }
  // Whoever reads or cancels the stream has used the body; the stream knows it.
  get bodyUsed() { return this.#used || (this.#stream !== null && this.#stream._disturbed); }
  // Text or bytes that need not be iterated; undefined otherwise.
  static peek(message) {
    const body = message.#body;
    if (message.#stream !== null || message.#used || (body !== null && !isPlain(body))) return undefined;
    message.#used = body !== null;
    return body ?? '';
  }
  #take() {
    if (this.bodyUsed || this.#stream?.locked) throw unusable();
    this.#used = this.#body !== null;
    return this.#stream ?? this.#body;
  }
  get body() {
    if (this.#body === null || this.#stream !== null) return this.#stream;
    const chunks = this.#used ? [][Symbol.iterator]() : this.#chunks(this.#body);
    return this.#stream = new (load('stream_web').ReadableStream)({
      type: 'bytes',
      async pull(controller) {
        let { done, value } = await chunks.next();
        while (!done && value.byteLength === 0) ({ done, value } = await chunks.next());
        if (!done) {
          controller.enqueue(value.slice());
        } else {
          controller.close();
          controller.byobRequest?.respond(0);
        }
      },
      async cancel(reason) { await chunks.return?.(reason); },
    }, { highWaterMark: 0 });
  }
  async *#chunks(body) {
    if (isPlain(body)) yield bytesOf(body);
    else for await (const chunk of body) yield bytesOf(chunk);
  }
  // For the server: the chunks, without a stream around them.
  static chunks(message) { return message.#chunks(message.#take()); }
  // Two bodies of one, for clone().
  static split(message) {
    if (message.bodyUsed || message.#stream?.locked) throw new TypeError('Response.clone: Body has already been consumed.');
    if (message.#body === null || (message.#stream === null && isPlain(message.#body))) return message.#body;
    const [one, two] = message.body.tee();
    message.#body = message.#stream = one;
    return two;
  }
  async bytes() {
    const body = this.#take();
    if (body === null) return new Uint8Array(0);
    const chunks = [];
    for await (const chunk of this.#chunks(body)) chunks.push(chunk);
    const whole = Buffer.concat(chunks);
    return new Uint8Array(whole.buffer, whole.byteOffset, whole.byteLength);
  }
  async arrayBuffer() {
    const bytes = await this.bytes();
    return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  }
  async text() {
    if (typeof this.#body === 'string' && this.#stream === null) return this.#take().toWellFormed();
    return new TextDecoder().decode(await this.bytes());
  }
  async json() {
    return JSON.parse(await this.text());
  }
  async blob() {
    return new (load('blob').Blob)([await this.bytes()], { type: this.headers.get('content-type') ?? '' });
  }
  async formData() {
    return load('formdata').decodeForm(await this.bytes(), this.headers.get('content-type'));
  }
}

// ---- Request ------------------------------------------------------------------------------------------------------

const kinds = {
  cache: ['default', 'no-store', 'reload', 'no-cache', 'force-cache', 'only-if-cached'],
  credentials: ['same-origin', 'omit', 'include'],
  mode: ['cors', 'no-cors', 'same-origin', 'navigate'],
  redirect: ['follow', 'error', 'manual'],
};

class Request extends Body {
  #method;
  #url;
  #headers;
  #signal;
  #settings;
  constructor(input, init = {}) {
    if (arguments.length === 0) throw new TypeError('Request constructor: 1 argument required, but only 0 present.');
    init ??= {};
    const from = input instanceof Request ? input : undefined;
    const method = `${init.method ?? from?.method ?? 'GET'}`;
    if (!TOKEN.test(method) || /^(connect|trace|track)$/i.test(method)) throw new TypeError(`'${method}' is not a valid HTTP method`);
    const given = init.body ?? null;
    if ((given !== null || (from !== undefined && from.body !== null)) && /^(GET|HEAD)$/i.test(method)) {
      throw new TypeError('Request with GET/HEAD method cannot have body.');
    }
    const [body, type] = given === null ? [null, null] : extract(given);
    if (given !== null && !isPlain(body) && init.duplex === undefined && isStream(body)) {
      throw new TypeError('RequestInit: duplex option is required when sending a body.');
    }
    if (given === null && from !== undefined && from.body !== null && (from.bodyUsed || from.body.locked)) {
      throw new TypeError('Cannot construct a Request with a Request object that has already been used.');
    }
    super(given === null && from !== undefined ? from.body : body);
    this.#method = /^(get|head|post|put|delete|options)$/i.test(method) ? method.toUpperCase() : method;
    if (from !== undefined) {
      this.#url = from.url;
    } else {
      const url = new (load('url').URL)(`${input}`);
      if (url.username !== '' || url.password !== '') {
        throw new TypeError(`Request cannot be constructed from a URL that includes credentials: ${input}`);
      }
      this.#url = url.href;
    }
    this.#headers = new Headers(init.headers ?? from?.headers);
    if (init.signal !== undefined && init.signal !== null && !(init.signal instanceof AbortSignal)) {
      throw new TypeError("Failed to construct 'Request': member signal is not of type AbortSignal.");
    }
    this.#signal = init.signal ?? from?.signal;
    for (const name of Object.keys(kinds)) {
      if (init[name] !== undefined && !kinds[name].includes(`${init[name]}`)) {
        throw new TypeError(`RequestInit: '${init[name]}' is no valid ${name}`);
      }
    }
    this.#settings = { init, from };
    if (type !== null && !this.#headers.has('content-type')) this.#headers.set('content-type', type);
  }
  #setting(name, fallback) {
    return this.#settings.init[name] ?? this.#settings.from?.[name] ?? fallback;
  }
  get method() { return this.#method; }
  get url() { return this.#url; }
  get headers() { return this.#headers; }
  get signal() { return this.#signal ??= new AbortController().signal; }
  get cache() { return this.#setting('cache', 'default'); }
  get credentials() { return this.#setting('credentials', 'same-origin'); }
  get destination() { return ''; }
  get duplex() { return 'half'; }
  get integrity() { return `${this.#setting('integrity', '')}`; }
  get keepalive() { return !!this.#setting('keepalive', false); }
  get mode() { return this.#setting('mode', 'cors'); }
  get redirect() { return this.#setting('redirect', 'follow'); }
  get referrer() { return `${this.#setting('referrer', 'about:client')}`; }
  get referrerPolicy() { return `${this.#setting('referrerPolicy', '')}`; }
  clone() {
    const body = Body.split(this);
    return new Request(this.#url, {
      ...this.#settings.init, method: this.#method, headers: this.#headers, signal: this.signal, body, duplex: 'half',
    });
  }
  get [Symbol.toStringTag]() { return 'Request'; }
}

// ---- Response -----------------------------------------------------------------------------------------------------

const EMPTY = new Set([101, 204, 205, 304]);
const TEXT = 'text/plain;charset=UTF-8';

class Response extends Body {
  #status;
  #statusText;
  #headers;
  #type = 'default';
  #url = '';
  #redirected = false;
  constructor(body = null, init = {}) {
    init ??= {};
    const status = init.status === undefined ? 200 : +init.status;
    if (!(Number.isInteger(status) && status >= 200 && status <= 599)) {
      throw new RangeError('init["status"] must be in the range of 200 to 599, inclusive.');
    }
    const [kept, type] = body === null || body === undefined ? [null, null] : typeof body === 'string' ? [body, TEXT] : extract(body);
    if (EMPTY.has(status) && kept !== null) {
      throw new TypeError(`Response constructor: Invalid response status code ${status}`);
    }
    super(kept);
    this.#status = status;
    this.#statusText = `${init.statusText ?? ''}`;
    if (/[^\t\x20-\x7e\x80-\xff]/.test(this.#statusText)) throw new TypeError('Invalid statusText');
    this.#headers = new Headers(init.headers);
    if (type !== null && !this.#headers.has('content-type')) this.#headers.set('content-type', type);
  }
  static json(data, init = {}) {
    const text = JSON.stringify(data);
    if (text === undefined) throw new TypeError('Value is not JSON serializable');
    const headers = new Headers(init?.headers);
    if (!headers.has('content-type')) headers.set('content-type', 'application/json');
    return new Response(text, { ...init, headers });
  }
  static redirect(url, status = 302) {
    if (![301, 302, 303, 307, 308].includes(status)) throw new RangeError(`Invalid status code ${status}`);
    const { href } = new (load('url').URL)(`${url}`);
    return new Response(null, { status, headers: { location: href } });
  }
  static error() {
    const response = new Response();
    response.#status = 0;
    response.#type = 'error';
    return response;
  }
  get status() { return this.#status; }
  get statusText() { return this.#statusText; }
  get ok() { return this.#status >= 200 && this.#status <= 299; }
  get headers() { return this.#headers; }
  get type() { return this.#type; }
  get url() { return this.#url; }
  get redirected() { return this.#redirected; }
  // For fetch: what only the network knows.
  static describe(response, { url = '', redirected = false, status = response.#status }) {
    response.#type = 'basic';
    response.#url = url;
    response.#redirected = redirected;
    response.#status = status;
    return response;
  }
  clone() {
    const body = Body.split(this);
    const copy = new Response(body, { status: this.#status || 200, statusText: this.#statusText, headers: this.#headers });
    copy.#status = this.#status;
    copy.#type = this.#type;
    copy.#url = this.#url;
    copy.#redirected = this.#redirected;
    return copy;
  }
  get [Symbol.toStringTag]() { return 'Response'; }
}

function fetch(input, init = undefined) {
  return arguments.length === 0 ? load('http_fetch_client').fetch() : load('http_fetch_client').fetch(input, init);
}

const { peek, chunks } = Body;
delete Body.peek;
delete Body.chunks;
const { describe } = Response;
delete Response.describe;

module.exports = { Headers, Request, Response, fetch, peek, chunks, describe };
