// SPDX-License-Identifier: MIT
// A request that is piped somewhere and taken back; a limit of output that spawn does not look at.
'use strict';

const { spawn } = require('node:child_process');
const http = require('node:http');
const { Writable } = require('node:stream');

const server = http.createServer((request, response) => {
  const sink = new Writable({ write(chunk, encoding, done) { done(); } });
  const other = new Writable({ write(chunk, encoding, done) { done(); } });
  sink.on('unpipe', (from) => console.log('unpiped', from === request));
  console.log(request.unpipe() === request, request.pipe(sink) === sink, request.unpipe(other) === request);
  request.unpipe(sink);
  request.unpipe(sink);
  console.log(sink.writableEnded);
  const pieces = [];
  request.on('data', (piece) => pieces.push(piece));
  request.on('end', () => response.end(`got ${Buffer.concat(pieces)}, ${sink.writableEnded}`));
  request.resume();
});
server.listen(0, () => {
  const request = http.request({ port: server.address().port, method: 'POST' }, (response) => {
    response.setEncoding('utf8');
    response.on('data', (text) => console.log(text));
    response.on('end', () => {
      server.close();
      spawn('true', [], { maxBuffer: [1, 2] }).on('close', (code) => console.log('closed', code));
    });
  });
  request.end('a body');
});
