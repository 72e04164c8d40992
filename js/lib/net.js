// SPDX-License-Identifier: MIT
// node:net: sockets as streams, in Node's form. Servers are in net_server.js.
'use strict';

const { Duplex } = load('stream');
const { Handle, native, adopt, errnoError, placeError } = load('net_link');
const { Buffer } = load('buffer');
const { codes, AbortError, validateFunction, validateAbortSignal, validateString } = load('errors');
const { setTimeout, clearTimeout, setImmediate } = load('sched');

const kTimeout = Symbol('timeout');
const kRead = Symbol('bytes read');
const kWritten = Symbol('bytes written');
const kOptions = Symbol('options for a socket that has no handle yet');
const kDone = Symbol('callback of the write under way');
const kPending = Symbol('pending'); // bytes of the write that waits for the connection
const kBuffer = Symbol('onread');
const kReset = Symbol('reset');

let autoSelectDefault = true;
let attemptDefault = 250;

// ---- arguments ----------------------------------------------------------------------------------------------------

const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?=\d)|$)){4}$/;
function isIPv4(text) {
  return IPV4.test(`${text}`);
}
function isIPv6(text) {
  text = `${text}`;
  return text.includes(':') && !/%(?![\w.:-]+$)/.test(text) && native.family(text) === 6;
}
function isIP(text) {
  if (isIPv4(text)) return 4;
  return isIPv6(text) ? 6 : 0;
}
function toNumber(value) {
  const number = Number(value);
  return number >= 0 ? number : false;
}
function checkPort(port, name = 'Port', zero = true) {
  if ((typeof port !== 'number' && typeof port !== 'string') || (typeof port === 'string' && port.trim() === '') ||
      +port !== (+port >>> 0) || port > 65535 || (port === 0 && !zero)) {
    throw new codes.ERR_SOCKET_BAD_PORT(name, port);
  }
  return port | 0;
}
function isPipeName(value) {
  return typeof value === 'string' && toNumber(value) === false;
}
// [options, callback] of (options | path | port [, host] ..., callback)
function normalizeArgs(args) {
  if (args.length === 0) return [{}, null];
  const first = args[0];
  let options = {};
  if (typeof first === 'object' && first !== null) {
    options = first;
  } else if (isPipeName(first)) {
    options.path = first;
  } else {
    options.port = first;
    if (args.length > 1 && typeof args[1] === 'string') options.host = args[1];
  }
  const last = args[args.length - 1];
  return [options, typeof last === 'function' ? last : null];
}

// ---- the socket ---------------------------------------------------------------------------------------------------

function Socket(options) {
  if (!(this instanceof Socket)) return new Socket(options);
  if (options?.objectMode) throw new codes.ERR_INVALID_ARG_VALUE('options.objectMode', options.objectMode, 'is not supported');
  if (options?.readableObjectMode || options?.writableObjectMode) {
    throw new codes.ERR_INVALID_ARG_VALUE(`options.${options.readableObjectMode ? 'readableObjectMode' : 'writableObjectMode'}`,
      options.readableObjectMode || options.writableObjectMode, 'is not supported');
  }
  if (options?.keepAliveInitialDelay !== undefined && typeof options.keepAliveInitialDelay !== 'number') {
    throw new codes.ERR_INVALID_ARG_TYPE('options.keepAliveInitialDelay', 'number', options.keepAliveInitialDelay);
  }
  options = typeof options === 'number' ? { fd: options } : { ...options };
  this.connecting = false;
  this._hadError = false;
  this._parent = null;
  this._host = null;
  this._handle = null;
  this._server = null;
  this.server = null;
  this[kTimeout] = null;
  this[kRead] = this[kWritten] = 0;
  this[kOptions] = { ref: true };
  this[kReset] = false;
  this[kBuffer] = options.onread ?? null;
  Reflect.apply(Duplex, this, [{
    ...options, allowHalfOpen: Boolean(options.allowHalfOpen), emitClose: false, autoDestroy: true, signal: undefined,
    objectMode: false, read: undefined, write: undefined, final: undefined, destroy: undefined, construct: undefined,
  }]);
  if (options.noDelay) this[kOptions].noDelay = true;
  if (options.keepAlive) this[kOptions].keepAlive = [true, ~~((options.keepAliveInitialDelay ?? 0) / 1000)];
  if (options.handle) {
    this._handle = options.handle;
  } else if (options.fd !== undefined && options.fd !== null) {
    if (!Number.isInteger(options.fd)) throw new codes.ERR_INVALID_ARG_TYPE('options.fd', 'number', options.fd);
    if (options.fd < 0) throw new codes.ERR_OUT_OF_RANGE('options.fd', '>= 0 && <= 2147483647', options.fd);
    const handle = adopt(options.fd);
    if (typeof handle === 'number') throw errnoError(handle, 'open');
    this._handle = handle;
  }
  if (this._handle !== null) attach(this);
  this.on('end', onReadableEnd);
  if (options.signal) {
    validateAbortSignal(options.signal, 'options.signal');
    const { signal } = options;
    const abort = () => this.destroy(new AbortError(undefined, { cause: signal.reason }));
    if (signal.aborted) process.nextTick(abort);
    else {
      signal.addEventListener('abort', abort, { once: true });
      this.once('close', () => signal.removeEventListener('abort', abort));
    }
  }
  if (options.readable === false && this._handle !== null) {
    this.push(null);
    this.read();
  } else if (this._handle !== null && options.pauseOnCreate) {
    this.pause();
  } else if (this._handle !== null && !options.manualStart) {
    this.read(0);
  }
}
Object.setPrototypeOf(Socket.prototype, Duplex.prototype);
Object.setPrototypeOf(Socket, Duplex);
// The sockets of node:http's server, whose bytes are C's, count as sockets too.
Object.defineProperty(Socket, Symbol.hasInstance, {
  value(object) {
    return Reflect.apply(Function.prototype[Symbol.hasInstance], this, [object]) ||
      (this === Socket && binding.isLoaded('http_socket') && object instanceof load('http_socket').Socket);
  },
});

