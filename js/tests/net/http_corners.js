'use strict';
// Corners of node:http as a client: a timeout is told once, a signal has one listener, any stream may be the connection; and a server that names its own Keep-Alive.
const http = require('http');
const { getEventListeners } = require('events');
const { duplexPair } = require('stream');

const server = http.createServer((req, res) => {
  if (req.url === '/never') return;
  res.setHeader('Keep-Alive', 'timeout=50');
  res.end('ok');
});
function step(name, run) {
  return new Promise((resolve) => run((...words) => {
    console.log(name, ...words);
    resolve();
  }));
}
server.listen(0, async () => {
  const { port } = server.address();
  await step('keep-alive', (done) => http.get({ port, agent: false, headers: { connection: 'keep-alive' } }, (res) => {
    res.resume().on('end', () => done(res.headers['keep-alive'], res.headers.connection));
  }));
  await step('timeouts', (done) => {
    let count = 0;
    const req = http.get({ port, path: '/never', timeout: 20, agent: false });
    req.on('timeout', () => {
      count++;
      setTimeout(() => req.destroy(), 100);
    });
    req.on('error', (error) => done(count, error.code));
  });
  await step('signal', (done) => {
    const controller = new AbortController();
    const req = http.get({ port, path: '/never', signal: controller.signal });
    const before = getEventListeners(controller.signal, 'abort').length;
    req.on('socket', () => setImmediate(() => controller.abort()));
    req.on('error', (error) => done(before, error.name, error.code));
  });
  server.closeAllConnections();
  server.close();

  const [client, other] = duplexPair();
  other.setEncoding('utf8').once('data', (head) => {
    console.log(head.split('\r\n')[0]);
    other.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi');
  });
  await step('another stream', (done) => http.get({ createConnection: () => client, path: '/x', host: 'host' }, (res) => {
    res.setEncoding('utf8').on('data', (text) => done(res.statusCode, text));
  }));
});
