// 'upgrade' and 'connect' of an HTTP server, and a server that waits for neither.
'use strict';
const http = require('node:http');
const net = require('node:net');
const { once } = require('node:events');

const listen = async (server) => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server.address().port;
};
const close = (server) => new Promise((resolve) => server.close(resolve));
async function whole(socket) {
  let text = '';
  for await (const chunk of socket) text += chunk;
  return text;
}

(async () => {
  const server = http.createServer((req, res) => res.end(`plain ${req.url} ${req.headers.upgrade}`));
  let port = await listen(server);
  const wanted = { connection: 'Upgrade', upgrade: 'echo' };
  const [without] = await once(http.get({ port, host: '127.0.0.1', path: '/none', headers: wanted, agent: false }), 'response');
  console.log(without.statusCode, await whole(without));

  server.on('upgrade', (req, socket, head) => {
    console.log('upgrade', req.method, req.url, req.headers.upgrade, req.upgrade, head.toString(), socket instanceof net.Socket, req.socket === socket);
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n');
    if (head.length > 0) socket.write(head);
    socket.pipe(socket);
  });
  server.on('connect', (req, socket, head) => {
    console.log('connect', req.url, head.length);
    socket.end(`HTTP/1.1 200 Connected\r\n\r\nto ${req.url}`);
  });
  const raw = net.connect(port, '127.0.0.1');
  raw.write('GET /a HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nfirst ');
  await once(raw, 'data');
  raw.end('second');
  console.log('raw', (await whole(raw)).endsWith('second'));

  const req = http.request({ port, host: '127.0.0.1', path: '/b', headers: wanted });
  req.end();
  const [res, socket] = await once(req, 'upgrade');
  socket.write('words');
  console.log('client', res.statusCode, res.headers.upgrade, (await once(socket, 'data')).toString());
  socket.destroy();

  const tunnel = http.request({ port, host: '127.0.0.1', method: 'CONNECT', path: 'there:80' });
  tunnel.end();
  const [answer, through, first] = await once(tunnel, 'connect');
  console.log('tunnel', answer.statusCode, `${first}${await whole(through)}`);

  const [normal] = await once(http.get({ port, host: '127.0.0.1', path: '/n', agent: false }), 'response');
  console.log(normal.statusCode, await whole(normal));
  await close(server);
  console.log('closed');
})();
