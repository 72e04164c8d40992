// SPDX-License-Identifier: MIT
// The servers of node:net.
'use strict';

const EventEmitter = load('events');
const net = load('net');
const { Handle, native, adopt, placeError } = load('net_link');
const { checkPort } = net[Symbol.for('vigil.host')];
const { codes, validateAbortSignal, validateString } = load('errors');

const servers = new Set(); // those that listen

// vigil_js_shutdown: nobody is let in any more.
const host = process[Symbol.for('vigil.host')];
const before = host.closeServers;
host.closeServers = () => {
  before?.();
  servers.forEach((server) => server.close());
};

function Server(options, listener) {
  if (!(this instanceof Server)) return new Server(options, listener);
  Reflect.apply(EventEmitter, this, []);
  if (typeof options === 'function') {
    listener = options;
    options = {};
  } else if (options === undefined || options === null) {
    options = {};
  } else if (typeof options !== 'object') {
    throw new codes.ERR_INVALID_ARG_TYPE('options', 'Object', options);
  } else {
    options = { ...options };
  }
  if (listener !== undefined && typeof listener === 'function') this.on('connection', listener);
  if (options.keepAliveInitialDelay !== undefined && typeof options.keepAliveInitialDelay !== 'number') {
    throw new codes.ERR_INVALID_ARG_TYPE('options.keepAliveInitialDelay', 'number', options.keepAliveInitialDelay);
  }
  if (options.highWaterMark !== undefined && typeof options.highWaterMark !== 'number') {
    throw new codes.ERR_INVALID_ARG_TYPE('options.highWaterMark', 'number', options.highWaterMark);
  }
  this._connections = 0;
  this._handle = null;
  this._unref = false;
  this._pipeName = undefined;
  this.allowHalfOpen = options.allowHalfOpen || false;
  this.pauseOnConnect = !!options.pauseOnConnect;
  this.noDelay = Boolean(options.noDelay);
  this.keepAlive = Boolean(options.keepAlive);
  this.keepAliveInitialDelay = ~~((options.keepAliveInitialDelay ?? 0) / 1000);
  this.highWaterMark = options.highWaterMark;
  this.blockList = options.blockList;
}
Object.setPrototypeOf(Server.prototype, EventEmitter.prototype);
Object.setPrototypeOf(Server, EventEmitter);

// ---- listening ----------------------------------------------------------------------------------------------------

Server.prototype.listen = function (...args) {
  let [options, callback] = net._normalizeArgs(args);
  if (this._handle !== null || this._looking) throw new codes.ERR_SERVER_ALREADY_LISTEN();
  if (callback !== null) this.once('listening', callback);
  const backlog = options.backlog || (typeof args[1] === 'number' ? args[1] : typeof args[2] === 'number' ? args[2] : undefined) || 511;
  if (typeof options.fd === 'number' && options.fd >= 0) {
    const handle = adopt(options.fd, true);
    begun(this, typeof handle === 'number' ? handle : handle.id, handle, options, undefined, undefined, options.fd);
    return this;
  }
  // listen(), listen(callback) and listen(null): any port.
  if (args.length === 0 || typeof args[0] === 'function' || ((options.port === undefined || options.port === null) && 'port' in options)) {
    options = { ...options, port: 0 };
  }
  if (options.signal !== undefined) validateAbortSignal(options.signal, 'options.signal');
  if (typeof options.port === 'number' || typeof options.port === 'string') {
    const port = checkPort(options.port, 'options.port');
    if (options.host) lookupAndListen(this, options, port, backlog);
    else listenAt(this, options, undefined, port, backlog);
    return this;
  }
  if (options.path && net._normalizeArgs([options.path])[0].path !== undefined) {
    listenAt(this, options, options.path, undefined, backlog);
    return this;
  }
  if (!('port' in options || 'path' in options)) {
    throw new codes.ERR_INVALID_ARG_VALUE('options', options, 'must have the property "port" or "path"');
  }
  throw new codes.ERR_INVALID_ARG_VALUE('options', options);
};

