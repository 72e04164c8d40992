// SPDX-License-Identifier: MIT
// Request and Response, and fetch, whose work is done in http_fetch_client.js. A body is text, bytes, a Blob, a form, a
// ReadableStream, or an iterable of chunks (also an asynchronous one). `body` is made a stream when somebody asks for it: a server
// that answers with text never makes one.
'use strict';

const { codes } = load('errors');
const { Buffer } = load('buffer');

const { Headers, TOKEN, freeze } = load('http_fetch_headers');
const { expose } = load('idl');

// ---- bodies -------------------------------------------------------------------------------------------------------

function bytesOf(chunk) {
  if (typeof chunk === 'string') return Buffer.from(chunk);
  if (chunk instanceof Uint8Array) return chunk;
  if (ArrayBuffer.isView(chunk)) return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  if (chunk instanceof ArrayBuffer) return new Uint8Array(chunk);
  throw new codes.ERR_INVALID_ARG_TYPE('chunk', ['string', 'ArrayBuffer', 'Uint8Array'], chunk);
}
const isPlain = (value) => typeof value === 'string' || ArrayBuffer.isView(value) || value instanceof ArrayBuffer;
const isStream = (value) => value !== null && typeof value === 'object' && binding.isLoaded('stream_web') && value instanceof load('stream_web').ReadableStream;
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
  // A caller that reads or cancels the stream has used the body; the stream knows it.
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
    if (this.#used) {
      // It was read without a stream; nobody else can.
      this.#stream = new (load('stream_web').ReadableStream)();
      this.#stream.getReader();
      return this.#stream;
    }
    const chunks = this.#chunks(this.#body);
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
    if (isPlain(body)) {
      yield bytesOf(body);
    } else if (isStream(body)) {
      for await (const chunk of body) {
        if (!(chunk instanceof Uint8Array)) throw new TypeError('Received non-Uint8Array chunk');
        yield chunk;
      }
    } else {
      for await (const chunk of body) yield bytesOf(chunk);
    }
  }
  // For the server: the chunks, without a stream around them.
  static chunks(message) { return message.#chunks(message.#take()); }
  // Two bodies of one, for clone().
  static split(message) {
    if (message.bodyUsed || message.#stream?.locked) throw new TypeError('Response.clone: Body has already been consumed.');
    if (message.#body === null || (message.#stream === null && isPlain(message.#body))) return message.#body;
    const { TransformStream } = load('stream_web');
    const { structuredClone } = load('clone');
    const [one, two] = message.body.tee();
    message.#body = message.#stream = one;
    // The two share no bytes.
    return two.pipeThrough(new TransformStream({ transform: (chunk, controller) => controller.enqueue(structuredClone(chunk)) },
                                               { highWaterMark: 1 }, { highWaterMark: 0 }));
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
    const { mimeOf, writeMime } = load('mime');
    const type = mimeOf(this.headers.get('content-type'));
    return load('blob').typed(await this.bytes(), type === null ? '' : writeMime(type));
  }
  async formData() {
    return load('formdata').decodeForm(await this.bytes(), this.headers.get('content-type'));
  }
  textStream() {
    const { ReadableStream, TextDecoderStream } = load('stream_web');
    if (this.#body === null) return new ReadableStream({ start: (controller) => controller.close() });
    if (this.bodyUsed || this.#stream?.locked) throw unusable();
    const { body } = this;
    this.#used = true;
    return body.pipeThrough(new TextDecoderStream());
  }
}

// ---- Request ------------------------------------------------------------------------------------------------------

const kinds = {
  cache: ['default', 'no-store', 'reload', 'no-cache', 'force-cache', 'only-if-cached'],
  credentials: ['same-origin', 'omit', 'include'],
  mode: ['cors', 'no-cors', 'same-origin', 'navigate'],
  redirect: ['follow', 'error', 'manual'],
};

const ARRIVED = Symbol('a request that a server has received');
const NO_SETTINGS = Object.freeze({ init: Object.freeze({ __proto__: null }), from: undefined });

class Request extends Body {
  #method;
  #url;
  #headers;
  #signal;
  #settings;
  #arrived = null; // of a server: where the address, the headers and the signal come from when somebody asks for them
  constructor(input, init = {}) {
    if (input === ARRIVED) {
      super(init.body);
      this.#method = init.method;
      this.#arrived = init;
      this.#settings = NO_SETTINGS;
      return;
    }
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
  get url() { return this.#url ??= new (load('url').URL)(this.#arrived.url()).href; }
  get headers() { return this.#headers ??= this.#arrived.headers(); }
  get signal() { return this.#signal ??= this.#arrived?.signal() ?? new AbortController().signal; }
  get cache() { return this.#setting('cache', 'default'); }
  get credentials() { return this.#setting('credentials', 'same-origin'); }
  get destination() {
    void this.#method; // only of a Request
    return '';
  }
  get duplex() {
    void this.#method;
    return 'half';
  }
  get integrity() { return `${this.#setting('integrity', '')}`; }
  get keepalive() { return !!this.#setting('keepalive', false); }
  get mode() { return this.#setting('mode', 'cors'); }
  get redirect() { return this.#setting('redirect', 'follow'); }
  get referrer() { return `${this.#setting('referrer', 'about:client')}`; }
  get referrerPolicy() { return `${this.#setting('referrerPolicy', '')}`; }
  clone() {
    const body = split(this);
    return new Request(this.url, {
      ...this.#settings.init, method: this.#method, headers: this.headers, signal: this.signal, body, duplex: 'half',
    });
  }
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
    const response = new Response(null, { status, headers: { location: href } });
    freeze(response.#headers);
    return response;
  }
  static error() {
    const response = new Response();
    response.#status = 0;
    response.#type = 'error';
    freeze(response.#headers);
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
    const body = split(this);
    const copy = new Response(body, { status: this.#status || 200, statusText: this.#statusText, headers: this.#headers });
    copy.#status = this.#status;
    copy.#type = this.#type;
    copy.#url = this.#url;
    copy.#redirected = this.#redirected;
    return copy;
  }
}

// A Request of a server: { method, body, url(), headers(), signal() }. The functions are called once, and only when they are needed.
const arrived = (parts) => new Request(ARRIVED, parts);

function fetch(input, init = undefined) {
  return arguments.length === 0 ? load('http_fetch_client').fetch() : load('http_fetch_client').fetch(input, init);
}

const { peek, chunks, split } = Body;
delete Body.peek;
delete Body.chunks;
const { describe } = Response;
delete Response.describe;
delete Body.split;
// The interfaces have the methods of bodies themselves, and no class above them.
for (const Kind of [Request, Response]) {
  for (const name of Object.getOwnPropertyNames(Body.prototype)) {
    if (name !== 'constructor') Object.defineProperty(Kind.prototype, name, Object.getOwnPropertyDescriptor(Body.prototype, name));
  }
  Object.setPrototypeOf(Kind.prototype, Object.prototype);
}
expose(Request, Response);

module.exports = { Headers, Request, Response, fetch, arrived, peek, chunks, describe };
