// SPDX-License-Identifier: MIT
// ServerResponse: headers, then a body, in Node's form. A short answer is one text and one call into C.
'use strict';

const EventEmitter = load('events');
const { native, events, OLD, KEEP, LAST, SHUT, LATIN1, HOLD, CRLF, HIGH } = load('http_link');
const { socketOf } = load('http_incoming');
const { codes } = load('errors');

const { STATUS_CODES, PLAIN, BAD_VALUE, lowerOf, lineOf, checkValue, dateLine, lengthLine, prepared } = load('http_names');

// ---- headers ------------------------------------------------------------------------------------------------------

// What a short answer does not need lies on the prototype.
function ServerResponse(req, flags) {
  this.req = req;
  this._link = req._link;
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
  _needDrain: false,
  _callbacks: null,
  _trailer: '',
  _latin1: false, // the head has characters beyond ASCII
});

const getter = (name, get) => Object.defineProperty(ServerResponse.prototype, name, { get, configurable: true, enumerable: true });
getter('socket', function () { return this._link.res === this ? socketOf(this._link) : null; });
getter('connection', function () { return this.socket; });
getter('writableEnded', function () { return this.finished; });
getter('writable', function () { return !this.destroyed; });
getter('writableLength', function () { return this._queued; });
getter('writableNeedDrain', function () { return this._needDrain; });
getter('writableObjectMode', () => false);
getter('_header', function () { return this.headersSent ? true : null; });
function find(headers, key) {
  if (headers === null) return -1;
  for (let i = 0; i < headers.length; i += 3) {
    if (headers[i] === key) return i;
  }
  return -1;
}
ServerResponse.prototype.setHeader = function (name, value) {
  if (this.headersSent) throw new codes.ERR_HTTP_HEADERS_SENT('set');
  let key;
  if (Array.isArray(value)) {
    key = lowerOf(name);
    for (const one of value) if (!checkValue(name, one)) this._latin1 = true;
  } else {
    const line = lineOf(name, value);
    key = line.key;
    if (!line.plain) this._latin1 = true;
  }
  if (this._headers === null) {
    this._headers = [key, name, value];
    return this;
  }
  const at = find(this._headers, key);
  if (at < 0) {
    this._headers.push(key, name, value);
  } else {
    this._headers[at + 1] = name;
    this._headers[at + 2] = value;
  }
  return this;
};
ServerResponse.prototype.setHeaders = function (headers) {
  if (this.headersSent) throw new codes.ERR_HTTP_HEADERS_SENT('set');
  if (!headers || Array.isArray(headers) || typeof headers.keys !== 'function' || typeof headers.get !== 'function') {
    throw new codes.ERR_INVALID_ARG_TYPE('headers', ['Headers', 'Map'], headers);
  }
  const cookies = typeof headers.getSetCookie === 'function' ? headers.getSetCookie() : [];
  for (const [name, value] of headers) {
    if (cookies.length === 0 || name !== 'set-cookie') this.setHeader(name, value);
  }
  if (cookies.length > 0) this.setHeader('set-cookie', cookies);
  return this;
};
ServerResponse.prototype.appendHeader = function (name, value) {
  if (this.headersSent) throw new codes.ERR_HTTP_HEADERS_SENT('append');
  const at = find(this._headers, lowerOf(name));
  if (at < 0) return this.setHeader(name, value);
  return this.setHeader(this._headers[at + 1], [].concat(this._headers[at + 2], value));
};
ServerResponse.prototype.getHeader = function (name) {
  if (typeof name !== 'string') throw new codes.ERR_INVALID_ARG_TYPE('name', 'string', name);
  const at = find(this._headers, name.toLowerCase());
  return at < 0 ? undefined : this._headers[at + 2];
};
ServerResponse.prototype.hasHeader = function (name) {
  if (typeof name !== 'string') throw new codes.ERR_INVALID_ARG_TYPE('name', 'string', name);
  return find(this._headers, name.toLowerCase()) >= 0;
};
const REMOVABLE = { date: 1, connection: 2, 'content-length': 4, 'transfer-encoding': 8 };
ServerResponse.prototype.removeHeader = function (name) {
  if (typeof name !== 'string') throw new codes.ERR_INVALID_ARG_TYPE('name', 'string', name);
  if (this.headersSent) throw new codes.ERR_HTTP_HEADERS_SENT('remove');
  const key = name.toLowerCase();
  this._removed |= REMOVABLE[key] ?? 0;
  if (key === 'date') this.sendDate = false;
  const at = find(this._headers, key);
  if (at >= 0) this._headers.splice(at, 3);
};
ServerResponse.prototype.getHeaders = function () {
  const all = Object.create(null);
  const headers = this._headers ?? [];
  for (let i = 0; i < headers.length; i += 3) all[headers[i]] = headers[i + 2];
  return all;
};
ServerResponse.prototype.getHeaderNames = function () {
  return (this._headers ?? []).filter((_, i) => i % 3 === 0);
};
ServerResponse.prototype.getRawHeaderNames = function () {
  return (this._headers ?? []).filter((_, i) => i % 3 === 1);
};

