// SPDX-License-Identifier: MIT
// What a server answers, as a client sees it: the IncomingMessage of http.request, a stream.
'use strict';

const { Readable } = load('stream');
const { IncomingMessage, collect, collectDistinct } = load('http_incoming');

function Answer(socket, head, status, old, join, most) {
  Reflect.apply(Readable, this, [{ autoDestroy: true, highWaterMark: socket?.readableHighWaterMark }]);
  this.socket = socket;
  this.statusCode = status;
  this.statusMessage = head[0];
  this.httpVersionMajor = 1;
  this.httpVersionMinor = old ? 0 : 1;
  this.httpVersion = old ? '1.0' : '1.1';
  this.rawHeaders = head.slice(1);
  this.rawTrailers = [];
  this.joinDuplicateHeaders = join;
  this._most = most > 0 ? 2 * most : undefined; // of what is in `headers`
  this.aborted = false;
  this.complete = false;
  this.upgrade = false;
  this.url = '';
  this.method = null;
  this._consumed = this._dumped = false;
}
Object.setPrototypeOf(Answer.prototype, Readable.prototype);
Object.setPrototypeOf(Answer, Readable);
Object.defineProperty(Answer, 'name', { value: 'IncomingMessage' });
// Programs ask `instanceof http.IncomingMessage` of both kinds.
Object.defineProperty(IncomingMessage, Symbol.hasInstance, {
  value(object) {
    return Reflect.apply(Function.prototype[Symbol.hasInstance], this, [object]) || (this === IncomingMessage && object instanceof Answer);
  },
});

function lazily(name, make) {
  const slot = Symbol(name);
  Object.defineProperty(Answer.prototype, name, {
    configurable: true, enumerable: true,
    get() { return this[slot] ??= make(this); },
    set(value) { this[slot] = value; },
  });
}
lazily('headers', (answer) => collect(answer.rawHeaders.slice(0, answer._most), answer.joinDuplicateHeaders));
lazily('headersDistinct', (answer) => collectDistinct(answer.rawHeaders.slice(0, answer._most)));
lazily('trailers', (answer) => collect(answer.rawTrailers, answer.joinDuplicateHeaders));
lazily('trailersDistinct', (answer) => collectDistinct(answer.rawTrailers));
Object.defineProperty(Answer.prototype, 'connection', { get() { return this.socket; }, set(value) { this.socket = value; }, configurable: true });

Answer.prototype.setTimeout = function (msecs, callback) {
  if (callback) this.on('timeout', callback);
  this.socket.setTimeout(msecs);
  return this;
};
Answer.prototype._read = function () {
  this._consumed = true;
  if (this.socket?.readable) this.socket.resume();
};
Answer.prototype._destroy = function (error, callback) {
  if (!this.readableEnded || !this.complete) {
    this.aborted = true;
    this.emit('aborted');
  }
  // A connection whose answer was not read to its end is of no use.
  if (this.socket && !this.socket.destroyed && this.aborted) {
    this.socket.destroy(error);
    this.socket.once?.('error', () => {});
  }
  if (!error || this.listenerCount('error') === 0) error = null;
  process.nextTick(callback, error);
};
// Nobody wants it: what comes is thrown away.
Answer.prototype._dump = function () {
  if (this._dumped) return;
  this._dumped = true;
  this.removeAllListeners('data');
  this.resume();
};

module.exports = { Answer };
