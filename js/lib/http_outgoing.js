// SPDX-License-Identifier: MIT
// ServerResponse in Node's form: what is sent, and what became of it. A short answer is one text and one call into C. The head is
// http_headers.js's.
'use strict';

const EventEmitter = load('events');
const { native, events, KEEP, LAST, SHUT, LATIN1, HOLD, CRLF, HIGH } = load('http_link');
const { socketOf } = load('http_socket');
const { codes } = load('errors');
const { Buffer } = load('buffer');
const deprecate = (call, text, code) => function (...args) { return Reflect.apply(load('util').deprecate(call, text, code), this, args); };

const { prepared, hexOf } = load('http_names');
const { Alone, flagsOf, install: installAlone } = load('http_alone');

// What a short answer does not need lies on the prototype.
function ServerResponse(req, flags) {
  this.req = req;
  this._link = req._link;
  if (this._link === undefined) {
    this._link = new Alone(this);
    flags = flagsOf(req);
  }
  this.statusCode = 200;
  this.statusMessage = undefined;
  this._headers = null; // lower-case name, name, value, ...: there are few, so a search is quicker than a map
  this._flags = flags;
  this._lines = ''; // the head, while it waits to be sent
  this.headersSent = false;
  this.finished = false;
  this.destroyed = false;
  this.closed = false;
  this.writableFinished = false;
  this.shouldKeepAlive = (flags & KEEP) !== 0;
  this._hasBody = req.method !== 'HEAD';
  this._promised = -1; // the Content-Length that was sent
  this._shut = false;
  this._queued = 0;
}
Object.setPrototypeOf(ServerResponse.prototype, EventEmitter.prototype);
Object.setPrototypeOf(ServerResponse, EventEmitter);
Object.assign(ServerResponse.prototype, {
  sendDate: true,
  chunkedEncoding: false,
  strictContentLength: false,
  writableHighWaterMark: HIGH,
  errored: null,
  _extra: null, // of writeHead, when no header was set before: [name, value, ...]
  _removed: 0,
  _written: 0,
  _corked: 0,
  _needDrain: false,
  _callbacks: null,
  _trailer: '',
  _latin1: false, // the head has characters beyond ASCII
  // By these stream.finished knows what it has before it.
  _sent100: false,
  _removedConnection: false,
  _removedContLen: false,
  _removedTE: false,
  _defaultKeepAlive: true,
});

const getter = (name, get) => Object.defineProperty(ServerResponse.prototype, name, { get, configurable: true, enumerable: true });
for (const name of ['socket', 'connection']) {
  Object.defineProperty(ServerResponse.prototype, name, {
    configurable: true, enumerable: true,
    get() {
      if (this._link instanceof Alone) return this._link.socket;
      return this._link.res === this ? socketOf(this._link) : null;
    },
    set(socket) {
      if (!(this._link instanceof Alone)) return;
      if (typeof socket?.write === 'function') this._link.assign(socket);
      else this._link.socket = socket;
    },
  });
}
getter('_closed', function () { return this.closed; });
getter('writableEnded', function () { return this.finished; });
getter('writable', () => true); // as in Node: what it says of a message that has ended, too
getter('writableLength', function () { return this._queued; });
getter('writableNeedDrain', function () { return this._needDrain; });
getter('writableObjectMode', () => false);
getter('writableCorked', function () { return this._corked; });
getter('_header', function () { return this.headersSent ? this._link.head ?? true : null; });
// ---- sending ------------------------------------------------------------------------------------------------------

// Head, if it was not sent yet, and a piece of body that is ready for the wire.
ServerResponse.prototype._out = function (flags, front, chunk) {
  let text = this._lines;
  if (text !== '') {
    this._lines = '';
    if (this._latin1) flags |= LATIN1;
    text += front;
  } else {
    text = front;
  }
  if (typeof chunk === 'string') {
    text += chunk;
    chunk = undefined;
    // Behind a text its line's end can stand as well.
    if ((flags & CRLF) !== 0) {
      text += '\r\n';
      flags &= ~CRLF;
    }
  }
  const id = this._link.id;
  if (this._link.timer) this._link.timer.refresh();
  if (id < 0 && this._link instanceof Alone) return this._link.write(flags, text, chunk);
  if (id < 0 || this._link.res !== this) return -1;
  let queued;
  if (chunk !== undefined) {
    queued = native.send(id, flags, text, chunk);
  } else if ((flags & (LATIN1 | CRLF)) !== 0) {
    queued = native.send(id, flags, text);
  } else {
    events[2] = id;
    events[3] = flags;
    queued = native.sendText(text);
  }
  this._queued = queued < 0 ? 0 : queued;
  return queued;
};

