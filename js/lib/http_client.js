// SPDX-License-Identifier: MIT
// http.request and its ClientRequest: a stream that waits for a connection, and gives an answer.
'use strict';

const { Writable } = load('stream');
const { Buffer } = load('buffer');
const net = load('net');
const agents = load('http_agent');
const { STATUS_CODES, TOKEN, lowerOf, checkValue, hexOf, uniqueNames } = load('http_names');
const { watch } = load('http_client_link');
const { codes, AbortError, validateAbortSignal, validateFunction } = load('errors');

const BAD_PATH = /[^\u0021-\u00ff]/;
const PLAIN_METHODS = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE', 'CONNECT']);

function urlOptions(url) {
  const { hostname, protocol, search, pathname, port, username, password, hash, href } = url;
  const options = {
    __proto__: null, ...url, protocol, hostname: hostname.startsWith('[') ? hostname.slice(1, -1) : hostname, hash, search, pathname,
    path: `${pathname || ''}${search || ''}`, href,
  };
  if (port !== '') options.port = Number(port);
  if (username || password) options.auth = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return options;
}
function checkHost(host, name) {
  if (host !== undefined && host !== null && typeof host !== 'string') {
    throw new codes.ERR_INVALID_ARG_TYPE(`options.${name}`, ['string', 'undefined', 'null'], host);
  }
  return host;
}

