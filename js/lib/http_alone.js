// SPDX-License-Identifier: MIT
// A ServerResponse that a program makes itself, for a request that no server of ours has received: what it sends goes into the stream
// that assignSocket names. Packages that test request handlers without a server are made so.
'use strict';

const { KEEP, OLD, LATIN1, CRLF } = load('http_link');
const { Buffer } = load('buffer');
const { codes } = load('errors');

// Stands where a connection of the server would: it has no number in C.
class Alone {
  id = -1;
  server = { ending: false, keepAliveLine: 'Connection: keep-alive\r\n' };
  socket = null;
  head = ''; // the text that begins what was sent
  #waiting = []; // what was sent before there was a stream
  constructor(response) {
    this.res = response;
  }
  flushLater() {}
  write(flags, text, chunk) {
    const parts = [];
    if (this.head === '') this.head = text;
    if (text !== '') parts.push(Buffer.from(text, (flags & LATIN1) !== 0 ? 'latin1' : 'utf8'));
    if (chunk !== undefined) parts.push(Buffer.from(chunk));
    if ((flags & CRLF) !== 0) parts.push(Buffer.from('\r\n'));
    const bytes = Buffer.concat(parts);
    if (this.socket === null) {
      this.#waiting.push(bytes);
      this.res._queued = this.#waiting.reduce((sum, one) => sum + one.length, 0);
      return this.res._queued;
    }
    this.socket.write(bytes);
    return 0;
  }
  assign(socket) {
    this.socket = socket;
    const list = this.#waiting;
    this.#waiting = [];
    for (const bytes of list) socket.write(bytes);
    if (list.length > 0) this.res._drained();
  }
}

function flagsOf({ httpVersionMajor = 1, httpVersionMinor = 1 }) {
  return httpVersionMajor > 1 || (httpVersionMajor === 1 && httpVersionMinor >= 1) ? KEEP : OLD;
}

function install(ServerResponse) {
  ServerResponse.prototype.assignSocket = function (socket) {
    if (!(this._link instanceof Alone)) throw new codes.ERR_HTTP_SOCKET_ASSIGNED();
    if (this._link.socket !== null) throw new codes.ERR_HTTP_SOCKET_ASSIGNED();
    this._link.assign(socket);
    this.emit('socket', socket);
  };
  ServerResponse.prototype.detachSocket = function () {
    if (this._link instanceof Alone) this._link.socket = null;
  };
}

module.exports = { Alone, flagsOf, install };