function afterEnd(response, callback) {
  const error = new codes.ERR_STREAM_WRITE_AFTER_END();
  refuse(response, error, callback);
  return false;
}
// The callback is called once, and not after the message was destroyed.
function refuse(response, error, callback) {
  const quiet = response.destroyed;
  process.nextTick(() => {
    if (!quiet) response.emit('error', error);
    callback?.(error);
  });
}
ServerResponse.prototype.write = function (chunk, encoding, callback) {
  if (typeof encoding === 'function') {
    callback = encoding;
    encoding = undefined;
  }
  const data = prepared(chunk, encoding);
  if (this.finished) return afterEnd(this, callback);
  if (this.destroyed) {
    refuse(this, new codes.ERR_STREAM_DESTROYED('write'), callback);
    return false;
  }
  if (!this.headersSent) this._head();
  if (!this._hasBody) {
    if (this._link.server.rejectNonStandardBodyWrites) throw new codes.ERR_HTTP_BODY_NOT_ALLOWED();
    if (callback) process.nextTick(callback);
    return true;
  }
  if (data.length === 0) {
    // An empty chunk would be the last one.
    if (callback) process.nextTick(callback);
    return true;
  }
  this._count(data.length, false);
  const front = this.chunkedEncoding ? `${hexOf(data.length)}\r\n` : '';
  const queued = this._out(HOLD | (this.chunkedEncoding ? CRLF : 0), front, data);
  if (queued < 0) return false;
  this._link.flushLater();
  if (callback) (this._callbacks ??= []).push(callback);
  if (queued >= HIGH) {
    this._needDrain = true;
    return false;
  }
  if (callback) process.nextTick(settled, this);
  return true;
};
// What was written has been handed to the kernel, unless some of it is queued: then C tells when.
function settled(response) {
  if (response._callbacks === null || (response._link.id >= 0 && response._link.res === response && native.queued(response._link.id) > 0)) return;
  const callbacks = response._callbacks;
  response._callbacks = null;
  for (let i = 0; i < callbacks.length; i++) (0, callbacks[i])();
}

ServerResponse.prototype._count = function (length, last) {
  if (!this.strictContentLength || this._promised < 0) return;
  const written = this._written + length;
  if (written > this._promised || (last && written !== this._promised)) {
    throw new codes.ERR_HTTP_CONTENT_LENGTH_MISMATCH(written, this._promised);
  }
  this._written = written;
};

ServerResponse.prototype.end = function (chunk, encoding, callback) {
  if (typeof chunk === 'function') {
    callback = chunk;
    chunk = undefined;
  } else if (typeof encoding === 'function') {
    callback = encoding;
    encoding = undefined;
  }
  let data;
  if (chunk !== undefined && chunk !== null) data = prepared(chunk, encoding);
  if (this.finished) {
    if (data !== undefined && data.length > 0) {
      afterEnd(this, callback);
    } else if (typeof callback === 'function') {
      if (this.writableFinished) process.nextTick(callback, new codes.ERR_STREAM_ALREADY_FINISHED('end'));
      else this.once('finish', callback);
    }
    return this;
  }
  if (typeof callback === 'function') this.once('finish', callback);
  const length = data === undefined ? 0 : data.length;
  if (!this.headersSent) this._head(length);
  let flags = LAST | (this._shut ? SHUT : 0);
  let front = '';
  if (!this._hasBody) {
    if (data !== undefined && this._link.server.rejectNonStandardBodyWrites) throw new codes.ERR_HTTP_BODY_NOT_ALLOWED();
    data = undefined;
  } else {
    if (length > 0 || this.strictContentLength) this._count(length, true);
    if (this.chunkedEncoding) {
      const tail = `0\r\n${this._trailer}\r\n`;
      if (length === 0) {
        data = tail;
      } else if (typeof data === 'string') {
        front = `${hexOf(length)}\r\n`;
        data += `\r\n${tail}`;
      } else {
        this._out(HOLD | CRLF, `${hexOf(length)}\r\n`, data);
        data = tail;
      }
    }
  }
  this.finished = true;
  if (this._corked > 0) this._corked = 0;
  const queued = this._out(flags, front, data);
  if (queued === 0) this._finish();
  else if (queued > 0) this._needDrain = false;
  return this;
};

// ---- what C tells -------------------------------------------------------------------------------------------------

ServerResponse.prototype._drained = function () {
  this._queued = 0;
  settled(this);
  if (this.finished) {
    if (!this.writableFinished) this._finish();
  } else if (this._needDrain) {
    this._needDrain = false;
    this.emit('drain');
  }
};
// All of the answer was handed to the kernel.
ServerResponse.prototype._finish = function () {
  this.writableFinished = true;
  const req = this.req;
  if (req !== undefined && req._events !== undefined && req._link !== undefined) req._done();
  if (binding.isLoaded('diagnostics_channel') && req?.socket) {
    binding.publish('http.server.response.finish', { request: req, response: this, socket: req.socket, server: req.socket.server });
  }
  if (this._events !== undefined || this._callbacks !== null) process.nextTick(emitFinish, this);
  else this.closed = this.destroyed = true;
};
function emitFinish(response) {
  settled(response);
  response.emit('finish');
  if (response.closed) return;
  process.nextTick(() => response._close());
}
ServerResponse.prototype._close = function () {
  if (this.closed) return;
  this.closed = this.destroyed = true;
  this._callbacks = null;
  this.emit('close');
};
ServerResponse.prototype.destroy = function (error) {
  if (this.destroyed) return this;
  this.destroyed = true;
  this.errored = error;
  if (this._link instanceof Alone) {
    this._link.socket?.destroy(error);
    return this;
  }
  socketOf(this._link).destroy(error && socketOf(this._link).listenerCount('error') > 0 ? error : undefined);
  return this;
};

