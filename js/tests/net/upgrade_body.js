// SPDX-License-Identifier: MIT
// What follows an answer 101 is the other protocol's, also if its head speaks of a body.
'use strict';
const http = require('http');
const net = require('net');

const server = net.createServer((socket) => {
  socket.once('data', () => socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: raw\r\nTransfer-Encoding: chunked\r\n\r\nnumbers: 0xzz'));
});
server.listen(0, '127.0.0.1', () => {
  const request = http.request({ port: server.address().port, host: '127.0.0.1', headers: { Connection: 'upgrade', Upgrade: 'raw' } });
  request.on('error', (error) => console.log('error', error.code));
  request.on('response', () => console.log('response'));
  request.on('upgrade', (answer, socket, head) => {
    let text = head.toString();
    socket.on('data', (data) => { text += data; });
    socket.on('end', () => {
      console.log(answer.statusCode, answer.headers.upgrade, text);
      server.close();
    });
    socket.resume();
  });
  request.end();
});