function onReadableEnd() {
  if (!this.allowHalfOpen) this.write = writeAfterFIN;
}
function writeAfterFIN(chunk, encoding, callback) {
  if (!this.writableEnded) return Reflect.apply(Duplex.prototype.write, this, [chunk, encoding, callback]);
  if (typeof encoding === 'function') callback = encoding;
  const error = Object.assign(new Error('This socket has been ended by the other party'), { code: 'EPIPE' });
  if (typeof callback === 'function') process.nextTick(callback, error);
  this.destroy(error);
  return false;
}

// What the handle tells, and what was asked of the socket before it had one.
function attach(socket) {
  const handle = socket._handle;
  handle.onData = (data) => {
    if (socket.destroyed) return;
    socket._unrefTimer();
    if (socket[kBuffer] !== null) {
      takeInto(socket, handle, data);
      return;
    }
    if (!socket.push(data)) handle.readStop();
  };
  handle.onEnd = () => {
    if (socket.destroyed) return;
    socket.push(null);
    socket.read(0);
  };
  handle.onFail = (number) => socket.destroy(errnoError(number, 'read'));
  handle.onSent = (number) => {
    const done = socket[kDone];
    socket[kDone] = undefined;
    socket._unrefTimer();
    done?.(number < 0 ? errnoError(number, 'write') : null);
  };
  const options = socket[kOptions];
  if (!options.ref) handle.unref();
  if (options.noDelay !== undefined) native.noDelay(handle.id, options.noDelay);
  if (options.keepAlive !== undefined) native.keepAlive(handle.id, options.keepAlive[0], options.keepAlive[1]);
}
// options.onread: the program's own buffer, which is used again and again.
function takeInto(socket, handle, data) {
  const { buffer, callback } = socket[kBuffer];
  for (let at = 0; at < data.length;) {
    const target = typeof buffer === 'function' ? (socket[kBuffer].last ??= buffer()) : buffer;
    const count = Math.min(target.length, data.length - at);
    target.set(data.subarray(at, at + count));
    at += count;
    const more = Reflect.apply(callback, socket, [count, target]);
    if (typeof buffer === 'function') socket[kBuffer].last = buffer();
    if (more === false) {
      handle.readStop();
      socket.pause();
    }
  }
}

// ---- reading and writing ------------------------------------------------------------------------------------------

Socket.prototype._read = function (size) {
  if (this.connecting || this._handle === null) {
    this.once('connect', () => this._read(size));
  } else if (!this._handle.reading) {
    const error = this._handle.readStart();
    if (error < 0) this.destroy(errnoError(error, 'read'));
  }
};
Socket.prototype.pause = function () {
  if (this[kBuffer] !== null && !this.connecting && this._handle?.reading) this._handle.readStop();
  return Reflect.apply(Duplex.prototype.pause, this, []);
};
Socket.prototype.resume = function () {
  if (this[kBuffer] !== null && !this.connecting && this._handle !== null && !this._handle.reading) this._handle.readStart();
  return Reflect.apply(Duplex.prototype.resume, this, []);
};
Socket.prototype.read = function (size) {
  if (this[kBuffer] !== null && !this.connecting && this._handle !== null && !this._handle.reading) this._handle.readStart();
  return Reflect.apply(Duplex.prototype.read, this, [size]);
};

