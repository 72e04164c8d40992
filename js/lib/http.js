// SPDX-License-Identifier: MIT
// node:http: the server. The client is in http_client.js, and is loaded when a program asks for it.
'use strict';

const EventEmitter = load('events');
const { native, servers, CONTINUE, EXPECTS, NO_HOST, UPGRADE, LAST, SHUT } = load('http_link');
const { IncomingMessage } = load('http_incoming');
const { socketOf, watch } = load('http_socket');
const { OutgoingMessage, ServerResponse } = load('http_outgoing');
const { STATUS_CODES, uniqueNames, parseError, validateHeaderName, validateHeaderValue } = load('http_names');
const { codes, validateFunction } = load('errors');
const { fromBytes } = load('buffer');

const MAX_HEADER = 16384;

function checkTime(value, name) {
  if (typeof value !== 'number') throw new codes.ERR_INVALID_ARG_TYPE(name, 'number', value);
  if (!(value >= 0 && value <= 2 ** 31 - 1)) throw new codes.ERR_OUT_OF_RANGE(name, '>= 0 && <= 2147483647', value);
  return value;
}

function listenError(number, host, port, path) {
  if (path === undefined && number === -2) {
    const error = new Error(`getaddrinfo ENOTFOUND ${host}`);
    return Object.assign(error, { errno: -3008, code: 'ENOTFOUND', syscall: 'getaddrinfo', hostname: host });
  }
  const names = binding.errorName(-number);
  const code = names[0];
  const text = names[1];
  const place = path ?? `${host ?? '::'}:${port}`;
  const error = new Error(`listen ${code}: ${text} ${place}`);
  Object.assign(error, { code, errno: number, syscall: 'listen', address: path ?? host ?? '::' });
  if (path === undefined) error.port = port;
  return error;
}

// vigil_js_shutdown: nobody is let in any more; requests that are here get their answers.
process[Symbol.for('vigil.host')].closeServers = () => {
  for (let id = 0; id < servers.length; id++) {
    if (servers[id]?.listening) servers[id].close();
  }
};

// An emitter, or one that is made of an object that is there already: `http.Server.call(this)` of classes in the old style.
function Root(target) {
  const self = target ?? this;
  Reflect.apply(EventEmitter, self, []);
  return self;
}
Root.prototype = EventEmitter.prototype;

class Server extends Root {
  #id = -1;
  #path;
  #links = new Set();
  #refed = true;
  #closing = false;
  #times = { headersTimeout: 60000, requestTimeout: 300000, keepAliveTimeout: 5000 };
  #maxHeaderSize = MAX_HEADER;
  #halfOpen = false;
  #captures = EventEmitter.captureRejections === true;
  #host = -1; // where guests are

