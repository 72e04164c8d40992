// SPDX-License-Identifier: MIT
// Clients that reset their connection, in every state that a connection of node:http has: the server goes on, and nothing is left.
// (Node 20 does not see the reset of a client whose body nobody reads, so it did not write what is expected here.)
'use strict';
const http = require('http');
const https = require('https');
const net = require('net');
const events = require('events');
const { readFileSync } = require('fs');
const { join } = require('path');

const pem = (name) => readFileSync(join(__dirname, '..', 'tls', name));
const listen = (server) => new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server.address().port)));
const HEAD = 'POST /PATH HTTP/1.1\r\nHost: a\r\n';
// What is sent, and where the client goes: when the server has done that, or at once.
const states = {
  'nothing sent': ['', 'connection'],
  'part of a head': ['GET / HT', 'connection'],
  'a head': [`${HEAD}\r\n`.replace('PATH', 'hold'), 'request'],
  'part of a body': [`${HEAD}Content-Length: 9\r\n\r\nabc`.replace('PATH', 'hold'), 'request'],
  'a body that nobody reads': [`${HEAD}Content-Length: 200000\r\n\r\n${'x'.repeat(100000)}`.replace('PATH', 'hold'), 'request'],
  'part of a chunk': [`${HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\nab`.replace('PATH', 'read'), 'request'],
  'a bad chunk': [`${HEAD}Transfer-Encoding: chunked\r\n\r\nzz\r\n`.replace('PATH', 'read'), 'answer'],
  'an endless answer': [`${HEAD}\r\n`.replace('PATH', 'endless'), 'answer'],
  'an answer in parts': [`${HEAD}\r\n`.replace('PATH', 'part'), 'answer'],
  'a whole answer': [`${HEAD}\r\n`.replace('PATH', 'whole'), 'answer'],
  'several requests': [`${HEAD}\r\n`.replace('PATH', 'whole').repeat(3) + `${HEAD}\r\n`.replace('PATH', 'hold'), 'answer'],
  'Expect': [`${HEAD}Expect: 100-continue\r\nContent-Length: 3\r\n\r\n`.replace('PATH', 'read'), 'answer'],
  'no request': ['NO SUCH THING\r\n\r\n', 'answer'],
  'another protocol': [`${HEAD}Connection: upgrade\r\nUpgrade: x\r\n\r\n`, 'upgrade'],
};
function handler(req, res) {
  req.on('error', () => {}); // it would be asked for by programs that read
  if (req.url === '/read') req.resume();
  if (req.url === '/part') res.write('part');
  if (req.url === '/whole') res.end('whole');
  if (req.url === '/endless') {
    const more = () => {
      while (!res.destroyed && res.write('y'.repeat(65536)));
      if (!res.destroyed) res.once('drain', more);
    };
    more();
  }
}
// Resets, and resolves when the server holds no connection any more.
async function reset(server, port, text, when) {
  const heard = when === 'answer' ? undefined : events.once(server, when);
  const socket = net.connect(port, '127.0.0.1').on('error', () => {});
  await events.once(socket, 'connect');
  socket.write(text);
  await (heard ?? events.once(socket, 'data'));
  socket.resetAndDestroy();
  const count = () => new Promise((resolve) => server.getConnections((error, held) => resolve(held)));
  while (await count() > 0) await new Promise(setImmediate);
}
const kinds = {
  plain: () => http.createServer(handler),
  'sockets that are looked at': () => http.createServer(handler).on('connection', (socket) => socket.on('close', () => {})),
  clientError: () => http.createServer(handler).on('clientError', (error, socket) => socket.write('HTTP/1.1 400 No\r\n\r\n')),
  guests: () => {
    const inner = http.createServer(handler);
    const outer = net.createServer((socket) => inner.emit('connection', socket));
    for (const name of ['request', 'upgrade']) inner.on(name, (...args) => outer.emit(name, ...args));
    return outer;
  },
};
let uncaught = 0;
process.on('uncaughtException', (error) => {
  uncaught++;
  console.log('uncaught', error);
});
(async () => {
  for (const [kind, make] of Object.entries(kinds)) {
    const server = make();
    server.on('upgrade', (req, socket) => socket.on('error', () => {}).resume());
    server.on('connection', () => {});
    const port = await listen(server);
    let count = 0;
    for (const [text, when] of Object.values(states)) {
      await reset(server, port, text, when);
      count++;
    }
    console.log(kind, count, uncaught);
    await new Promise((resolve) => server.close(resolve));
  }
  // With TLS: before, in the midst of and after the handshake.
  const server = https.createServer({ key: pem('server.key.pem'), cert: pem('server.pem') }, handler);
  const port = await listen(server);
  for (const text of ['', '\x16\x03\x01', 'GET / HTTP/1.1\r\n\r\n']) await reset(server, port, Buffer.from(text, 'latin1'), 'connection');
  for (const path of ['/hold', '/whole', '/part']) {
    const heard = events.once(server, 'request');
    const req = https.request({ port, host: '127.0.0.1', path, method: 'POST', rejectUnauthorized: false, agent: false }).on('error', () => {});
    req.flushHeaders();
    await heard;
    req.socket._parent?.resetAndDestroy?.();
    req.destroy();
  }
  await new Promise((resolve) => server.close(resolve));
  console.log('TLS', uncaught);
})();