// ---- the rest -----------------------------------------------------------------------------------------------------

ServerResponse.prototype.setTimeout = function (msecs, callback) {
  if (callback) this.on('timeout', callback);
  const { socket } = this;
  if (socket) socket.setTimeout(msecs);
  else this.once('socket', (one) => one.setTimeout(msecs));
  return this;
};
// What is written in one turn goes out together anyway; the count is what programs look at.
ServerResponse.prototype.cork = function () {
  this._corked++;
};
ServerResponse.prototype.uncork = function () {
  if (this._corked > 0) this._corked--;
};
ServerResponse.prototype.flushHeaders = function () {
  if (!this.headersSent) this._head();
  if (this._lines !== '') this._out(0, '', undefined);
};
load('http_headers').install(ServerResponse);
load('http_interim').install(ServerResponse);
installAlone(ServerResponse);

// Of Node's inner ways what programs call: bytes as they are, and bytes behind the head.
ServerResponse.prototype._writeRaw = function (data, encoding, callback) {
  if (typeof encoding === 'function') {
    callback = encoding;
    encoding = undefined;
  }
  if (this._link.id >= 0 && this._link.res === this) native.send(this._link.id, 0, typeof data === 'string' ? Buffer.from(data, encoding) : data);
  if (typeof callback === 'function') process.nextTick(callback);
  return true;
};
ServerResponse.prototype._send = function (data, encoding, callback) {
  if (!this.headersSent) this._head();
  this._out(0, '', data.length > 0 ? prepared(data, encoding) : undefined);
  if (typeof callback === 'function') process.nextTick(callback);
  return true;
};
ServerResponse.prototype[Symbol.for('nodejs.rejection')] = function (error) { this.destroy(error); };
ServerResponse.prototype._implicitHeader = function () { this.writeHead(this.statusCode); };

// ---- the class above it -------------------------------------------------------------------------------------------

// What is not of a server's answer alone. A program's own subclass says in _implicitHeader what begins the message.
function OutgoingMessage() {
  Reflect.apply(ServerResponse, this, [{ method: 'GET', httpVersionMajor: 1, httpVersionMinor: 1 }]);
  this.req = undefined;
}
Object.setPrototypeOf(OutgoingMessage.prototype, EventEmitter.prototype);
Object.setPrototypeOf(OutgoingMessage, EventEmitter);
const OWN = ['constructor', 'writeHead', 'writeHeader', 'writeContinue', 'writeProcessing', 'writeEarlyHints', 'assignSocket', 'detachSocket', '_implicitHeader', '_head'];
for (const name of Object.getOwnPropertyNames(ServerResponse.prototype)) {
  if (OWN.includes(name)) continue;
  Object.defineProperty(OutgoingMessage.prototype, name, Object.getOwnPropertyDescriptor(ServerResponse.prototype, name));
  delete ServerResponse.prototype[name];
}
Object.defineProperty(OutgoingMessage.prototype, '_headerNames', {
  configurable: true, enumerable: true,
  get: deprecate(function () {
    const names = Object.create(null);
    for (let i = 0; this._headers !== null && i < this._headers.length; i += 3) names[this._headers[i]] = this._headers[i + 1];
    return names;
  }, 'OutgoingMessage.prototype._headerNames is deprecated', 'DEP0066'),
  set: deprecate(function (names) {
    for (let i = 0; this._headers !== null && i < this._headers.length; i += 3) this._headers[i + 1] = names?.[this._headers[i]] ?? this._headers[i + 1];
  }, 'OutgoingMessage.prototype._headerNames is deprecated', 'DEP0066'),
});
OutgoingMessage.prototype._implicitHeader = () => { throw new codes.ERR_METHOD_NOT_IMPLEMENTED('_implicitHeader()'); };
OutgoingMessage.prototype._head = function () {
  this._implicitHeader();
  this.headersSent = true;
  let lines = '';
  for (const [name, value] of Object.entries(this.getHeaders())) for (const one of [].concat(value)) lines += `${name}: ${one}\r\n`;
  this._lines = `${lines}\r\n`;
};
Object.setPrototypeOf(ServerResponse.prototype, OutgoingMessage.prototype);
Object.setPrototypeOf(ServerResponse, OutgoingMessage);
Object.defineProperty(OutgoingMessage, Symbol.hasInstance, {
  value(object) {
    return Reflect.apply(Function.prototype[Symbol.hasInstance], this, [object]) ||
      (this === OutgoingMessage && binding.isLoaded('http_client') && object instanceof load('http_client').ClientRequest);
  },
});

module.exports = { OutgoingMessage, ServerResponse };
