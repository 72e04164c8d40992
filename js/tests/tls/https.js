// node:https and fetch: requests, kept connections, resumed sessions, bodies, faults, and the end of a server.
'use strict';
const https = require('node:https');
const http = require('node:http');
const tls = require('node:tls');
const net = require('node:net');
const fs = require('node:fs');
const path = require('node:path');
const { once } = require('node:events');

const read = (name) => fs.readFileSync(path.join(__dirname, name));
const ca = read('ca.pem');
const own = { key: read('server.key.pem'), cert: read('server.pem') };
process.on('warning', () => {});

const server = https.createServer(own, (req, res) => {
  let length = 0;
  req.on('data', (chunk) => { length += chunk.length; });
  req.on('end', () => {
    const { socket } = req;
    res.setHeader('X-Seen', `${socket.encrypted} ${socket instanceof tls.TLSSocket} ${socket.servername} ${socket.remoteAddress}`);
    if (req.url === '/big') res.end(Buffer.alloc(300000, 'big'));
    else if (req.url === '/cut') { res.write('some'); setImmediate(() => socket.destroy()); } else res.end(`${req.method} ${req.url} ${length}`);
  });
  req.on('error', () => {});
});

function ask(options, body) {
  return new Promise((resolve) => {
    const req = https.request({ port: server.address().port, host: '127.0.0.1', servername: 'localhost', ca, ...options }, async (res) => {
      const { socket } = res;
      const resumed = socket.isSessionReused();
      const chunks = [];
      try {
        for await (const chunk of res) chunks.push(chunk);
      } catch (error) {
        resolve(error.code);
        return;
      }
      const text = Buffer.concat(chunks).toString();
      setImmediate(resolve, [res.statusCode, res.headers['x-seen'], text.length > 100 ? text.length : text, req.reusedSocket, resumed]);
    });
    req.on('error', (error) => resolve(error.code));
    req.end(body);
  });
}

(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  const agent = new https.Agent({ keepAlive: true, ca });
  console.log('first', await ask({ agent, path: '/a' }));
  console.log('kept', await ask({ agent, path: '/b', method: 'POST' }, Buffer.alloc(1 << 20)));
  agent.destroy();
  const short = new https.Agent({ ca });
  console.log('big', await ask({ agent: short, path: '/big' }));
  console.log('resumed', await ask({ agent: short, path: '/c' }));
  console.log('cut', await ask({ agent: short, path: '/cut' }));
  console.log('not trusted', await ask({ ca: undefined, agent: false }));
  console.log('other name', await ask({ servername: 'wrong.test', agent: false }));
  console.log('unchecked', (await ask({ servername: 'wrong.test', agent: false, rejectUnauthorized: false }))[0]);
  const plain = http.get({ port, host: '127.0.0.1' });
  console.log('plain', (await once(plain, 'error'))[0].code);
  try {
    https.get('http://localhost');
  } catch (error) {
    console.log(error.code);
  }
  console.log(https.globalAgent.defaultPort, https.globalAgent.protocol, new https.Agent().getName({ host: 'h', port: 1, servername: 'h', ca: 'c', rejectUnauthorized: false }));

  try {
    await fetch(`https://localhost:${port}/`);
  } catch (error) {
    console.log(error.message, error.cause.code);
  }
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
  const answer = await fetch(`https://localhost:${port}/fetched`, { method: 'POST', body: 'four' });
  console.log(answer.status, answer.url === `https://localhost:${port}/fetched`, answer.headers.get('x-seen').slice(0, 9), await answer.text());

  // A stream that a program hands to a server is a connection like others.
  const carrier = http.createServer((req, res) => res.end(`carried ${req.url}`));
  const door = net.createServer((socket) => carrier.emit('connection', socket));
  door.listen(0, '127.0.0.1');
  await once(door, 'listening');
  const client = net.connect(door.address().port, '127.0.0.1');
  client.end('GET /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  let text = '';
  for await (const chunk of client) text += chunk;
  console.log(text.split('\r\n')[0], text.split('\r\n\r\n')[1]);
  await new Promise((resolve) => door.close(resolve));

  server.close(() => console.log('closed'));
  server.closeAllConnections();
})();
