// SPDX-License-Identifier: MIT
// What programs ask of a request's socket: who is there, a timeout, and an end. The bytes are C's.
'use strict';

const EventEmitter = load('events');
const { native, HIGH, LAST, SHUT } = load('http_link');
const { codes, validateFunction } = load('errors');
const { Buffer } = load('buffer');

class Socket extends EventEmitter {
  #link;
  #remote;
  #local;
  constructor(link) {
    super();
    this.#link = link;
    this.#remote = native.remote(link.id);
    this.#local = native.local(link.id);
    this.destroyed = false;
    this.writable = true;
    this.readable = true;
    this.timeout = 0;
    this.on('error', failed);
  }
  // Also when the answer that ends the connection was handed out.
  get writableEnded() { return !this.writable || (this.#link.res !== null && this.#link.res._shut && this.#link.res.finished); }
  // An error that C has answered already: those who listen hear of it.
  tell(error) {
    this.removeListener('error', failed);
    this.on('error', () => {}); // a later one needs no answer either
    this.emit('error', error);
  }
  get writableLength() { return this.#link.id < 0 ? 0 : native.queued(this.#link.id); }
  get writableCorked() { return this.#link.res?.writableCorked ?? 0; }
  get writableHighWaterMark() { return HIGH; }
  get readableHighWaterMark() { return HIGH; }
  get parser() { return null; }
  // Emits 'timeout' when nothing has come or gone for so long.
  setTimeout(msecs, callback) {
    if (typeof msecs !== 'number') throw new codes.ERR_INVALID_ARG_TYPE('msecs', 'number', msecs);
    if (!(msecs >= 0)) throw new codes.ERR_OUT_OF_RANGE('msecs', 'a non-negative finite number', msecs);
    if (callback !== undefined) validateFunction(callback, 'callback');
    if (this.destroyed) return this;
    this.timeout = msecs;
    clearTimeout(this.#link.timer);
    this.#link.timer = null;
    if (msecs === 0) {
      if (callback !== undefined) this.removeListener('timeout', callback);
      return this;
    }
    this.#link.timer = setTimeout(expired, msecs, this.#link);
    this.#link.timer.unref();
    if (callback !== undefined) this.once('timeout', callback);
    return this;
  }
  setEncoding() { throw new codes.ERR_HTTP_SOCKET_ENCODING(); }
  ref() { return this; }
  unref() { return this; }
  get remoteAddress() { return this.#remote?.[0]; }
  get remoteFamily() { return this.#remote?.[1]; }
  get remotePort() { return this.#remote?.[2]; }
  get localAddress() { return this.#local?.[0]; }
  get localFamily() { return this.#local?.[1]; }
  get localPort() { return this.#local?.[2]; }
  get server() { return this.#link.server; }
  get _httpMessage() { return this.#link.res; }
  address() {
    const local = this.#local;
    return local === undefined ? {} : { address: local[0], family: local[1], port: local[2] };
  }
  setNoDelay(on = true) {
    if (this.#link.id >= 0) native.option(this.#link.id, 0, !!on);
    return this;
  }
  setKeepAlive(on = false) {
    if (this.#link.id >= 0) native.option(this.#link.id, 1, !!on);
    return this;
  }
  // Bytes past the protocol: an answer to 'clientError'.
  write(data, encoding) {
    if (this.#link.id < 0 || !this.writable) return false;
    return native.send(this.#link.id, 0, typeof data === 'string' ? Buffer.from(data, encoding) : data) < HIGH;
  }
  end(data, encoding) {
    if (this.#link.id < 0 || !this.writable) return this;
    this.writable = false;
    const bytes = typeof data === 'string' ? Buffer.from(data, encoding) : data;
    native.send(this.#link.id, LAST | SHUT, bytes ?? undefined);
    return this;
  }
  destroy(error) {
    if (this.destroyed) return this;
    this.destroyed = true;
    this.writable = this.readable = false;
    clearTimeout(this.#link.timer);
    if (this.#link.id >= 0) native.destroy(this.#link.id);
    if (error) process.nextTick(() => this.emit('error', error));
    return this;
  }
  destroySoon() {
    this.writable = false;
    if (this.#link.id >= 0) native.finish(this.#link.id);
  }
}
// An error of a socket that nobody else hears of is the server's, and ends the connection.
function failed(error) {
  this.removeListener('error', failed);
  if (this.listenerCount('error') === 0) this.on('error', () => {});
  if (this.server.emit('clientError', error, this)) return;
  const answer = this._httpMessage;
  if (this.writable && (answer === null || !answer.headersSent)) this.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n');
  this.destroy(error);
}
// The request, the answer or the server may care for a connection on which nothing happens; otherwise it is closed.
function idle(socket, req, res, server) {
  const heard = [req && !req.complete && req.emit('timeout', socket), res && res.emit('timeout', socket), server.emit('timeout', socket)];
  if (!heard.includes(true)) socket.destroy();
}
function expired(link) {
  if (link.id < 0) return;
  // Bytes that still leave are no silence.
  if (native.queued(link.id) > 0 && link.queuedAtLast !== native.queued(link.id)) {
    link.queuedAtLast = native.queued(link.id);
    link.timer.refresh();
    return;
  }
  idle(link.socket, link.req, link.res, link.server);
  link.socket.emit('timeout');
}
// A new connection of a server with a timeout.
function watch(link) {
  const socket = socketOf(link);
  if (link.guest !== undefined) socket.on('timeout', () => idle(socket, link.req, link.res, link.server));
  if (link.server.timeout > 0 && typeof socket.setTimeout === 'function') socket.setTimeout(link.server.timeout);
}
function socketOf(link) {
  return link.socket ??= link.guest ?? new Socket(link);
}

module.exports = { Socket, socketOf, watch };