function ClientRequest(input, options, callback) {
  if (typeof input === 'string') {
    input = urlOptions(new (load('url').URL)(input));
  } else if (input instanceof load('url').URL) {
    input = urlOptions(input);
  } else {
    callback = options;
    options = input;
    input = null;
  }
  if (typeof options === 'function') {
    callback = options;
    options = input || {};
  } else {
    options = Object.assign(input || {}, options);
  }
  Reflect.apply(Writable, this, [{ autoDestroy: false, emitClose: false, decodeStrings: true }]);

  // ---- whom to ask
  let { agent } = options;
  const defaultAgent = options._defaultAgent || agents.globalAgent;
  if (agent === false) agent = new defaultAgent.constructor();
  else if (agent === null || agent === undefined) {
    if (typeof options.createConnection !== 'function') agent = defaultAgent;
  } else if (typeof agent.addRequest !== 'function') {
    throw new codes.ERR_INVALID_ARG_TYPE('options.agent', ['Agent-like Object', 'undefined', 'false'], agent);
  }
  this.agent = agent;
  const protocol = options.protocol || defaultAgent.protocol;
  const expected = this.agent?.protocol ?? defaultAgent.protocol;
  if (options.path && BAD_PATH.test(String(options.path))) throw new codes.ERR_UNESCAPED_CHARACTERS('Request path');
  if (protocol !== expected) throw new codes.ERR_INVALID_PROTOCOL(protocol, expected);
  const defaultPort = options.defaultPort || this.agent?.defaultPort;
  const port = options.port = options.port || defaultPort || 80;
  const host = options.host = checkHost(options.hostname, 'hostname') || checkHost(options.host, 'host') || 'localhost';
  const setHost = options.setHost !== undefined ? Boolean(options.setHost) : options.setDefaultHeaders !== false;
  this.socketPath = options.socketPath;
  if (options.timeout !== undefined) {
    if (typeof options.timeout !== 'number') throw new codes.ERR_INVALID_ARG_TYPE('timeout', 'number', options.timeout);
    this.timeout = options.timeout;
  }

  // ---- what to ask
  const { method } = options;
  if (method !== undefined && method !== null && typeof method !== 'string') throw new codes.ERR_INVALID_ARG_TYPE('options.method', 'string', method);
  if (method && !TOKEN.test(method)) throw new codes.ERR_INVALID_HTTP_TOKEN('Method', method);
  this.method = method ? method.toUpperCase() : 'GET';
  if (options.maxHeaderSize !== undefined && typeof options.maxHeaderSize !== 'number') {
    throw new codes.ERR_INVALID_ARG_TYPE('maxHeaderSize', 'number', options.maxHeaderSize);
  }
  this.maxHeaderSize = options.maxHeaderSize;
  if (options.insecureHTTPParser !== undefined && typeof options.insecureHTTPParser !== 'boolean') {
    throw new codes.ERR_INVALID_ARG_TYPE('options.insecureHTTPParser', 'boolean', options.insecureHTTPParser);
  }
  this.insecureHTTPParser = options.insecureHTTPParser;
  if (options.joinDuplicateHeaders !== undefined && typeof options.joinDuplicateHeaders !== 'boolean') {
    throw new codes.ERR_INVALID_ARG_TYPE('options.joinDuplicateHeaders', 'boolean', options.joinDuplicateHeaders);
  }
  this.joinDuplicateHeaders = options.joinDuplicateHeaders;
  this._unique = uniqueNames(options.uniqueHeaders);
  this.path = options.path || '/';
  this.host = host;
  this.protocol = protocol;
  this.res = null;
  this.aborted = this.reusedSocket = this.finished = this.upgradeOrConnect = false;
  this.timeoutCb = null;
  this.maxHeadersCount = null;
  this.socket = null;
  this.chunkedEncoding = this._closed = this._ended = this._answered = false;
  this._headers = new Map(); // lower-case name -> [name, value]
  this._raw = null; // headers that were given as a list
  this._header = null;
  this._removed = new Set();
  this._trailer = '';
  this._length = -1; // of the whole body, when it is known
  this._waiting = null; // what is to be sent when there is a connection
  this._hasBody = true;
  this.sendDate = false;
  this.useChunkedEncodingByDefault = !PLAIN_METHODS.has(this.method);
  this._last = this.agent ? !this.agent.keepAlive && !Number.isFinite(this.agent.maxSockets) : true;
  this.shouldKeepAlive = !this._last;
  if (callback) {
    validateFunction(callback, 'callback');
    this.once('response', callback);
  }
  this._fill(options, host, port, defaultPort, setHost);
  const { signal } = options;
  if (signal) {
    validateAbortSignal(signal, 'options.signal');
    const abort = () => this.destroy(new AbortError(undefined, { cause: signal.reason }));
    if (signal.aborted) process.nextTick(abort);
    else {
      signal.addEventListener('abort', abort, { once: true });
      this.once('close', () => signal.removeEventListener('abort', abort));
    }
  }
  this._connect(options);
}
Object.setPrototypeOf(ClientRequest.prototype, Writable.prototype);
Object.setPrototypeOf(ClientRequest, Writable);

// ---- its head -----------------------------------------------------------------------------------------------------

