// SPDX-License-Identifier: MIT
// Says what it understood of each request: method, target, the body as it arrived.
'use strict';
const http = require('http');
const server = http.createServer((req, res) => {
  const parts = [];
  req.on('data', (bytes) => parts.push(bytes));
  req.on('end', () => res.end(`${req.method} ${req.url} ${Buffer.concat(parts).toString('latin1')}`));
});
server.listen(0, '127.0.0.1', () => console.log(`port ${server.address().port}`));
process.on('SIGTERM', () => {
  server.close();
  server.closeAllConnections();
});
