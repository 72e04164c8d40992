// SPDX-License-Identifier: MIT
// Breaks a method and answers under it: POST /7 breaks the seventh case until the next request. Uses no builtin methods itself.
'use strict';
const http = require('http');
const { cases, breakIt, mendIt } = require('./cases.js');
const { fromCharCode } = String;
let broken = null;
const server = http.createServer((req, res) => {
  let text = '';
  req.on('data', (bytes) => {
    for (let i = 0; i < bytes.length; i++) text += fromCharCode(bytes[i]);
  });
  req.on('end', () => {
    if (broken !== null) mendIt(broken);
    let number = 0;
    for (let i = 1; i < req.url.length; i++) number = number * 10 + +req.url[i];
    broken = cases[number >> 1];
    breakIt(broken, number & 1);
    res.setHeader('X-Name', 'a');
    res.setHeader('X-List', ['b', 'c']);
    res.write('one ');
    res.end(text);
  });
});
process.on('uncaughtException', (error) => {
  if (broken !== null) mendIt(broken);
  console.error(broken.name, error.stack);
  process.exit(1);
});
server.listen(0, '127.0.0.1', () => console.log(`port ${server.address().port} ${cases.length * 2}`));
process.on('SIGTERM', () => {
  if (broken !== null) mendIt(broken);
  server.close();
  server.closeAllConnections();
});