ClientRequest.prototype._fill = function (options, host, port, defaultPort, setHost) {
  const { headers } = options;
  if (Array.isArray(headers)) {
    this._raw = [];
    const flat = headers.length > 0 && Array.isArray(headers[0]) ? headers.flatMap((pair) => [pair[0], pair[1]]) : headers;
    if (flat.length % 2 !== 0) throw new codes.ERR_INVALID_ARG_VALUE('headers', headers);
    for (let i = 0; i < flat.length; i += 2) {
      lowerOf(flat[i]);
      const values = Array.isArray(flat[i + 1]) ? flat[i + 1] : [flat[i + 1]];
      for (let k = 0; k < values.length; k++) {
        checkValue(flat[i], values[k]);
        this._raw.push(flat[i], `${values[k]}`);
      }
    }
    return;
  }
  if (headers) {
    for (const name of Object.keys(headers)) this.setHeader(name, headers[name]);
  }
  if (host && !this.hasHeader('host') && setHost) {
    let text = host;
    const colon = text.indexOf(':');
    if (colon !== -1 && text.includes(':', colon + 1) && text.charCodeAt(0) !== 91) text = `[${text}]`;
    if (port && +port !== defaultPort) text += `:${port}`;
    this.setHeader('Host', text);
  }
  if (options.auth && !this.hasHeader('authorization')) {
    this.setHeader('Authorization', `Basic ${Buffer.from(options.auth).toString('base64')}`);
  }
};
ClientRequest.prototype.setHeader = function (name, value) {
  if (this._header !== null) throw new codes.ERR_HTTP_HEADERS_SENT('set');
  const key = lowerOf(name);
  const values = Array.isArray(value) ? value : [value];
  for (let i = 0; i < values.length; i++) checkValue(name, values[i]);
  this._headers.set(key, [name, value]);
  this._removed.delete(key);
  return this;
};
ClientRequest.prototype.setHeaders = function (headers) {
  if (this._header !== null) throw new codes.ERR_HTTP_HEADERS_SENT('set');
  if (!headers || Array.isArray(headers) || typeof headers.keys !== 'function' || typeof headers.get !== 'function') {
    throw new codes.ERR_INVALID_ARG_TYPE('headers', ['Headers', 'Map'], headers);
  }
  for (const [name, value] of headers) this.setHeader(name, value);
  return this;
};
ClientRequest.prototype.appendHeader = function (name, value) {
  if (this._header !== null) throw new codes.ERR_HTTP_HEADERS_SENT('append');
  const known = this._headers.get(lowerOf(name));
  return known === undefined ? this.setHeader(name, value) : this.setHeader(known[0], [].concat(known[1], value));
};
function checkName(name) {
  if (typeof name !== 'string') throw new codes.ERR_INVALID_ARG_TYPE('name', 'string', name);
  return name.toLowerCase();
}
ClientRequest.prototype.getHeader = function (name) { return this._headers.get(checkName(name))?.[1]; };
ClientRequest.prototype.hasHeader = function (name) { return this._headers.has(checkName(name)); };
ClientRequest.prototype.removeHeader = function (name) {
  const key = checkName(name);
  if (this._header !== null) throw new codes.ERR_HTTP_HEADERS_SENT('remove');
  this._headers.delete(key);
  this._removed.add(key);
};
ClientRequest.prototype.getHeaders = function () {
  const all = Object.create(null);
  this._headers.forEach((entry, key) => { all[key] = entry[1]; });
  return all;
};
ClientRequest.prototype.getHeaderNames = function () { return Array.from(this._headers.keys()); };
ClientRequest.prototype.getRawHeaderNames = function () { return Array.from(this._headers.values(), (entry) => entry[0]); };
ClientRequest.prototype.addTrailers = function (trailers) {
  const pairs = Array.isArray(trailers) ? trailers : Object.entries(trailers);
  for (let i = 0; i < pairs.length; i++) {
    const [name, given] = pairs[i];
    const key = lowerOf(name);
    const values = !Array.isArray(given) ? [given] : this._unique?.has(key) ? [given.join('; ')] : given;
    for (let k = 0; k < values.length; k++) {
      checkValue(name, values[k]);
      this._trailer += `${name}: ${values[k]}\r\n`;
    }
  }
};

