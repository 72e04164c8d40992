// SPDX-License-Identifier: MIT
// ServerResponse in Node's form: what is sent, and what became of it. A short answer is one text and one call into C. The head is
// http_headers.js's.
'use strict';

const EventEmitter = load('events');
const { native, events, KEEP, LAST, SHUT, LATIN1, HOLD, CRLF, HIGH } = load('http_link');
const { socketOf } = load('http_incoming');
const { codes } = load('errors');

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
});

const getter = (name, get) => Object.defineProperty(ServerResponse.prototype, name, { get, configurable: true, enumerable: true });
getter('socket', function () {
  if (this._link instanceof Alone) return this._link.socket;
  return this._link.res === this ? socketOf(this._link) : null;
});
getter('connection', function () { return this.socket; });
getter('writableEnded', function () { return this.finished; });
getter('writable', function () { return !this.destroyed; });
getter('writableLength', function () { return this._queued; });
getter('writableNeedDrain', function () { return this._needDrain; });
getter('writableObjectMode', () => false);
getter('writableCorked', function () { return this._corked; });
getter('_header', function () { return this.headersSent ? this._link.head ?? true : null; });
// ---- sending ------------------------------------------------------------------------------------------------------

// Head, if it was not sent yet, and a piece of body that is ready for the wire.
ServerResponse.prototype._send = function (flags, front, chunk) {
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
  process.nextTick(() => {
    response.emit('error', error);
    callback?.(error);
  });
  return false;
}
ServerResponse.prototype.write = function (chunk, encoding, callback) {
  if (typeof encoding === 'function') {
    callback = encoding;
    encoding = undefined;
  }
  const data = prepared(chunk, encoding);
  if (this.finished) return afterEnd(this, callback);
  if (this.destroyed) {
    const error = new codes.ERR_STREAM_DESTROYED('write');
    process.nextTick(() => {
      this.emit('error', error);
      callback?.(error);
    });
    return false;
  }
  if (!this.headersSent) this._head();
  if (!this._hasBody) {
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
  const queued = this._send(HOLD | (this.chunkedEncoding ? CRLF : 0), front, data);
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
  this._written += length;
  if (this._written > this._promised || (last && this._written !== this._promised)) {
    throw new codes.ERR_HTTP_CONTENT_LENGTH_MISMATCH(this._written, this._promised);
  }
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
        this._send(HOLD | CRLF, `${hexOf(length)}\r\n`, data);
        data = tail;
      }
    }
  }
  this.finished = true;
  if (this._corked > 0) this._corked = 0;
  const queued = this._send(flags, front, data);
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
  if (req._events !== undefined && req._link !== undefined) req._done();
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
  this.errored = error ?? null;
  if (this._link instanceof Alone) {
    this._link.socket?.destroy(error);
    return this;
  }
  socketOf(this._link).destroy(error && socketOf(this._link).listenerCount('error') > 0 ? error : undefined);
  return this;
};

// ---- the rest -----------------------------------------------------------------------------------------------------

// What is written in one turn goes out together anyway; the count is what programs look at.
ServerResponse.prototype.cork = function () {
  this._corked++;
};
ServerResponse.prototype.uncork = function () {
  if (this._corked > 0) this._corked--;
};
ServerResponse.prototype.flushHeaders = function () {
  if (!this.headersSent) this._head();
  if (this._lines !== '') this._send(0, '', undefined);
};
load('http_headers').install(ServerResponse);
load('http_interim').install(ServerResponse);
installAlone(ServerResponse);

module.exports = { ServerResponse };