function flatten(headers) {
  if (!Array.isArray(headers)) return Object.entries(headers).flat();
  if (headers.length > 0 && Array.isArray(headers[0])) return headers.flatMap(([name, value]) => [name, value]);
  if (headers.length % 2 !== 0) throw new codes.ERR_INVALID_ARG_VALUE('headers', headers);
  return headers.slice();
}
ServerResponse.prototype.writeHead = function (status, reason, headers) {
  if (this.headersSent) throw new codes.ERR_HTTP_HEADERS_SENT('write');
  const wanted = status;
  status |= 0;
  if (status < 100 || status > 999) throw new codes.ERR_HTTP_INVALID_STATUS_CODE(wanted);
  if (typeof reason === 'string') {
    this.statusMessage = reason;
  } else {
    this.statusMessage ||= STATUS_CODES[status] || 'unknown';
    headers ??= reason;
  }
  this.statusCode = status;
  let extra = null;
  if (headers !== undefined && headers !== null) {
    const list = flatten(headers);
    if (this._headers !== null) {
      for (let i = 0; i < list.length; i += 2) {
        if (list[i]) this.setHeader(list[i], list[i + 1]);
      }
    } else {
      for (let i = 0; i < list.length; i += 2) {
        lowerOf(list[i]);
        for (const one of Array.isArray(list[i + 1]) ? list[i + 1] : [list[i + 1]]) {
          if (!checkValue(list[i], one)) this._latin1 = true;
        }
      }
      extra = list;
    }
  }
  if (extra !== null) this._extra = extra;
  this._head();
  return this;
};
ServerResponse.prototype.writeHeader = ServerResponse.prototype.writeHead;

// ---- the head as text ---------------------------------------------------------------------------------------------

// Bits: which of the headers that we would add are there.
const HAS_DATE = 1, HAS_CONNECTION = 2, HAS_LENGTH = 4, HAS_CODING = 8, HAS_TRAILER = 16;
const NOTED = new Set(['date', 'connection', 'content-length', 'transfer-encoding', 'trailer']);
function note(response, key, value) {
  if (!NOTED.has(key)) return 0;
  switch (key) {
    case 'date':
      return HAS_DATE;
    case 'connection':
      if (/(?:^|\W)close(?:$|\W)/i.test(value)) response._shut = true;
      else response.shouldKeepAlive = true;
      return HAS_CONNECTION;
    case 'content-length':
      response._promised = +value;
      return HAS_LENGTH;
    case 'transfer-encoding':
      if (/(?:^|\W)chunked(?:$|\W)/i.test(value)) response.chunkedEncoding = true;
      return HAS_CODING;
    case 'trailer':
      return HAS_TRAILER;
    default:
      return 0;
  }
}
function line(response, key, name, value) {
  if (!Array.isArray(value)) {
    response._lines += lineOf(name, value).text;
    return note(response, key, value);
  }
  if (key === 'cookie') return line(response, key, name, value.join('; '));
  let bits = 0;
  for (const one of value) {
    response._lines += `${name}: ${one}\r\n`;
    bits |= note(response, key, one);
  }
  return bits;
}