// Fixes the head.
ClientRequest.prototype._implicitHeader = function () {
  if (this._header !== null) throw new codes.ERR_HTTP_HEADERS_SENT('render');
  const seen = { __proto__: null };
  let text = `${this.method} ${this.path} HTTP/1.1\r\n`;
  const add = (name, value) => {
    const key = name.toLowerCase();
    text += `${name}: ${value}\r\n`;
    seen[key] = value;
    if (key === 'connection') {
      if (/(?:^|\W)close(?:$|\W)/i.test(value)) this._last = true;
      else this.shouldKeepAlive = true;
    } else if (key === 'transfer-encoding') {
      if (/(?:^|\W)chunked(?:$|\W)/i.test(value)) this.chunkedEncoding = true;
    }
  };
  if (this._raw !== null) {
    for (let i = 0; i < this._raw.length; i += 2) add(this._raw[i], this._raw[i + 1]);
  } else {
    this._headers.forEach((entry, key) => {
      const [name, value] = entry;
      if (!Array.isArray(value)) add(name, value);
      else if (key === 'cookie' || this._unique?.has(key)) add(name, value.join('; '));
      else for (let i = 0; i < value.length; i++) add(name, value[i]);
    });
  }
  if (seen.connection === undefined) {
    if (this._removed.has('connection')) {
      this._last = !this.shouldKeepAlive;
    } else if (this.shouldKeepAlive && (seen['content-length'] !== undefined || this.useChunkedEncodingByDefault || this.agent)) {
      text += 'Connection: keep-alive\r\n';
    } else {
      this._last = true;
      text += 'Connection: close\r\n';
    }
  }
  if (seen['content-length'] === undefined && seen['transfer-encoding'] === undefined) {
    if (!this.useChunkedEncodingByDefault) {
      this._last = true;
    } else if (seen.trailer === undefined && !this._removed.has('content-length') && this._length >= 0) {
      text += `Content-Length: ${this._length}\r\n`;
    } else if (!this._removed.has('transfer-encoding')) {
      text += 'Transfer-Encoding: chunked\r\n';
      this.chunkedEncoding = true;
    }
  }
  if (this.chunkedEncoding !== true && seen.trailer !== undefined) throw new codes.ERR_HTTP_TRAILER_INVALID();
  this._header = `${text}\r\n`;
  if (seen.expect !== undefined) this._pass(Buffer.alloc(0), () => {});
};
ClientRequest.prototype.flushHeaders = function () {
  if (this._header === null) this._implicitHeader();
  this._pass(Buffer.alloc(0), () => {});
};

// ---- sending ------------------------------------------------------------------------------------------------------

// To the connection, or to what waits for one. The head goes before the first piece.
ClientRequest.prototype._pass = function (bytes, callback) {
  if (this.socket === null) {
    (this._waiting ??= []).push([bytes, callback]);
    return;
  }
  const done = callback;
  callback = (error) => {
    // The socket tells of its end; the stream need not do it once more.
    if (error) this._writableState.destroyed = true;
    done(error);
  };
  let head;
  if (!this.headersSent) {
    this.headersSent = true;
    head = Buffer.from(this._header, 'latin1');
  }
  if (this.destroyed || this.socket.destroyed) {
    callback(new codes.ERR_STREAM_DESTROYED('write'));
    return;
  }
  if (head !== undefined && bytes.length > 0) this.socket.write(Buffer.concat([head, bytes]), callback);
  else if (head !== undefined) this.socket.write(head, callback);
  else if (bytes.length > 0) this.socket.write(bytes, callback);
  else callback();
};
ClientRequest.prototype.headersSent = false;
const END = Buffer.from('\r\n');
function framed(request, bytes) {
  if (!request.chunkedEncoding || bytes.length === 0) return bytes;
  return Buffer.concat([Buffer.from(`${hexOf(bytes.length)}\r\n`), bytes, END]);
}
ClientRequest.prototype._write = function (chunk, encoding, callback) {
  if (this._header === null) this._implicitHeader();
  this._pass(framed(this, chunk), callback);
};
ClientRequest.prototype._writev = function (chunks, callback) {
  if (this._header === null) this._implicitHeader();
  this._pass(Buffer.concat(chunks.map(({ chunk }) => framed(this, chunk))), callback);
};
ClientRequest.prototype._final = function (callback) {
  if (this._header === null) {
    this._length = 0;
    this._implicitHeader();
  }
  this._pass(this.chunkedEncoding ? Buffer.from(`0\r\n${this._trailer}\r\n`, 'latin1') : Buffer.alloc(0), callback);
};
ClientRequest.prototype.write = function (chunk, encoding, callback) {
  if (this.finished && !this.destroyed) {
    const error = new codes.ERR_STREAM_WRITE_AFTER_END();
    const done = typeof encoding === 'function' ? encoding : callback;
    process.nextTick(() => {
      this.emit('error', error);
      done?.(error);
    });
    return false;
  }
  return Reflect.apply(Writable.prototype.write, this, [chunk, encoding, callback]);
};
ClientRequest.prototype.end = function (chunk, encoding, callback) {
  if (typeof chunk === 'function') {
    callback = chunk;
    chunk = undefined;
  } else if (typeof encoding === 'function') {
    callback = encoding;
    encoding = undefined;
  }
  // The whole of it is here: its length need not be guessed.
  if (this._header === null && chunk !== undefined && chunk !== null && !this.destroyed) {
    if (typeof chunk !== 'string' && !(chunk instanceof Uint8Array)) {
      throw new codes.ERR_INVALID_ARG_TYPE('chunk', ['string', 'Buffer', 'Uint8Array'], chunk);
    }
    if (this.writableLength === 0) this._length = typeof chunk === 'string' ? Buffer.byteLength(chunk, encoding) : chunk.length;
  }
  this.finished = true;
  if (chunk !== undefined && chunk !== null && chunk.length === 0) chunk = undefined;
  Reflect.apply(Writable.prototype.end, this, [chunk, encoding, callback]);
  return this;
};

