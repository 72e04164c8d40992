// SPDX-License-Identifier: MIT
// One repetition of a bench, the same text for every runtime: bench.cjs BENCH n=N param=X [folder]. Prints `ms`, the time from the
// first call to the last callback; the program that started it adds the CPU time of the process.
'use strict';

const bench = process.argv[2];
const words = Object.fromEntries(process.argv.slice(3).map((word) => word.split('=')));
const n = Number(words.n);
const param = Number(words.param);

const wanted = n;
let start = 0;
function end(done) {
  const ms = performance.now() - start;
  if (done === wanted) console.log(`ms ${ms}`);
  else console.log(`trouble failed: ${done} of ${wanted} came`);
}

const benches = {
  // param 0: all at once, all come; 1: 256 delays in turn, then each is cleared.
  'js-timers'() {
    let done = 0;
    const count = () => {
      if (++done === wanted) end(done);
    };
    start = performance.now();
    if (param === 0) {
      for (let i = 0; i < n; i++) setTimeout(count, 0);
      return;
    }
    const timers = new Array(n);
    for (let i = 0; i < n; i++) timers[i] = setTimeout(count, 10000 + (i & 255));
    for (let i = 0; i < n; i++) clearTimeout(timers[i]);
    end(n);
  },
  // param 0: each sets the next; 1: all at once.
  'js-immediates'() {
    let done = 0;
    start = performance.now();
    if (param === 0) {
      const next = () => {
        if (++done === wanted) end(done);
        else setImmediate(next);
      };
      setImmediate(next);
      return;
    }
    const count = () => {
      if (++done === wanted) end(done);
    };
    for (let i = 0; i < n; i++) setImmediate(count);
  },
  // param 0: queueMicrotask, each queues the next; 1: all at once; 2: promise.then, each on the one before.
  'js-microtasks'() {
    let done = 0;
    start = performance.now();
    if (param === 0) {
      const next = () => {
        if (++done === wanted) end(done);
        else queueMicrotask(next);
      };
      queueMicrotask(next);
      return;
    }
    const count = () => {
      if (++done === wanted) end(done);
    };
    if (param === 1) {
      for (let i = 0; i < n; i++) queueMicrotask(count);
      return;
    }
    let promise = Promise.resolve();
    for (let i = 0; i < n; i++) promise = promise.then(count);
  },
  // param 0: an async function that awaits nothing; 1: one that awaits a promise of its own.
  async 'js-await'() {
    let done = 0;
    const plain = async () => 1;
    const inner = async () => await plain();
    const call = param === 0 ? plain : inner;
    start = performance.now();
    for (let i = 0; i < n; i++) done += await call();
    end(done);
  },
  // 1 KiB each. param 0: promises, all at once; 1: callbacks, all at once; 2: promises, one after the other.
  async 'js-files'() {
    const fs = require('node:fs');
    const name = (i) => `${words.folder}/${i}`;
    let done = 0;
    start = performance.now();
    if (param === 1) {
      for (let i = 0; i < n; i++) {
        fs.readFile(name(i), (error, data) => {
          if (error) throw error;
          if (data.length === 1024 && ++done === wanted) end(done);
        });
      }
      return;
    }
    const one = async (i) => {
      if ((await fs.promises.readFile(name(i))).length === 1024) done++;
    };
    if (param === 2) {
      for (let i = 0; i < n; i++) await one(i);
    } else {
      const all = [];
      for (let i = 0; i < n; i++) all.push(one(i));
      await Promise.all(all);
    }
    end(done);
  },
};

if (benches[bench]) benches[bench]();
else console.log(`trouble this peer does not know ${bench}`);
