// SPDX-License-Identifier: MIT
// Showing a long list costs what its first hundred elements cost; properties of its own are still shown.
'use strict';
const { inspect } = require('util');
const makers = {
  integers: (n) => Array.from({ length: n }, (_, i) => i), numbers: (n) => Array.from({ length: n }, (_, i) => i + 0.5),
  texts: (n) => Array.from({ length: n }, (_, i) => `t${i}`), bytes: (n) => new Uint8Array(n), floats: (n) => new Float64Array(n),
  buffer: (n) => Buffer.alloc(n), pushed: (n) => { const list = []; for (let i = 0; i < n; i++) list.push(i); return list; },
};
function cost(value) {
  inspect(value);
  const before = process.cpuUsage();
  for (let i = 0; i < 20; i++) inspect(value);
  const used = process.cpuUsage(before);
  return used.user + used.system;
}
for (const [name, make] of Object.entries(makers)) {
  const few = make(200);
  const many = make(50000);
  for (let i = 0; i < 3; i++) cost(few);
  const short = cost(few) + 2000;
  const long = cost(many);
  console.log(name, long < 10 * short ? 'bounded' : `${short} us for 200, ${long} us for 50000`);
  many.extra = 'seen';
  console.log(inspect(many).slice(-20).includes('seen'), Object.keys(few).length === 200);
}