// ---- the connection -----------------------------------------------------------------------------------------------

ClientRequest.prototype._connect = function (options) {
  if (this._raw !== null || this.hasHeader('expect')) this._implicitHeader();
  if (this.agent) {
    this.agent.addRequest(this, options);
    return;
  }
  this._last = true;
  this.shouldKeepAlive = false;
  let called = false;
  const created = (error, socket) => {
    if (called) return;
    called = true;
    if (error) process.nextTick(() => { this._fail(error); });
    else this.onSocket(socket);
  };
  // The signal is the request's.
  const wanted = { ...options, path: options.socketPath || undefined, signal: undefined };
  const socket = typeof options.createConnection === 'function' ? options.createConnection(wanted, created) : net.createConnection(wanted);
  if (socket) created(null, socket);
};
ClientRequest.prototype.onSocket = function (socket, error) {
  process.nextTick(() => {
    if (error) {
      this.destroyed = true;
      this._fail(error);
      return;
    }
    if (this._gone) {
      // It was given up before it had a connection; that one may serve another request.
      if (this.agent && !socket.destroyed && this.agent.keepAlive && !this._gone.error) socket.emit('free');
      else socket.destroy(); // the request has told of its error
      return;
    }
    watch(this, socket);
    if (this.timeout !== undefined || this.agent?.options?.timeout) this._hearTimeout();
    this.emit('socket', socket);
    this._applyTimeout();
    const waiting = this._waiting;
    this._waiting = null;
    for (let i = 0; waiting !== null && i < waiting.length; i++) this._pass(waiting[i][0], waiting[i][1]);
  });
};

// ---- its end ------------------------------------------------------------------------------------------------------

function hangUp(text = 'socket hang up') {
  return Object.assign(new Error(text), { code: 'ECONNRESET' });
}
ClientRequest.prototype._fail = function (error) {
  this.destroyed = true;
  if (error) this.emit('error', error);
  this._close();
};
ClientRequest.prototype._close = function () {
  if (this._closed) return;
  this._closed = this.destroyed = true;
  this.emit('close');
};
ClientRequest.prototype.abort = function () {
  if (this.aborted) return;
  this.aborted = true;
  process.nextTick(() => this.emit('abort'));
  this.destroy();
};
ClientRequest.prototype.destroy = function (error) {
  if (this.destroyed) return this;
  this.destroyed = true;
  this.res?._dump();
  this._error = error;
  if (this.socket !== null) {
    // The socket's end is the request's.
    this.socket.destroy(error);
    return this;
  }
  const shown = error ?? hangUp();
  this._gone = { error }; // as in Node it stays in the agent's list until its turn would come
  process.nextTick(() => {
    // A request that was aborted before it had a socket has no error to tell.
    if (error || !this.aborted) this.emit('error', shown);
    this._close();
  });
  return this;
};

