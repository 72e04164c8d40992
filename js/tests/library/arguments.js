// SPDX-License-Identifier: MIT
// What several modules refuse among their arguments, and what they take; and the channels of an HTTP server.
'use strict';
const { execFile, fork, spawnSync } = require('child_process');
const { isBuiltin } = require('module');
const { stripVTControlCharacters } = require('util');
const { AsyncLocalStorage } = require('async_hooks');
const channels = require('diagnostics_channel');
const http = require('http');

function tried(name, call) {
  try {
    console.log(name, call());
  } catch (error) {
    console.log(name, error.code);
  }
}
for (const value of ['text', ['a'], 1, true]) {
  tried('execFile options', () => execFile('/bin/true', [], value));
  tried('execFile callback', () => execFile('/bin/true', {}, value));
  tried('fork options', () => fork(__filename, [], value));
  if (value !== 1) tried('killSignal', () => spawnSync('/bin/true', { killSignal: value }));
}
for (const value of [undefined, null, {}, 1, 'fs', 'node:fs', 'node:test', 'test', 'none']) tried('isBuiltin', () => isBuiltin(value));
for (const end of ['\x07', '\x1b\\', '\x9c']) {
  tried('stripped', () => JSON.stringify(stripVTControlCharacters(`a\x1b]8;;mailto:x@example.com${end}link\x1b]8;;${end}\x1b[31mb`)));
}
tried('concat', () => Buffer.concat([], 10).length);
const words = new Uint16Array([1, 2, 3]);
for (const args of [[], [1], [1, 1], [3], [0, 9], [-1], [0.5], ['1'], [0, -1], [0, '1']]) {
  tried('copyBytesFrom', () => Buffer.copyBytesFrom(words, ...args).toString('hex'));
}
execFile('/bin/echo', ['of execFile'], null, (error, text) => {
  console.log(error, text.trim());
  const store = new AsyncLocalStorage();
  channels.subscribe('http.server.request.start', ({ request, response, socket, server: its }) => {
    console.log('start', request.url, response.req === request, socket === request.socket, its === server);
    store.enterWith(request);
  });
  channels.subscribe('http.server.response.finish', ({ request, response, server: its }) => {
    console.log('finish', response.writableEnded, store.getStore() === request, its === server);
  });
  const server = http.createServer((req, res) => setImmediate(() => res.end('done')));
  server.listen(0, '127.0.0.1', () => {
    http.get({ port: server.address().port, host: '127.0.0.1', path: '/path', agent: false }, (res) => {
      res.resume().on('end', () => server.close());
    });
  });
});
