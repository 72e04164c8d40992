// SPDX-License-Identifier: MIT
// IncomingMessage: a request as the handler sees it. It has of a
// readable stream what handlers use: data, end, close, pause, resume, read, setEncoding, pipe, async iteration, destroy.
'use strict';

const EventEmitter = load('events');
const { Link, native, WHOLE, OLD, HIGH } = load('http_link');
const { socketOf } = load('http_socket');
const { codes } = load('errors');
const { fromBytes, Buffer } = load('buffer');

// Of these a second one is ignored; others are joined.
const SINGLE = new Set(['age', 'authorization', 'content-length', 'content-type', 'etag', 'expires', 'from', 'host',
  'if-modified-since', 'if-unmodified-since', 'last-modified', 'location', 'max-forwards', 'proxy-authorization', 'referer',
  'retry-after', 'server', 'user-agent']);

function add(headers, field, value, join) {
  const name = field.toLowerCase();
  if (name === '__proto__') return;
  if (name === 'set-cookie') {
    if (Object.hasOwn(headers, name)) headers[name].push(value);
    else headers[name] = [value];
  } else if (!Object.hasOwn(headers, name)) {
    headers[name] = value;
  } else if (name === 'cookie') {
    headers[name] += `; ${value}`;
  } else if (join || !SINGLE.has(name)) {
    headers[name] += `, ${value}`;
  }
}
function collect(fields, join) {
  const headers = {};
  for (let i = 0; i + 1 < fields.length; i += 2) add(headers, fields[i], fields[i + 1], join);
  return headers;
}
function collectDistinct(fields) {
  const headers = Object.create(null);
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i].toLowerCase();
    (headers[name] ??= []).push(fields[i + 1]);
  }
  return headers;
}

function resetError() {
  const error = new Error('aborted');
  error.code = 'ECONNRESET';
  return error;
}

// ---- the request --------------------------------------------------------------------------------------------------

// A message that a program makes itself, as packages do that call handlers without a server: it has what the program gives it.
function alone(message, socket) {
  message._link = new Link(-1, { joinDuplicateHeaders: false, maxHeadersCount: null });
  message._link.socket = socket;
  message._fields = [];
  message._head = '';
  message.method = null;
  message.url = '';
  message.httpVersionMinor = 1;
  message.complete = false;
}
// Most requests have no body, and nobody listens for their end: what only those need lies on the prototype until it is needed.
function IncomingMessage(link, flags, method) {
  if (!(link instanceof Link)) {
    alone(this, link);
    return;
  }
  this._link = link;
  this._head = link.head;
  this.method = method;
  this.url = link.url;
  this.httpVersionMinor = (flags & OLD) === 0 ? 1 : 0;
  this.complete = (flags & WHOLE) !== 0;
}
Object.setPrototypeOf(IncomingMessage.prototype, EventEmitter.prototype);
Object.setPrototypeOf(IncomingMessage, EventEmitter);
Object.assign(IncomingMessage.prototype, {
  aborted: false,
  destroyed: false,
  readableEnded: false,
  closed: false,
  _fields: null,
  _trailer: '',
  _flowing: null, // null: nobody has asked; then true or false
  _queue: null, // chunks that nobody has taken
  _queued: 0,
  _stopped: false, // C does not read
  _ticking: false,
  _decoder: null,
  _encoding: null,
  _waiter: null, // of the async iterator
  _fault: null,
});

const define = (name, get, set) => Object.defineProperty(IncomingMessage.prototype, name, { get, set, configurable: true, enumerable: true });
// Made when somebody looks; then it is the program's own, to be changed at will.
function lazily(name, make) {
  const slot = Symbol(name);
  define(name, function () {
    return this[slot] ??= make.call(this);
  }, function (value) {
    this[slot] = value;
  });
}
function fieldsOf(message) {
  if (message._fields === null) {
    // The connection's, as long as it still has this head; after it our own.
    if (message._link.head === message._head) {
      message._fields = message._link.pairs();
    } else {
      message._fields = message._head.split('\n').slice(1, -1);
    }
  }
  return message._fields;
}
// Those that server.maxHeadersCount lets into `headers`.
function counted(message) {
  const fields = fieldsOf(message);
  const most = message._link.server.maxHeadersCount;
  return most > 0 && fields.length > 2 * most ? fields.slice(0, 2 * most) : fields;
}
const trailersOf = (message) => message._trailer === '' ? [] : message._trailer.split('\n').slice(0, -1);
lazily('headers', function () { return collect(counted(this), this._link.server.joinDuplicateHeaders); });
lazily('headersDistinct', function () { return collectDistinct(counted(this)); });
lazily('rawHeaders', function () { return fieldsOf(this).slice(); });
// Only known at the end: an empty answer before it is not kept.
define('trailers', function () { return collect(trailersOf(this), this._link.server.joinDuplicateHeaders); });
define('trailersDistinct', function () { return collectDistinct(trailersOf(this)); });
define('rawTrailers', function () { return trailersOf(this); });
for (const name of ['socket', 'connection', 'client']) {
  define(name, function () { return this._link.id < 0 && this._link.socket === undefined ? undefined : socketOf(this._link); }, function (value) { this._link.socket = value; });
}
define('httpVersion', function () { return this.httpVersionMinor === 1 ? '1.1' : '1.0'; });
define('readable', function () { return !this.destroyed && !this.readableEnded; });
define('readableFlowing', function () { return this._flowing; });
define('readableLength', function () { return this._queued; });
define('readableEncoding', function () { return this._encoding; });
define('readableAborted', function () { return this.destroyed && !this.readableEnded; });
define('errored', function () { return this._fault; });
IncomingMessage.prototype.httpVersionMajor = 1;
IncomingMessage.prototype.readableHighWaterMark = HIGH;
IncomingMessage.prototype.statusCode = null;
IncomingMessage.prototype.statusMessage = null;

