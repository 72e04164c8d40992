// SPDX-License-Identifier: MIT
// vigil:http: serve({ port, hostname, signal }, request => response).
'use strict';

const { createServer } = load('http');
const { Headers, Request, Response, arrived, peek, chunks } = load('http_fetch');
const { eachOf, ofPairs } = load('http_fetch_headers');
const { codes, validateFunction, validateAbortSignal } = load('errors');

// The URL that the client meant. What stands in the request line may be a path or, from a proxy's client, all of it.
function urlOf(req, server) {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(req.url)) return req.url;
  const path = req.url.startsWith('/') ? req.url : '/';
  return `http://${req.headers.host ?? `${server.hostname}:${server.port}`}${path}`;
}

// What a program may ask of its Request; each is made once, when it is asked for.
class Arrived {
  #req;
  #server;
  constructor(req, server) {
    this.#req = req;
    this.#server = server;
    this.method = req.method;
    this.body = this.method !== 'GET' && this.method !== 'HEAD' ? req : null;
  }
  url() { return urlOf(this.#req, this.#server); }
  headers() { return ofPairs(this.#req.rawHeaders); }
  signal() {
    const gone = new AbortController();
    if (this.#req.aborted) gone.abort();
    else this.#req.once('aborted', () => gone.abort());
    return gone.signal;
  }
}

// Resolves when the answer has room again, or the client is gone.
function room(res) {
  return new Promise((resolve) => {
    const done = () => {
      res.off('drain', done);
      res.off('close', done);
      resolve();
    };
    res.on('drain', done);
    res.on('close', done);
  });
}

// The head, and the body if it is here as a whole. False: the rest follows.
function begin(res, response) {
  if (!(response instanceof Response)) throw new codes.ERR_INVALID_RETURN_VALUE('a Response', 'handler', response);
  if (response.bodyUsed) throw new TypeError('Body is unusable: the Response was sent or read before');
  res.statusCode = response.status;
  if (response.statusText !== '') res.statusMessage = response.statusText;
  eachOf(response.headers, (values, name) => {
    res.setHeader(name, name === 'set-cookie' ? values : values.length === 1 ? values[0] : values.join(', '));
  });
  const whole = peek(response);
  if (whole === undefined) return false;
  res.end(typeof whole === 'string' ? whole : new Uint8Array(whole.buffer ?? whole, whole.byteOffset ?? 0, whole.byteLength));
  return true;
}

async function send(res, response) {
  if (!begin(res, response)) await stream(res, response);
}
async function stream(res, response) {
  if (res.req.method === 'HEAD') {
    res.end();
    return;
  }
  // Leaving the loop ends the source, too: when the client is gone there is nobody to go on for.
  for await (const chunk of chunks(response)) {
    if (res.destroyed) return;
    if (!res.write(chunk) && !res.destroyed) await room(res);
    if (res.destroyed) return;
  }
  res.end();
}

class Server {
  #http;
  #closed;
  constructor(http, closed, hostname, port) {
    this.#http = http;
    this.#closed = closed;
    this.hostname = hostname;
    this.port = port;
  }
  get url() { return `http://${this.hostname.includes(':') ? `[${this.hostname}]` : this.hostname}:${this.port}/`; }
  // Fulfilled when the last connection is closed.
  get finished() { return this.#closed; }
  // Accept no more, answer what is under way; with true: end that as well.
  stop(now = false) {
    if (this.#http.listening) this.#http.close();
    if (now) this.#http.closeAllConnections();
    return this.#closed;
  }
  ref() {
    this.#http.ref();
    return this;
  }
  unref() {
    this.#http.unref();
    return this;
  }
  async [Symbol.asyncDispose]() {
    await this.stop();
  }
}

// Most handlers return a Response whose body is text: it is sent before this function returns.
function answer(server, options, handler, req, res) {
  // No Request has these methods.
  if (req.method === 'TRACE' || req.method === 'TRACK') {
    res.statusCode = 405;
    res.end();
    return;
  }
  let result;
  try {
    result = handler(arrived(new Arrived(req, server)), { remoteAddress: req.socket.remoteAddress, remotePort: req.socket.remotePort });
    if (result instanceof Response) {
      if (!begin(res, result)) later(options, res, stream(res, result));
      return;
    }
  } catch (error) {
    failed(options, res, error);
    return;
  }
  later(options, res, result, true);
}
async function later(options, res, result, whole = false) {
  try {
    if (whole) await send(res, await result);
    else await result;
  } catch (error) {
    await failed(options, res, error);
  }
}
// Nobody waits for this promise: it is reported as every rejection is.
async function failed(options, res, error) {
  if (res.headersSent || res.destroyed) {
    res.destroy(); // the client can only learn of it by a body that does not end
    throw error;
  }
  for (const name of res.getHeaderNames()) res.removeHeader(name);
  res.statusMessage = undefined;
  if (typeof options.onError === 'function') {
    await send(res, await options.onError(error));
    return;
  }
  res.statusCode = 500;
  res.setHeader('Content-Type', 'text/plain;charset=UTF-8');
  res.end('Internal Server Error');
  throw error;
}

function serve(options, handler) {
  if (typeof options === 'function') [options, handler] = [{}, options];
  if (options === null || typeof options !== 'object') throw new codes.ERR_INVALID_ARG_TYPE('options', 'object', options);
  validateFunction(handler, 'handler');
  const { port = 8000, hostname, signal } = options;
  if (signal !== undefined) validateAbortSignal(signal, 'options.signal');
  let server;
  let failure;
  const http = createServer((req, res) => {
    answer(server, options, handler, req, res);
  });
  const closed = new Promise((resolve) => http.once('close', resolve));
  http.listen({ port, host: hostname, onFailure: (error) => { failure = error; } });
  if (failure) throw failure;
  const address = http.address();
  server = new Server(http, closed, hostname ?? address.address, address.port);
  if (signal?.aborted) server.stop();
  else signal?.addEventListener('abort', () => server.stop(), { once: true });
  return server;
}

module.exports = { serve, Headers, Request, Response };