  constructor(options, handler, target) {
    super(target);
    if (typeof options === 'function') {
      handler = options;
      options = {};
    }
    options ??= {};
    if (typeof options !== 'object' || Array.isArray(options)) throw new codes.ERR_INVALID_ARG_TYPE('options', 'object', options);
    if (options.requestTimeout !== undefined) this.#times.requestTimeout = checkTime(options.requestTimeout, 'requestTimeout');
    // As in Node: the head is never given more time than the whole.
    if (options.headersTimeout !== undefined) this.#times.headersTimeout = checkTime(options.headersTimeout, 'headersTimeout');
    else if (this.#times.requestTimeout > 0) this.#times.headersTimeout = Math.min(60000, this.#times.requestTimeout);
    if (this.#times.requestTimeout > 0 && this.#times.headersTimeout > this.#times.requestTimeout) {
      throw new codes.ERR_OUT_OF_RANGE('headersTimeout', '<= requestTimeout', options.headersTimeout);
    }
    if (options.keepAliveTimeout !== undefined) this.#times.keepAliveTimeout = checkTime(options.keepAliveTimeout, 'keepAliveTimeout');
    if (options.maxHeaderSize !== undefined) this.#maxHeaderSize = checkTime(options.maxHeaderSize, 'maxHeaderSize');
    this.joinDuplicateHeaders = options.joinDuplicateHeaders === true;
    this.rejectNonStandardBodyWrites = options.rejectNonStandardBodyWrites === true;
    this.uniqueHeaders = uniqueNames(options.uniqueHeaders);
    this.requireHostHeader = options.requireHostHeader ?? true;
    this.IncomingMessage = options.IncomingMessage ?? IncomingMessage;
    this.ServerResponse = options.ServerResponse ?? ServerResponse;
    this.timeout = 0;
    this.maxRequestsPerSocket = 0;
    this.maxHeadersCount = null;
    this.noDelay = options.noDelay ?? true;
    this.keepAlive = options.keepAlive ?? false;
    this.keepAliveInitialDelay = options.keepAliveInitialDelay ?? 0;
    this.keepAliveLine = '';
    this.ending = false;
    this.listening = false;
    if (handler) this.on('request', handler);
    this.#configure();
  }

  // ---- options that C reads
  #configure() {
    const seconds = Math.floor(this.#times.keepAliveTimeout / 1000);
    this.keepAliveLine = `Connection: keep-alive\r\n${this.#times.keepAliveTimeout > 0 ? `Keep-Alive: timeout=${seconds}\r\n` : ''}`;
    for (const id of this.#host >= 0 ? [this.#id, this.#host] : [this.#id]) {
      if (id < 0) continue;
      native.configure(id, this.#times.headersTimeout, this.#times.requestTimeout, this.#times.keepAliveTimeout,
        this.#maxHeaderSize, this.#halfOpen, this.listenerCount('upgrade') > 0, this.listenerCount('connect') > 0);
    }
  }
  configure() { this.#configure(); }
  // How long a connection may be silent before 'timeout'; 0: as long as it likes. For connections that come later.
  setTimeout(msecs, callback) {
    this.timeout = msecs;
    if (callback) this.on('timeout', callback);
    return this;
  }
  get headersTimeout() { return this.#times.headersTimeout; }
  set headersTimeout(value) { this.#times.headersTimeout = checkTime(value, 'headersTimeout'); this.#configure(); }
  get requestTimeout() { return this.#times.requestTimeout; }
  set requestTimeout(value) { this.#times.requestTimeout = checkTime(value, 'requestTimeout'); this.#configure(); }
  get keepAliveTimeout() { return this.#times.keepAliveTimeout; }
  set keepAliveTimeout(value) { this.#times.keepAliveTimeout = checkTime(value, 'keepAliveTimeout'); this.#configure(); }
  get maxHeaderSize() { return this.#maxHeaderSize; }
  // A client that sends no more may still read, or be gone. False: it is taken for gone when it was sent nothing for two seconds.
  get httpAllowHalfOpen() { return this.#halfOpen; }
  set httpAllowHalfOpen(value) { this.#halfOpen = !!value; this.#configure(); }

  // ---- listening
  // listen(port, host, backlog, callback), listen(path, ...), listen({ port, host, path, backlog, signal }, callback)
  listen(...args) {
    const callback = typeof args[args.length - 1] === 'function' ? args.pop() : undefined;
    let [port, host, backlog] = args;
    let path, signal, onFailure; // the last one is for vigil:http, which throws
    if (port !== null && typeof port === 'object') {
      ({ port, host, path, backlog, signal, onFailure } = port);
      if (port === undefined && path === undefined) {
        throw new codes.ERR_INVALID_ARG_VALUE('options', args[0], 'must have the property "port" or "path"');
      }
    } else if (typeof port === 'string' && !/^\s*\d+\s*$/.test(port)) {
      path = port;
      backlog = host;
    } else if (typeof host === 'number') {
      backlog = host;
      host = undefined;
    }
    if (this.#id >= 0) throw new codes.ERR_SERVER_ALREADY_LISTEN();
    if (path === undefined) {
      const number = port === undefined || port === null ? 0 : port;
      if ((typeof number !== 'number' && typeof number !== 'string') || `${number}`.trim() === '' ||
          !(+number >= 0 && +number < 65536) || +number !== (+number >>> 0)) {
        throw new codes.ERR_SOCKET_BAD_PORT('options.port', port);
      }
      port = +number;
    }
    if (host !== undefined && host !== null && typeof host !== 'string') {
      throw new codes.ERR_INVALID_ARG_TYPE('options.host', 'string', host);
    }
    if (callback !== undefined) this.once('listening', callback);
    const id = native.listen(host || undefined, port ?? 0, path, backlog > 0 ? backlog : 511);
    if (id < 0) {
      const error = listenError(id, host || undefined, port, path);
      if (onFailure !== undefined) {
        onFailure(error);
        return this;
      }
      process.nextTick(() => this.emit('error', error));
      return this;
    }
    this.#id = id;
    this.#path = path;
    this.#closing = this.ending = false;
    this.listening = true;
    servers[id] = this;
    this.#configure();
    if (!this.#refed) native.refer(id, false);
    signal?.addEventListener('abort', () => this.close(), { once: true });
    process.nextTick(() => {
      if (this.listening) this.emit('listening');
    });
    if (signal?.aborted) this.close();
    return this;
  }
  address() {
    if (this.#id < 0) return null;
    if (this.#path !== undefined) return this.#path;
    const found = native.serverAddress(this.#id);
    return { address: found[0], family: found[1], port: found[2] };
  }
  ref() {
    this.#refed = true;
    if (this.#id >= 0) native.refer(this.#id, true);
    return this;
  }
  unref() {
    this.#refed = false;
    if (this.#id >= 0) native.refer(this.#id, false);
    return this;
  }
  getConnections(callback) {
    validateFunction(callback, 'callback');
    process.nextTick(callback, null, this.#links.size);
    return this;
  }

  // ---- the end
  close(callback) {
    if (typeof callback === 'function') {
      if (this.#id < 0) this.once('close', () => callback(new codes.ERR_SERVER_NOT_RUNNING()));
      else this.once('close', callback);
    }
    if (this.#id >= 0) {
      native.closeServer(this.#id);
      this.#id = -1;
      this.listening = false;
      this.#closing = this.ending = true;
      this.closeIdleConnections();
    }
    if (this.#host >= 0) {
      native.closeServer(this.#host);
      this.#host = -1;
      this.closeIdleConnections();
    }
    this.#closedIfDone(true);
    return this;
  }
  #closedIfDone(asked) {
    if (this.#id >= 0 || this.#links.size > 0 || !(asked || this.#closing)) return;
    this.#closing = false;
    process.nextTick(() => this.emit('close'));
  }
  closeAllConnections() {
    this.#links.forEach((link) => native.destroy(link.id));
  }
  closeIdleConnections() {
    this.#links.forEach((link) => {
      if (native.idle(link.id)) native.destroy(link.id);
    });
  }
  // events.captureRejections: a handler that fails has an answer all the same.
  [Symbol.for('nodejs.rejection')](error, type, ...args) {
    if (type !== 'request') {
      this.emit('error', error);
      return;
    }
    const res = args[1];
    if (res.headersSent || res.writableEnded) {
      res.destroy();
      return;
    }
    for (const name of res.getHeaderNames()) res.removeHeader(name);
    res.statusCode = 500;
    res.end(STATUS_CODES[500]);
  }
  async [Symbol.asyncDispose]() {
    if (this.listening) await new Promise((resolve) => this.close(resolve));
  }

  // Whether somebody waits for another protocol is C's matter.
  on(type, listener) {
    super.on(type, listener);
    if (type === 'upgrade' || type === 'connect') this.#configure();
    return this;
  }
  addListener(type, listener) { return this.on(type, listener); }
  removeListener(type, listener) {
    super.removeListener(type, listener);
    if (type === 'upgrade' || type === 'connect') this.#configure();
    return this;
  }
  off(type, listener) { return this.removeListener(type, listener); }

  // ---- guests
  // server.emit('connection', stream): the stream becomes a connection.
  emit(type, ...args) {
    if (type === 'connection' && typeof args[0]?.pipe === 'function') this.receive(args[0]);
    return super.emit(type, ...args);
  }
  receive(stream) {
    if (this.#host < 0) {
      this.#host = native.host();
      if (this.#host < 0) {
        stream.destroy();
        return;
      }
      this.#configure();
    }
    const link = load('http_guest').join(this, this.#host, stream);
    if (link === undefined) return;
    this.#links.add(link);
    if (this.timeout > 0) watch(link);
  }

  // ---- what http_link.js calls
  opened(link) {
    this.#links.add(link);
    if (this.timeout > 0) watch(link);
    if (!this.noDelay) socketOf(link).setNoDelay(false);
    if (this.keepAlive) socketOf(link).setKeepAlive(true);
    if (this.listenerCount('connection') > 0) this.emit('connection', socketOf(link));
  }
  requested(link, flags, method) {
    if ((flags & UPGRADE) !== 0) {
      load('http_guest').take(this, link, new this.IncomingMessage(link, flags, method));
      return;
    }
    const req = link.req = new this.IncomingMessage(link, flags, method);
    const res = link.res = new this.ServerResponse(req, flags);
    if (binding.isLoaded('diagnostics_channel')) {
      binding.publish('http.server.request.start', { request: req, response: res, socket: req.socket, server: this });
    }
    if (this.maxRequestsPerSocket > 0 && ++link.requests > this.maxRequestsPerSocket) {
      this.emit('dropRequest', req, socketOf(link));
      res.writeHead(503);
      res.end();
      return;
    }
    if ((flags & (CONTINUE | EXPECTS | NO_HOST)) !== 0 && this.#answered(req, res, flags)) return;
    // What emit would do, without its list of arguments, in the case that is nearly every one.
    const handler = this._events.request;
    if (typeof handler === 'function' && this.emit === emit && !this.#captures) handler.call(this, req, res);
    else this.emit('request', req, res);
  }
  // Requests that are answered before the program's handler sees them.
  #answered(req, res, flags) {
    if ((flags & NO_HOST) !== 0 && this.requireHostHeader) {
      res.writeHead(400, ['Connection', 'close']);
      res.end();
      return true;
    }
    if ((flags & CONTINUE) !== 0) {
      if (this.listenerCount('checkContinue') > 0) return this.emit('checkContinue', req, res);
      res.writeContinue();
      return false;
    }
    if ((flags & EXPECTS) === 0) return false;
    if (this.listenerCount('checkExpectation') > 0) return this.emit('checkExpectation', req, res);
    res.writeHead(417);
    res.end();
    return true;
  }
  closed(link, error) {
    const { req, res, socket } = link;
    clearTimeout(link.timer);
    this.#links.delete(link);
    link.req = link.res = null;
    if (res !== null && !res.writableFinished) {
      // In order, after all of the answer: the kernel has it.
      if (res.finished && error === 0 && !(socket?.destroyed)) {
        res._finish();
      } else {
        req._abort();
        process.nextTick(() => res._close());
      }
    }
    if (socket !== null && link.guest === undefined) {
      socket.destroyed = true;
      socket.readable = socket.writable = false;
      process.nextTick(() => socket.emit('close', error !== 0));
    }
    this.#closedIfDone(false);
  }
  faulty(link, status, fault) {
    const code = fault[0];
    const text = fault[1];
    const timeout = code === 'ERR_HTTP_REQUEST_TIMEOUT';
    const heard = this.listenerCount('clientError') > 0;
    if (heard || (link.socket !== null && link.guest === undefined)) {
      const error = timeout ? Object.assign(new Error(text), { code }) : parseError(code, text, fault[2], fromBytes(fault[3]));
      if (heard) {
        this.emit('clientError', error, socketOf(link));
        if (link.id >= 0) native.told(link.id);
        return;
      }
      process.nextTick(() => link.socket.tell(error));
    }
    if (link.res !== null && !link.res.writableFinished && link.res.headersSent) {
      native.destroy(link.id);
      return;
    }
    native.send(link.id, LAST | SHUT, `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\n\r\n`);
  }
}

const { emit } = Server.prototype;

// The class with or without `new`, as old programs have it.
function AnyServer(options, handler) {
  if (new.target === undefined && this instanceof AnyServer) return new Server(options, handler, this);
  return Reflect.construct(Server, [options, handler], new.target ?? AnyServer);
}
Object.defineProperty(AnyServer, 'name', { value: 'Server' });
AnyServer.prototype = Server.prototype;
Object.setPrototypeOf(AnyServer, EventEmitter);
Object.defineProperty(Server.prototype, 'constructor', { value: AnyServer, writable: true, configurable: true });

function createServer(options, handler) {
  return new AnyServer(options, handler);
}

module.exports = {
  METHODS: native.methods.filter((name) => name !== undefined).sort(),
  STATUS_CODES,
  IncomingMessage,
  OutgoingMessage,
  Server: AnyServer,
  ServerResponse,
  createServer,
  get: (url, options, callback) => load('http_client').get(url, options, callback),
  maxHeaderSize: MAX_HEADER,
  request: (url, options, callback) => load('http_client').request(url, options, callback),
  get Agent() { return load('http_agent').Agent; },
  get ClientRequest() { return load('http_client').ClientRequest; },
  get globalAgent() { return load('http_agent').globalAgent; },
  set globalAgent(agent) { load('http_agent').globalAgent = agent; },
  validateHeaderName,
  validateHeaderValue,
};
