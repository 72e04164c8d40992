// js-http: the smallest useful server, with node:http in every runtime.
'use strict';
const server = require('node:http').createServer((req, res) => {
  res.setHeader('Content-Type', 'text/plain');
  res.end('hello world');
});
server.listen(0, '127.0.0.1', () => console.log(`port ${server.address().port}`));
