// WebSocket of wss: URLs: a certificate that is not trusted, and the same without verification.
'use strict';
const https = require('node:https');
const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { once } = require('node:events');

const readFile = (name) => fs.readFileSync(path.join(__dirname, name));
process.on('warning', () => {});

const server = https.createServer({ key: readFile('server.key.pem'), cert: readFile('server.pem') });
server.on('tlsClientError', () => {});
server.on('upgrade', (req, socket) => {
  const accept = crypto.createHash('sha1').update(`${req.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
  socket.on('error', () => {});
  socket.on('end', () => socket.end());
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`);
  // A long message, so that it comes in several records, and a close when the client has said something.
  const head = Buffer.from([0x82, 127, 0, 0, 0, 0, 0, 3, 0xd, 0x40]); // 200 000 bytes
  socket.write(Buffer.concat([head, Buffer.alloc(200000, 'wss')]));
  let have = 0;
  socket.on('data', (data) => {
    const before = have;
    have += data.length;
    if (before < 70014 && have >= 70014) socket.write(Buffer.from([0x88, 5, 3, 232, 0x6f, 0x75, 0x74])); // 1000, "out"
  });
});
async function visit(port) {
  const ws = new WebSocket(`wss://localhost:${port}/`);
  const heard = [];
  ws.binaryType = 'arraybuffer';
  ws.onopen = () => heard.push('open');
  ws.onerror = () => heard.push('error');
  ws.onmessage = ({ data, origin }) => {
    const bytes = Buffer.from(data);
    heard.push(bytes.length, bytes.equals(Buffer.alloc(200000, 'wss')), origin === `wss://localhost:${port}`);
    ws.send('x'.repeat(70000));
  };
  const [end] = await once(ws, 'close');
  console.log(...heard, end.code, `'${end.reason}'`, end.wasClean);
}
(async () => {
  server.listen(0, 'localhost');
  await once(server, 'listening');
  const { port } = server.address();
  await visit(port);
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
  await visit(port);
  server.close();
  await once(server, 'close');
  console.log('closed');
})();