function lookupAndListen(server, options, port, backlog) {
  validateString(options.host, 'options.host');
  if (net.isIP(options.host) !== 0) {
    listenAt(server, options, options.host, port, backlog);
    return;
  }
  server._looking = true;
  load('dns').lookup(options.host, (error, address) => {
    if (!server._looking) return;
    server._looking = false;
    if (error) server.emit('error', error);
    else listenAt(server, options, address, port, backlog);
  });
}
function listenAt(server, options, address, port, backlog) {
  const { reusePort = false, ipv6Only = false } = options;
  let id;
  server._connectionKey = `${address === undefined ? 6 : port === undefined ? -1 : net.isIP(address)}:${address ?? '::'}:${port ?? -1}`;
  if (address === undefined) {
    address = '::';
    id = native.listen(address, port, backlog, ipv6Only, reusePort);
    // A machine without IPv6.
    if (id === -97 || id === -99) id = native.listen(address = '0.0.0.0', port, backlog, false, reusePort);
  } else {
    id = native.listen(address, port, backlog, ipv6Only, reusePort);
  }
  begun(server, id, id < 0 ? null : new Handle(id), options, address, port);
}
function begun(server, id, handle, options, address, port, fd) {
  if (id < 0) {
    const error = placeError(id, 'listen', address, port, true);
    if (port === undefined && fd === undefined) error.port = -1;
    if (fd !== undefined) error.fd = fd;
    process.nextTick(() => server.emit('error', error));
    return;
  }
  server._handle = handle;
  servers.add(server);
  if (port === undefined && fd === undefined) {
    server._pipeName = address;
    if (options.readableAll || options.writableAll) load('fs').chmodSync(address, 0o600 | (options.readableAll ? 0o444 : 0) | (options.writableAll ? 0o222 : 0));
  }
  if (server._unref) handle.unref();
  handle.onAccept = (link) => accepted(server, link);
  const { signal } = options;
  if (signal !== undefined) {
    const abort = () => server.close();
    if (signal.aborted) process.nextTick(abort);
    else {
      signal.addEventListener('abort', abort, { once: true });
      server.once('close', () => signal.removeEventListener('abort', abort));
    }
  }
  process.nextTick(() => {
    if (server._handle !== null) server.emit('listening');
  });
}

function accepted(server, link) {
  const drop = () => {
    const local = link.local();
    const remote = link.remote();
    link.close();
    server.emit('drop', local === undefined ? undefined : {
      localAddress: local[0], localPort: local[2], localFamily: local[1],
      remoteAddress: remote?.[0], remotePort: remote?.[2], remoteFamily: remote?.[1],
    });
  };
  if (server.maxConnections !== undefined && server.maxConnections !== null && server._connections >= server.maxConnections) {
    drop();
    return;
  }
  if (server.blockList !== undefined) {
    const remote = link.remote();
    if (remote !== undefined && server.blockList.check(remote[0], remote[1] === 'IPv6' ? 'ipv6' : 'ipv4')) {
      link.close();
      return;
    }
  }
  const socket = new net.Socket({
    handle: link, allowHalfOpen: server.allowHalfOpen, pauseOnCreate: server.pauseOnConnect, readable: true, writable: true,
    readableHighWaterMark: server.highWaterMark, writableHighWaterMark: server.highWaterMark,
    noDelay: server.noDelay, keepAlive: server.keepAlive, keepAliveInitialDelay: server.keepAliveInitialDelay * 1000,
  });
  server._connections++;
  socket.server = socket._server = server;
  binding.publish('net.server.socket', { socket });
  server.emit('connection', socket);
}

// ---- the rest -----------------------------------------------------------------------------------------------------

Object.defineProperty(Server.prototype, 'listening', {
  configurable: true, enumerable: true, get() { return this._handle !== null; },
});
Server.prototype.address = function () {
  if (this._handle === null) return null;
  if (this._pipeName !== undefined) return this._pipeName;
  const found = this._handle.local();
  return found === undefined ? null : { address: found[0], family: found[1], port: found[2] };
};
Server.prototype.getConnections = function (callback) {
  process.nextTick(callback, null, this._connections);
  return this;
};
Server.prototype.ref = function () {
  this._unref = false;
  this._handle?.ref();
  return this;
};
Server.prototype.unref = function () {
  this._unref = true;
  this._handle?.unref();
  return this;
};
Server.prototype.close = function (callback) {
  if (typeof callback === 'function') {
    if (this._handle === null && !this._looking) {
      this.once('close', () => callback(new codes.ERR_SERVER_NOT_RUNNING()));
    } else {
      this.once('close', callback);
    }
  }
  this._looking = false;
  if (this._handle !== null) {
    servers.delete(this);
    this._handle.close();
    this._handle = null;
    this._pipeName = undefined;
  }
  this._emitCloseIfDrained();
  return this;
};
Server.prototype._emitCloseIfDrained = function () {
  if (this._handle !== null || this._connections > 0) return;
  process.nextTick(() => {
    if (this._handle === null && this._connections === 0) this.emit('close');
  });
};
Server.prototype[Symbol.asyncDispose] = function () {
  if (this._handle === null) return Promise.resolve();
  return new Promise((resolve, reject) => this.close((error) => (error ? reject(error) : resolve())));
};
Server.prototype[EventEmitter.captureRejectionSymbol] = function (error, event, socket) {
  if (event === 'connection') socket.destroy(error);
  else this.emit('error', error);
};

module.exports = { Server, createServer: (options, listener) => new Server(options, listener) };