IncomingMessage.prototype.setTimeout = function (msecs, callback) {
  if (callback) this.on('timeout', callback);
  this.socket.setTimeout(msecs);
  return this;
};
// Of Node's inner ways what old packages call.
IncomingMessage.prototype._addHeaderLine = function (field, value, headers) { add(headers, field, value, this._link.server.joinDuplicateHeaders); };

// ---- its body -----------------------------------------------------------------------------------------------------

IncomingMessage.prototype._arrived = function (bytes) {
  if (this.destroyed) return;
  let chunk = fromBytes(bytes);
  if (this._decoder !== null) {
    chunk = this._decode(chunk, false);
    if (chunk === '') return;
  }
  if (this._flowing === true && this._queue === null && !this._ticking) {
    this.emit('data', chunk);
    return;
  }
  (this._queue ??= []).push(chunk);
  this._queued += chunk.length;
  if (this._queued >= HIGH && !this._stopped) {
    this._stopped = true;
    native.pause(this._link.id, true);
  }
  this._wake();
};
IncomingMessage.prototype._whole = function (trailer) {
  this._trailer = trailer;
  this.complete = true;
  if (this._decoder !== null) {
    const rest = this._decode(undefined, true);
    if (rest !== '') {
      (this._queue ??= []).push(rest);
      this._queued += rest.length;
    }
  }
  this._wake();
};
IncomingMessage.prototype._wake = function () {
  if (this._waiter !== null) {
    const waiter = this._waiter;
    this._waiter = null;
    waiter();
  } else if (this._flowing === true) {
    this._flowLater();
  } else if (this._events !== undefined && this._events.readable !== undefined && !this.readableEnded) {
    process.nextTick(() => this.emit('readable'));
  }
};
IncomingMessage.prototype._flowLater = function () {
  if (this._ticking) return;
  this._ticking = true;
  process.nextTick(flow, this);
};
function flow(message) {
  message._ticking = false;
  while (message._flowing === true && message._queue !== null && !message.destroyed) message.emit('data', message._take());
  if (message._flowing === true) message._endIfDone();
}
// The first chunk that waits.
IncomingMessage.prototype._take = function () {
  const chunk = this._queue.shift();
  if (this._queue.length === 0) this._queue = null;
  this._queued -= chunk.length;
  if (this._stopped && this._queued < HIGH) {
    this._stopped = false;
    if (this._link.id >= 0 && this._link.req === this) native.pause(this._link.id, false);
  }
  return chunk;
};
IncomingMessage.prototype._endIfDone = function () {
  if (!this.complete || this._queue !== null || this.readableEnded || this.destroyed) return;
  this.readableEnded = true;
  process.nextTick(emitEnd, this);
};
function emitEnd(message) {
  message.emit('end');
  if (message.closed) return;
  message.closed = message.destroyed = true;
  process.nextTick(emitClose, message);
}
function emitClose(message) {
  message.emit('close');
}

IncomingMessage.prototype._decode = function (chunk, last) {
  if (this._encoding === 'utf8') {
    return chunk === undefined ? this._decoder.decode() : this._decoder.decode(chunk, { stream: !last });
  }
  if (chunk === undefined) return '';
  return chunk.toString(this._encoding);
};
const ENCODINGS = { utf8: 'utf8', 'utf-8': 'utf8', latin1: 'latin1', binary: 'latin1', ascii: 'ascii', hex: 'hex' };
// Encodings whose units never lie across two chunks, and UTF-8, which has a decoder that knows about that.
IncomingMessage.prototype.setEncoding = function (encoding = 'utf8') {
  const name = ENCODINGS[`${encoding}`.toLowerCase()];
  if (name === undefined) throw new codes.ERR_UNKNOWN_ENCODING(encoding);
  this._encoding = name;
  this._decoder = name === 'utf8' ? new TextDecoder('utf-8', { ignoreBOM: true }) : name;
  if (this._queue !== null) {
    this._queue = [this._decode(Buffer.concat(this._queue), this.complete)];
    this._queued = this._queue[0].length;
  }
  return this;
};