// Fixes the head: after this nothing of it can be changed. `length`: of the whole body, if that is known; -1 otherwise.
ServerResponse.prototype._head = function (length = -1) {
  const status = this.statusCode;
  const known = STATUS_CODES[status];
  const reason = this.statusMessage ??= known ?? 'unknown';
  if (reason !== known && !PLAIN.test(reason)) {
    if (BAD_VALUE.test(reason)) throw new codes.ERR_INVALID_CHAR('statusMessage');
    this._latin1 = true;
  }
  this.headersSent = true;
  let bits = 0;
  this._lines = '';
  if (this._extra !== null) {
    const extra = this._extra;
    for (let i = 0; i < extra.length; i += 2) bits |= line(this, lowerOf(extra[i]), extra[i], extra[i + 1]);
  } else if (this._headers !== null) {
    const headers = this._headers;
    for (let i = 0; i < headers.length; i += 3) bits |= line(this, headers[i], headers[i + 1], headers[i + 2]);
  }
  let text = (status === 200 && reason === 'OK' ? 'HTTP/1.1 200 OK\r\n' : `HTTP/1.1 ${status} ${reason}\r\n`) + this._lines;
  if (status === 204 || status === 304 || status < 200) {
    this._hasBody = false;
    // Such an answer has no body, so it can have no coding: what would be sent for it is the next answer to the client.
    if (this.chunkedEncoding) {
      this.chunkedEncoding = false;
      this.shouldKeepAlive = false;
    }
  }
  if (this.sendDate && (bits & HAS_DATE) === 0) text += dateLine();
  const server = this._link.server;
  const byDefault = (this._flags & OLD) === 0;
  if ((bits & HAS_CONNECTION) === 0) {
    if ((this._removed & 2) !== 0) {
      if (!this.shouldKeepAlive) this._shut = true;
    } else if (this.shouldKeepAlive && !server.ending && (byDefault || (bits & HAS_LENGTH) !== 0)) {
      text += server.keepAliveLine;
    } else {
      this._shut = true;
      text += 'Connection: close\r\n';
    }
  }
  if ((bits & (HAS_LENGTH | HAS_CODING)) === 0) {
    if (!this._hasBody) {
      if (this.chunkedEncoding) this.chunkedEncoding = false;
    } else if (!byDefault) {
      this._shut = true;
    } else if (length >= 0 && (bits & HAS_TRAILER) === 0 && (this._removed & 4) === 0) {
      text += lengthLine(length);
      this._promised = length;
    } else if ((this._removed & 8) === 0) {
      text += 'Transfer-Encoding: chunked\r\n';
      this.chunkedEncoding = true;
    } else {
      this._shut = true; // the end of the connection is the end of the body
    }
  }
  if ((bits & HAS_TRAILER) !== 0 && !this.chunkedEncoding) {
    this.headersSent = false;
    this._lines = '';
    throw new codes.ERR_HTTP_TRAILER_INVALID();
  }
  this._lines = text + '\r\n';
};

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
  const front = this.chunkedEncoding ? `${data.length.toString(16)}\r\n` : '';
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
  for (const callback of callbacks) callback();
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
        front = `${length.toString(16)}\r\n`;
        data += `\r\n${tail}`;
      } else {
        this._send(HOLD | CRLF, `${length.toString(16)}\r\n`, data);
        data = tail;
      }
    }
  }
  this.finished = true;
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
  if (req._events !== undefined) req._done();
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
  socketOf(this._link).destroy(error && socketOf(this._link).listenerCount('error') > 0 ? error : undefined);
  return this;
};

// ---- the rest -----------------------------------------------------------------------------------------------------

ServerResponse.prototype.flushHeaders = function () {
  if (!this.headersSent) this._head();
  if (this._lines !== '') this._send(0, '', undefined);
};
load('http_interim').install(ServerResponse, flatten);

module.exports = { ServerResponse };
