// SPDX-License-Identifier: MIT
// A stream as a connection of the HTTP server: bytes are passed between it and one end of a pair of sockets (http_guest.c).
'use strict';

const { guest, native: http } = load('http_link');
const { Handle, native, adopt } = load('net_link');
const { fromBytes } = load('buffer');

function join(server, host, stream) {
  const pair = native.pair();
  if (typeof pair === 'number') {
    stream.destroy();
    return undefined;
  }
  const handle = new Handle(pair[0]);
  const link = guest(server, host, pair[1]);
  if (link === undefined) {
    handle.close();
    stream.destroy();
    return undefined;
  }
  link.guest = link.socket = stream;
  stream.allowHalfOpen = true; // a client that sends no more is still answered
  let ended = false;
  let queued = false;
  const over = () => {
    handle.close();
    if (typeof stream.destroySoon === 'function') stream.destroySoon();
    else stream.end(() => stream.destroy());
  };
  handle.onData = (data) => {
    if (stream.destroyed || stream.write(data)) return;
    handle.readStop();
    stream.once('drain', () => handle.readStart());
  };
  handle.onEnd = handle.onFail = over;
  handle.onSent = (number) => {
    queued = false;
    if (number < 0) return;
    if (ended) handle.shutdown();
    else stream.resume();
  };
  stream.on('data', (chunk) => {
    if (handle.write(chunk) > 0) {
      queued = true;
      stream.pause();
    }
  });
  stream.on('end', () => {
    ended = true;
    if (!queued) handle.shutdown();
  });
  stream.on('error', () => handle.close());
  stream.on('close', () => handle.close());
  handle.readStart();
  return link;
}

// 'upgrade' and 'connect': the connection becomes a socket, and is the listener's.
function take(server, link, req) {
  const event = req.method === 'CONNECT' ? 'connect' : 'upgrade';
  const taken = http.take(link.id);
  if (taken === undefined) return;
  const handle = adopt(taken[0]);
  if (typeof handle === 'number') return; // no memory: it is closed
  const net = load('net');
  const socket = new net.Socket({ handle, allowHalfOpen: true, manualStart: true });
  const { guest: carrier } = link;
  if (carrier?.encrypted) socket.encrypted = true;
  socket.server = server;
  socket.parser = null;
  link.guest = link.socket = socket;
  req.upgrade = true;
  if (!server.emit(event, req, socket, fromBytes(taken[1]))) socket.destroy();
}

module.exports = { join, take };