IncomingMessage.prototype.on = function (type, listener) {
  EventEmitter.prototype.on.call(this, type, listener);
  if (type === 'data') {
    if (this._flowing !== false) this.resume();
  } else if (type === 'readable') {
    if (this._flowing === null) this._flowing = false;
    if (this._queue !== null || this.complete) this._wake();
  }
  return this;
};
IncomingMessage.prototype.addListener = IncomingMessage.prototype.on;
IncomingMessage.prototype.pause = function () {
  this._flowing = false;
  return this;
};
IncomingMessage.prototype.resume = function () {
  if (this._flowing !== true) {
    this._flowing = true;
    this._flowLater();
  }
  return this;
};
IncomingMessage.prototype.isPaused = function () {
  return this._flowing === false;
};
IncomingMessage.prototype.read = function (size) {
  if (this._queue === null) {
    if (this._flowing !== true) this._endIfDone();
    return null;
  }
  const text = this._encoding !== null;
  let all = text ? this._queue.join('') : Buffer.concat(this._queue);
  if (size !== undefined) {
    if (size > all.length && !this.complete) return null;
    if (size < all.length) {
      const rest = text ? all.slice(size) : all.subarray(size);
      all = text ? all.slice(0, size) : all.subarray(0, size);
      this._queue = [all, rest];
    }
  }
  if (this._queue.length !== 2 || this._queue[0] !== all) this._queue = [all];
  this._take();
  if (this._queue === null) this._endIfDone();
  return all;
};

IncomingMessage.prototype.pipe = function (target, options) {
  const resume = () => this.resume();
  const onData = (chunk) => {
    if (target.write(chunk) === false) {
      this.pause();
      target.once('drain', resume);
    }
  };
  const onEnd = () => target.end();
  this.on('data', onData);
  if (options?.end !== false) this.once('end', onEnd);
  this._pipes ??= [];
  this._pipes.push({ target, onData, onEnd, resume });
  target.emit('pipe', this);
  return target;
};
IncomingMessage.prototype.unpipe = function (target = undefined) {
  const all = this._pipes ?? [];
  const gone = all.filter((pipe) => target === undefined || pipe.target === target);
  if (gone.length === 0) return this;
  this._pipes = all.filter((pipe) => !gone.includes(pipe));
  for (const pipe of gone) {
    this.removeListener('data', pipe.onData);
    this.removeListener('end', pipe.onEnd);
    pipe.target.removeListener('drain', pipe.resume);
    pipe.target.emit('unpipe', this, { hasUnpiped: false });
  }
  if (this._pipes.length === 0) this.pause();
  return this;
};

IncomingMessage.prototype[Symbol.asyncIterator] = async function* () {
  this._flowing = false;
  try {
    for (;;) {
      while (this._queue !== null) yield this._take();
      if (this.readableEnded || this.complete) break;
      if (this.destroyed) throw this._fault ?? resetError();
      await new Promise((resolve) => {
        this._waiter = resolve;
      });
    }
  } finally {
    if (this.complete && this._queue === null) {
      this._endIfDone();
    } else if (!this.destroyed) {
      // A caller that leaves the loop wants no more of the body, but can still answer: as in Node the connection stays.
      this.aborted = true;
      this.emit('aborted');
      this._close();
    }
  }
};

// ---- its end ------------------------------------------------------------------------------------------------------

// The connection has gone while something was still expected of it.
IncomingMessage.prototype._abort = function () {
  if (this.closed) return;
  this.aborted = true;
  this.emit('aborted');
  this._close(resetError());
};
IncomingMessage.prototype._close = function (error) {
  if (this.closed) return;
  this.closed = this.destroyed = true;
  this._fault = error ?? null;
  this._queue = null;
  this._queued = 0;
  if (this._waiter !== null) {
    this._waiter();
    this._waiter = null;
  }
  process.nextTick(() => {
    if (error && this.listenerCount('error') > 0) this.emit('error', error);
    this.emit('close');
  });
};
// The answer is complete: listeners learn how it ended, and nothing is waited for.
IncomingMessage.prototype._done = function () {
  if (this.closed || this._eventsCount === 0) return;
  if (this.complete && this._flowing === null) this.resume();
  else if (!this.complete) this._close();
};
IncomingMessage.prototype.destroy = function (error) {
  if (this.destroyed) return this;
  if (!this.complete || !this.readableEnded) {
    this.aborted = true;
    this.emit('aborted');
    this._close(error);
    if (this._link.id >= 0 || this._link.socket) socketOf(this._link).destroy();
  } else {
    this._close(error);
  }
  return this;
};

module.exports = { IncomingMessage, socketOf, collect, collectDistinct };
