// SPDX-License-Identifier: MIT
// One repetition of a bench, measured in the CPU time of the whole process: the collector works on threads of its own.
// Warms up with a tenth of the work first, so that the compiler is done.
'use strict';

const bench = process.argv[2];
const words = Object.fromEntries(process.argv.slice(3).map((word) => word.split('=')));
const n = Number(words.n);
const BATCH = 500;
let handled = 0;

const add = (value) => {
  handled++;
  return value + 1;
};

const bodies = {
  'promise-create': {
    per: BATCH,
    body() {
      for (let i = 0; i < BATCH; i++) new Promise(() => {});
    },
  },
  'promise-then': {
    per: BATCH,
    body() {
      for (let i = 0; i < BATCH / 10; i++) {
        const p = new Promise(() => {});
        for (let k = 0; k < 10; k++) p.then(add);
      }
    },
  },
  'promise-resolve': {
    per: BATCH,
    body() {
      for (let i = 0; i < BATCH; i++) {
        let resolve;
        const p = new Promise((r) => {
          resolve = r;
        });
        p.then(add);
        resolve(1);
      }
    },
  },
  'promise-chain': {
    per: 1,
    key: 'us_per_chain',
    scale: 1e-3,
    body() {
      let resolve;
      let p = new Promise((r) => {
        resolve = r;
      });
      for (let i = 0; i < 100; i++) p = p.then(add);
      resolve(1);
    },
  },
  'promise-all': {
    per: 1,
    key: 'us_per_all',
    scale: 1e-3,
    body() {
      const resolves = [];
      const promises = [];
      for (let i = 0; i < 100; i++) {
        promises.push(
          new Promise((r) => {
            resolves.push(r);
          }),
        );
      }
      Promise.all(promises).then(() => {
        handled++;
      });
      for (const resolve of resolves) resolve(1);
    },
  },
};

const it = bodies[bench];
if (it === undefined) {
  console.log('trouble this peer does not know ' + bench);
  process.exit(0);
}

const run = (operations, then) => {
  let left = operations;
  const turn = () => {
    it.body();
    left -= it.per;
    if (left > 0) setImmediate(turn);
    else setImmediate(then);
  };
  setImmediate(turn);
};

const cpu = () => {
  const used = process.cpuUsage();
  return (used.user + used.system) * 1000;
};

run(Math.max(n / 10, 1), () => {
  const before = cpu();
  run(n, () => {
    console.log(it.key || 'ns_per_op', ((cpu() - before) / n) * (it.scale || 1));
  });
});