function send(socket, bytes, callback) {
  if (socket.connecting) {
    const onClose = () => callback(new codes.ERR_SOCKET_CLOSED_BEFORE_CONNECTION());
    socket[kPending] = bytes.length;
    socket.once('connect', () => {
      socket.off('close', onClose);
      socket[kPending] = 0;
      send(socket, bytes, callback);
    });
    socket.once('close', onClose);
    return;
  }
  if (socket._handle === null) {
    callback(new codes.ERR_SOCKET_CLOSED());
    return;
  }
  socket._unrefTimer();
  const queued = socket._handle.write(bytes);
  if (queued < 0) callback(errnoError(queued, 'write'));
  else if (queued === 0) callback();
  else socket[kDone] = callback;
}
Socket.prototype._write = function (chunk, encoding, callback) {
  send(this, typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk, callback);
};
Socket.prototype._writev = function (chunks, callback) {
  const list = [];
  for (let i = 0; i < chunks.length; i++) {
    const { chunk, encoding } = chunks[i];
    list.push(typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk);
  }
  send(this, Buffer.concat(list), callback);
};
Socket.prototype._final = function (callback) {
  if (this.connecting) {
    const onClose = () => callback(new codes.ERR_SOCKET_CLOSED_BEFORE_CONNECTION());
    this.once('close', onClose);
    this.once('connect', () => {
      this.off('close', onClose);
      this._final(callback);
    });
    return;
  }
  if (this._handle === null) {
    callback();
    return;
  }
  const result = this._handle.shutdown();
  if (result === -107 || result === -88) callback(); // not connected any more, or no socket
  else setImmediate(() => callback(result < 0 ? errnoError(result, 'shutdown') : undefined));
};
Socket.prototype.end = function (data, encoding, callback) {
  Reflect.apply(Duplex.prototype.end, this, [data, encoding, callback]);
  return this;
};
Socket.prototype.destroySoon = function () {
  if (this.writable) this.end();
  if (this.writableFinished) this.destroy();
  else this.once('finish', this.destroy);
};

// ---- its end ------------------------------------------------------------------------------------------------------

Socket.prototype._destroy = function (exception, callback) {
  const began = this.connecting;
  this.connecting = false;
  this._attempts?.stop();
  for (let socket = this; socket; socket = socket._parent) clearTimeout(socket[kTimeout]);
  this._hadError = Boolean(exception);
  const handle = this._handle;
  if (handle !== null) {
    this[kRead] = handle.bytesRead;
    this[kWritten] = handle.bytesWritten;
    const done = this[kDone];
    this[kDone] = undefined;
    handle.onData = handle.onEnd = handle.onFail = handle.onSent = handle.onConnect = null;
    handle.onConnect = () => {};
    this._names = [handle.local(), handle.remote()];
    handle.close(() => {
      done?.(exception ?? new codes.ERR_STREAM_DESTROYED('write'));
      this.emit('close', Boolean(exception));
    }, this[kReset]);
    this._handle = null;
    callback(exception);
  } else {
    callback(exception);
    process.nextTick(() => (began || exception ? this.emit('close', Boolean(exception)) : this.emit('close')));
  }
  if (this._server) {
    this._server._connections--;
    this._server._emitCloseIfDrained?.();
  }
};
Socket.prototype.resetAndDestroy = function () {
  if (this._handle !== null) {
    this[kReset] = true;
    if (this.connecting) this.once('connect', () => this.destroy());
    else this.destroy();
  } else {
    this.destroy(new codes.ERR_SOCKET_CLOSED());
  }
  return this;
};

// ---- time ---------------------------------------------------------------------------------------------------------

