// SPDX-License-Identifier: MIT
// Smaller rules of node:http: ends of messages, options of both sides, timeouts, errors of sockets.
'use strict';
const http = require('http');
const net = require('net');
const events = require('events');
const { finished } = require('stream');

const listen = (server) => new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server.address().port)));
const close = (server) => new Promise((resolve) => server.close(resolve));
function ask(options) {
  return new Promise((resolve, reject) => {
    const req = http.request({ host: '127.0.0.1', ...options }, (res) => {
      const text = [];
      res.setEncoding('utf8').on('data', (piece) => text.push(piece));
      res.on('end', () => { res.atEnd = res.destroyed; });
      res.on('aborted', () => console.log('aborted'));
      res.on('close', () => resolve({ req, res, body: text.join('') }));
    });
    req.on('error', reject);
    options.prepare?.(req);
    req.end();
  });
}
async function raw(port, text) {
  const socket = net.connect(port, '127.0.0.1');
  socket.setEncoding('latin1');
  let all = '';
  socket.on('data', (piece) => { all += piece; });
  socket.write(text);
  await events.once(socket, 'close');
  return all;
}
async function bodies() {
  const server = http.createServer((req, res) => {
    if (req.url === '/304') {
      res.statusCode = 304;
      res.setHeader('Content-Length', 11);
      res.end();
    } else {
      res.end('text');
    }
  });
  const port = await listen(server);
  const agent = new http.Agent({ keepAlive: true });
  const empty = await ask({ port, agent, path: '/304' });
  console.log(empty.res.statusCode, empty.res.headers['content-length'], JSON.stringify(empty.body), empty.res.atEnd, empty.res.destroyed);
  const next = await ask({ port, agent, path: '/' });
  console.log(next.body, next.res.atEnd, next.req.reusedSocket, next.req.writable, next.req.destroyed);
  agent.destroy();
  await close(server);
}
async function headers() {
  const server = http.createServer({ uniqueHeaders: ['x-one'] }, (req, res) => {
    console.log(req.headers.extra, req.rawHeaders[req.rawHeaders.indexOf('x-many') + 1]);
    res.setHeader('x-one', ['a', 'b']);
    res.setHeader('x-two', ['c', 'd']);
    res.end();
  });
  const port = await listen(server);
  const url = new URL(`http://127.0.0.1:${port}/`);
  url.headers = { extra: 'yes', 'x-many': ['1', '2'] };
  const req = http.request(url, { uniqueHeaders: ['X-Many'], agent: false });
  req.end();
  const [res] = await events.once(req, 'response');
  console.log(res.rawHeaders.slice(0, 6));
  res.resume();
  await events.once(res, 'close');
  const few = await ask({ port, agent: false, prepare: (one) => { one.maxHeadersCount = 2; } });
  console.log(Object.keys(few.res.headers), few.res.rawHeaders.length > 4);
  await close(server);
}
async function limits() {
  for (const options of [[], 'no', { headersTimeout: 2000, requestTimeout: 1000 }]) {
    try {
      http.createServer(options);
      console.log('taken');
    } catch (error) {
      console.log(error.code);
    }
  }
  const server = http.createServer({ rejectNonStandardBodyWrites: true }, (req, res) => {
    res.strictContentLength = true;
    if (req.method === 'HEAD') {
      try { res.end('body'); } catch (error) { console.log(error.code); }
      res.end();
      return;
    }
    res.setHeader('Content-Length', 2);
    res.write('ab');
    try { res.write('c'); } catch (error) { console.log(error.code); }
    res.end();
  });
  const port = await listen(server);
  await ask({ port, agent: false, method: 'HEAD' });
  console.log((await ask({ port, agent: false })).body);
  await close(server);
}
async function ends() {
  let order = '';
  const done = new Promise((resolve) => {
    const server = http.createServer((req, res) => {
      res.on('close', () => { order += 'close '; });
      finished(res, () => { order += 'finished '; resolve(server); });
      console.log(res.errored, req.socket instanceof net.Socket, req.socket.writableEnded);
      res.shouldKeepAlive = false;
      res.on('finish', () => console.log('ended', req.socket.writableEnded));
      res.end('x');
    });
    listen(server).then((port) => ask({ port, agent: false }));
  });
  const server = await done;
  console.log(order);
  await close(server);
}
async function queued() {
  const answers = [];
  const server = http.createServer((req, res) => { answers.push(res); });
  const port = await listen(server);
  const agent = new http.Agent({ maxSockets: 1 });
  const first = ask({ port, agent });
  await events.once(server, 'request');
  const second = http.get({ host: '127.0.0.1', port, agent });
  second.on('error', () => {});
  const third = ask({ port, agent, path: '/third' });
  second.abort();
  console.log(Object.values(agent.requests)[0].length);
  answers.shift().end('one');
  console.log((await first).body);
  if (answers.length === 0) await events.once(server, 'request');
  console.log(answers[0].req.url);
  answers.shift().end('three');
  console.log((await third).body, Object.keys(agent.requests).length);
  await close(server);
}
async function timeouts() {
  const server = http.createServer((req, res) => { res.flushHeaders(); });
  const port = await listen(server);
  const req = http.get({ host: '127.0.0.1', port, agent: false });
  const [res] = await events.once(req, 'response');
  res.setTimeout(20);
  await events.once(res, 'timeout');
  console.log('answer timed out');
  res.on('error', () => {});
  req.destroy();
  await events.once(req, 'close');
  const warned = events.once(process, 'warning');
  const long = http.get({ host: '127.0.0.1', port, agent: false }).setTimeout(2 ** 40);
  console.log((await warned)[0].name);
  long.on('error', () => {});
  await new Promise((resolve) => long.on('close', resolve).destroy());
  server.closeAllConnections();
  await close(server);
}
async function errors() {
  const server = http.createServer(() => {});
  const port = await listen(server);
  server.once('clientError', (error, socket) => {
    console.log(error.code, '|', error.reason);
    socket.destroy();
  });
  await raw(port, 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n');
  server.once('connection', (socket) => socket.on('error', (error) => console.log('socket:', error.code)));
  console.log(JSON.stringify(await raw(port, 'NO SUCH\r\n\r\n')));
  // A later error, that nobody hears, is not the process's end; and a fault that the program does not answer ends with the client.
  server.once('connection', (socket) => socket.once('error', () => socket.emit('error', new Error('a later one'))));
  await raw(port, 'NO SUCH\r\n\r\n');
  server.once('clientError', (error) => console.log('unanswered:', error.code));
  const silent = net.connect(port, '127.0.0.1').resume();
  silent.end('NO SUCH\r\n\r\n');
  await events.once(silent, 'close');
  await close(server);
  // An error of a socket that nobody hears ends the connection, and not the process.
  const loud = http.createServer((req) => { req.socket.emit('error', new Error('of the socket')); });
  console.log(JSON.stringify((await raw(await listen(loud), 'GET / HTTP/1.1\r\nHost: a\r\n\r\n')).split('\r\n')[0]));
  await close(loud);
}
// Answers with more behind them.
async function extra() {
  const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
  for (const more of [answer, 'no answer']) {
    const server = net.createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => socket.end(answer + more));
    });
    const port = await listen(server);
    const req = http.get({ port, host: '127.0.0.1' });
    let text = '';
    req.on('error', (error) => console.log('error', error.code));
    req.on('response', (res) => res.on('data', (piece) => { text += piece; }).on('end', () => console.log('end', text, res.complete)));
    await new Promise((resolve) => req.on('close', resolve));
    await close(server);
    await fetch(`http://127.0.0.1:${await listen(server)}/`).then((response) => response.text()).then((body) => console.log('fetch', body));
    await close(server);
  }
}
async function classes() {
  function Old(handler) { http.Server.call(this, handler); }
  Object.setPrototypeOf(Old.prototype, http.Server.prototype);
  Object.setPrototypeOf(Old, http.Server);
  const server = new Old((req, res) => {
    res._writeRaw('HTTP/1.1 102 Processing\r\n\r\n');
    res.end('old');
  });
  server.on('upgrade', () => {});
  const port = await listen(server);
  console.log((await ask({ port, agent: false })).body, server instanceof Old);
  await close(server);
  events.captureRejections = true;
  const failing = http.createServer(async (req, res) => {
    res.setHeader('x-lost', '1');
    throw new Error('in the handler');
  });
  const answer = await ask({ port: await listen(failing), agent: false });
  console.log(answer.res.statusCode, answer.res.headers['x-lost'], answer.body);
  await close(failing);
}
(async () => {
  for (const part of [bodies, headers, limits, ends, queued, timeouts, errors, extra, classes]) {
    console.log(`- ${part.name}`);
    await part();
  }
})();
