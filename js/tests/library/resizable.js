// SPDX-License-Identifier: MIT
// An array that shrinks or goes while a read into it is under way: the read is lost, nothing else.
'use strict';
const fs = require('fs');
const fd = fs.openSync(__filename, 'r');
const tests = [
  ['shrinks', (memory) => memory.resize(10)],
  ['to nothing', (memory) => memory.resize(0)],
  ['grows', (memory) => memory.resize(1 << 22)],
  ['shrinks and grows', (memory) => { memory.resize(0); memory.resize(1 << 20); }],
];
(function next() {
  const test = tests.shift();
  if (test === undefined) return last();
  const memory = new ArrayBuffer(1 << 20, { maxByteLength: 1 << 22 });
  const view = new Uint8Array(memory);
  fs.read(fd, view, 0, 100, 0, (error, count) => {
    console.log(test[0], error, count, memory.byteLength, view.length);
    next();
  });
  test[1](memory);
})();
function last() {
  const whole = new Uint8Array(new ArrayBuffer(64, { maxByteLength: 128 }));
  fs.read(fd, whole, 0, 64, 3, () => {
    console.log(Buffer.from(whole).toString('latin1', 0, 10));
    fs.closeSync(fd);
  });
}