Socket.prototype.setTimeout = function (msecs, callback) {
  if (this.destroyed) return this;
  this.timeout = msecs;
  if (typeof msecs !== 'number') throw new codes.ERR_INVALID_ARG_TYPE('msecs', 'number', msecs);
  if (!(msecs >= 0 && Number.isFinite(msecs))) throw new codes.ERR_OUT_OF_RANGE('msecs', 'a non-negative finite number', msecs);
  clearTimeout(this[kTimeout]);
  this[kTimeout] = null;
  if (callback !== undefined) validateFunction(callback, 'callback');
  if (msecs === 0) {
    if (callback !== undefined) this.removeListener('timeout', callback);
  } else {
    this[kTimeout] = setTimeout(() => this._onTimeout(), Math.min(msecs, 2 ** 31 - 1)).unref();
    if (callback !== undefined) this.once('timeout', callback);
  }
  return this;
};
Socket.prototype._onTimeout = function () {
  this.emit('timeout');
};
Socket.prototype._unrefTimer = function () {
  for (let socket = this; socket; socket = socket._parent) {
    if (socket[kTimeout] !== null && socket[kTimeout] !== undefined) socket[kTimeout].refresh();
  }
};

// ---- connecting ---------------------------------------------------------------------------------------------------

Socket.prototype.connect = function (...args) {
  // connect(normalized), as Agent and tls call it
  const [options, callback] = Array.isArray(args[0]) ? args[0] : normalizeArgs(args);
  if (options.port === undefined && !options.path) throw new codes.ERR_MISSING_ARGS(['options', 'port', 'path']);
  if (this.write !== Socket.prototype.write) delete this.write;
  if (this.destroyed) {
    this._undestroy();
    this._handle = null;
    this._names = undefined;
    this[kReset] = false;
  }
  if (callback !== null) this.once('connect', callback);
  if (options.keepAlive !== undefined && this[kOptions].keepAlive === undefined) {
    this[kOptions].keepAlive = [!!options.keepAlive, ~~((options.keepAliveInitialDelay ?? 0) / 1000)];
  }
  if (options.noDelay !== undefined && this[kOptions].noDelay === undefined) this[kOptions].noDelay = !!options.noDelay;
  this._unrefTimer();
  this.connecting = true;
  if (options.path) {
    validateString(options.path, 'options.path');
    attempt(this, options.path, undefined, undefined, undefined);
  } else {
    try {
      load('net_connect').lookupAndConnect(this, options, attempt);
    } catch (error) {
      this.connecting = false;
      throw error;
    }
  }
  return this;
};

function begin(socket, address, port, localAddress, localPort) {
  if (localPort && !localAddress) localAddress = isIPv6(address) ? '::' : '0.0.0.0';
  return native.connect(address, port, localAddress, localPort ?? 0);
}
// One address: the socket's fate is its fate.
function attempt(socket, address, port, localAddress, localPort) {
  if (socket.blockList?.check?.(address, isIPv6(address) ? 'ipv6' : 'ipv4')) {
    socket.destroy(new codes.ERR_IP_BLOCKED(address));
    return;
  }
  const id = begin(socket, address, port, localAddress, localPort);
  if (id < 0) {
    process.nextTick(() => socket.destroy(placeError(id, 'connect', address, port)));
    return;
  }
  const handle = socket._handle = new Handle(id);
  if (!socket[kOptions].ref) handle.unref();
  if (port !== undefined && socket.listenerCount('connectionAttempt') > 0) socket.emit('connectionAttempt', address, port, isIPv6(address) ? 6 : 4);
  handle.onConnect = (status) => {
    if (status < 0) {
      const local = localAddress !== undefined && localPort ? `${localAddress}:${localPort}` : undefined;
      const error = placeError(status, 'connect', address, port, false, local);
      if (local !== undefined) Object.assign(error, { localAddress, localPort });
      if (port !== undefined) socket.emit('connectionAttemptFailed', address, port, isIPv6(address) ? 6 : 4, error);
      socket.destroy(error);
    } else {
      connected(socket, handle);
    }
  };
}
function connected(socket, handle) {
  if (socket.destroyed) return;
  socket.connecting = false;
  socket._handle = handle;
  socket._names = undefined;
  attach(socket);
  socket._unrefTimer();
  socket.emit('connect');
  socket.emit('ready');
  if (socket.readable && !socket.isPaused()) socket.read(0);
}

// ---- the rest -----------------------------------------------------------------------------------------------------

