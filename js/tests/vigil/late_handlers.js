// SPDX-License-Identifier: MIT
// Rejections that were reported and are still held cost each callback the same, however many they are; late handlers are noticed.
'use strict';
process.on('unhandledRejection', () => {});
let handled = 0;
process.on('rejectionHandled', () => handled++);
const held = [];

function cost(done) {
  const before = process.cpuUsage();
  let left = 20000;
  (function again() {
    if (--left > 0) return setImmediate(again);
    const used = process.cpuUsage(before);
    done(used.user + used.system);
  })();
}
cost(() => cost((none) => {
  for (let i = 0; i < 1000; i++) held.push(Promise.reject(new Error('held')));
  setImmediate(() => cost((many) => {
    console.log(many < 30 * none ? 'does not grow' : `${none} us without, ${many} us with`);
    held[17].catch(() => {});
    held[900].catch(() => {});
    cost(() => console.log(`${handled} noticed`));
  }));
}));