// ---- the rest -----------------------------------------------------------------------------------------------------

// Both classes have these as own accessors of the stream: a request's state is its own.
for (const name of ['destroyed', 'errored', 'closed']) {
  const slot = Symbol(name);
  Object.defineProperty(ClientRequest.prototype, name, {
    configurable: true, enumerable: true,
    get: name === 'closed' ? function () { return this._closed === true; } : name === 'errored' ? function () { return this._error ?? null; }
      : function () { return this[slot] === true; },
    set(value) { this[slot] = value; },
  });
}
// As in Node: also when it has ended.
Object.defineProperty(ClientRequest.prototype, 'writable', { get() { return true; }, set() {}, configurable: true, enumerable: true });
Object.defineProperty(ClientRequest.prototype, 'connection', { get() { return this.socket; }, configurable: true });
Object.defineProperty(ClientRequest.prototype, 'writableFinished', {
  configurable: true, get() { return this._writableState.finished; },
});

ClientRequest.prototype.setTimeout = function (msecs, callback) {
  if (this._ended) return this;
  if (typeof msecs !== 'number') throw new codes.ERR_INVALID_ARG_TYPE('msecs', 'number', msecs);
  if (!(msecs >= 0 && Number.isFinite(msecs))) throw new codes.ERR_OUT_OF_RANGE('msecs', 'a non-negative finite number', msecs);
  if (callback !== undefined) {
    validateFunction(callback, 'callback');
    this.once('timeout', callback);
  }
  if (msecs > LONGEST) {
    process.emitWarning(`${msecs} does not fit into a 32-bit signed integer.\nTimer duration was truncated to ${LONGEST}.`, 'TimeoutOverflowWarning');
    msecs = LONGEST;
  }
  this._patience = msecs;
  if (this.socket !== null) this._hearTimeout();
  this._applyTimeout();
  return this;
};
const LONGEST = 2 ** 31 - 1; // milliseconds
ClientRequest.prototype._hearTimeout = function () {
  if (this.timeoutCb !== null) return;
  this.timeoutCb = () => this.emit('timeout');
  this.socket.once('timeout', this.timeoutCb);
};
// The socket's time, if the program has set one; while it connects it does not count.
ClientRequest.prototype._applyTimeout = function () {
  const { socket } = this;
  if (socket === null || this._patience === undefined) return;
  this._hearTimeout();
  // Any stream may stand in for a socket; not all of them have timeouts.
  if (socket.connecting) socket.once('connect', () => { if (this.socket === socket && !this._ended) socket.setTimeout(this._patience); });
  else socket.setTimeout?.(this._patience);
};
const forward = (name, method) => {
  ClientRequest.prototype[name] = function (...args) {
    const apply = () => {
      if (this.socket.connecting) this.socket.once('connect', () => this.socket[method](...args));
      else this.socket[method](...args);
    };
    if (this.socket !== null) apply();
    else this.once('socket', apply);
  };
};
forward('setNoDelay', 'setNoDelay');
forward('setSocketKeepAlive', 'setKeepAlive');
ClientRequest.prototype[Symbol.for('nodejs.rejection')] = function (error) { this.destroy(error); };
ClientRequest.prototype.clearTimeout = function (callback) { this.setTimeout(0, callback); };

function request(url, options, callback) {
  return new ClientRequest(url, options, callback);
}
function get(url, options, callback) {
  const made = request(url, options, callback);
  made.end();
  return made;
}

module.exports = { ClientRequest, request, get, hangUp, urlOptions, STATUS_CODES };