Socket.prototype.setNoDelay = function (on) {
  on = on === undefined ? true : Boolean(on);
  this[kOptions].noDelay = on;
  if (this._handle !== null && !this.connecting) native.noDelay(this._handle.id, on);
  return this;
};
Socket.prototype.setKeepAlive = function (on, delay) {
  this[kOptions].keepAlive = [Boolean(on), ~~((delay ?? 0) / 1000)];
  if (this._handle !== null && !this.connecting) native.keepAlive(this._handle.id, Boolean(on), ~~((delay ?? 0) / 1000));
  return this;
};
Socket.prototype.ref = function () {
  this[kOptions].ref = true;
  this._handle?.ref();
  return this;
};
Socket.prototype.unref = function () {
  this[kOptions].ref = false;
  this._handle?.unref();
  return this;
};
Socket.prototype.address = function () {
  const found = names(this, 0);
  return found === undefined ? {} : { address: found[0], family: found[1], port: found[2] };
};
function names(socket, which) {
  if (socket._names !== undefined) return socket._names[which];
  if (socket._handle === null) return undefined;
  const found = [socket._handle.local(), socket._handle.remote()];
  if (!socket.connecting) socket._names = found;
  return found[which];
}
const getter = (name, get) => Object.defineProperty(Socket.prototype, name, { get, configurable: true, enumerable: false });
getter('localAddress', function () { return names(this, 0)?.[0]; });
getter('localPort', function () { return names(this, 0)?.[2]; });
getter('localFamily', function () { return names(this, 0)?.[1]; });
getter('remoteAddress', function () { return this.connecting ? undefined : names(this, 1)?.[0]; });
getter('remoteFamily', function () { return this.connecting ? undefined : names(this, 1)?.[1]; });
getter('remotePort', function () { return this.connecting ? undefined : names(this, 1)?.[2]; });
getter('pending', function () { return this._handle === null || this.connecting; });
getter('bytesRead', function () { return this._handle !== null ? this._handle.bytesRead : this[kRead]; });
getter('bufferSize', function () { return this._handle || this.connecting ? this.writableLength : undefined; });
getter('_connecting', function () { return this.connecting; });
// Bytes that were written or wait to be.
getter('bytesWritten', function () {
  if (this._handle === undefined) return undefined;
  let bytes = (this[kPending] ?? 0) + (this._handle !== null ? this._handle.bytesWritten : this[kWritten]);
  const waiting = this._handle === null && !this.connecting ? [] : this.writableBuffer ?? this._writableState?.getBuffer?.() ?? [];
  for (let i = 0; i < waiting.length; i++) {
    const { chunk, encoding } = waiting[i];
    bytes += typeof chunk === 'string' ? Buffer.byteLength(chunk, encoding) : chunk.length;
  }
  return bytes;
});
getter('readyState', function () {
  if (this.connecting) return 'opening';
  if (this.readable && this.writable) return 'open';
  if (this.readable) return 'readOnly';
  return this.writable ? 'writeOnly' : 'closed';
});

function connect(...args) {
  const normalized = normalizeArgs(args);
  const [options] = normalized;
  const socket = new Socket(options);
  binding.publish('net.client.socket', { socket });
  if (options.timeout) socket.setTimeout(options.timeout);
  return socket.connect(normalized);
}

module.exports = {
  Socket, Stream: Socket, connect, createConnection: connect, isIP, isIPv4, isIPv6,
  get Server() { return load('net_server').Server; },
  get createServer() { return load('net_server').createServer; },
  get BlockList() { return load('net_address').BlockList; },
  get SocketAddress() { return load('net_address').SocketAddress; },
  getDefaultAutoSelectFamily: () => autoSelectDefault,
  setDefaultAutoSelectFamily(value) {
    if (typeof value !== 'boolean') throw new codes.ERR_INVALID_ARG_TYPE('value', 'boolean', value);
    autoSelectDefault = value;
  },
  getDefaultAutoSelectFamilyAttemptTimeout: () => attemptDefault,
  setDefaultAutoSelectFamilyAttemptTimeout(value) {
    if (!Number.isInteger(value)) throw new codes.ERR_INVALID_ARG_TYPE('value', 'number', value);
    if (value < 1) throw new codes.ERR_OUT_OF_RANGE('value', '>= 1 && <= 2147483647', value);
    attemptDefault = value < 10 ? 10 : value;
  },
  _normalizeArgs: normalizeArgs,
  // Of use on Windows alone, even there.
  _setSimultaneousAccepts() {
    if (warnedOfAccepts) return;
    warnedOfAccepts = true;
    process.emitWarning('net._setSimultaneousAccepts() is deprecated and will be removed.', 'DeprecationWarning', 'DEP0121');
  },
};
let warnedOfAccepts = false;
Object.defineProperty(module.exports, Symbol.for('vigil.host'), { value: { checkPort, toNumber, attempt, begin, connected, attach } });
