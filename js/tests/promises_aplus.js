// SPDX-License-Identifier: MIT
// Promises/A+: the 872 tests of the npm package, on the engine's promises and this host's queues. Its own runner wants more of Node than there
// is; what its files need of mocha is small.
'use strict';
const fs = require('fs');
const path = require('path');
const folder = path.join(path.dirname(require.resolve('promises-aplus-tests')), 'tests');
global.adapter = {
  resolved: (value) => Promise.resolve(value),
  rejected: (reason) => Promise.reject(reason),
  deferred() {
    const it = {};
    it.promise = new Promise((resolve, reject) => Object.assign(it, { resolve, reject }));
    return it;
  },
};
const tests = [];
let names = [];
let hooks = [];
global.describe = global.context = (name, body) => {
  names.push(name);
  const saved = hooks;
  hooks = hooks.slice();
  body();
  hooks = saved;
  names.pop();
};
global.specify = global.it = (name, body) => tests.push({ name: [...names, name].join(' / '), body, hooks: hooks.slice() });
global.beforeEach = (hook) => hooks.push(hook);
global.afterEach = () => {};
process.on('unhandledRejection', () => {}); // the tests leave many on purpose
for (const file of fs.readdirSync(folder).sort()) if (file.endsWith('.js')) require(path.join(folder, file));

const run = (test) => new Promise((resolve, reject) => {
  const timer = setTimeout(() => reject(new Error('timeout')), 20000);
  const done = (error) => {
    clearTimeout(timer);
    if (error) reject(error);
    else resolve();
  };
  const failed = (error) => done(error);
  process.once('uncaughtException', failed);
  const finish = (error) => {
    process.removeListener('uncaughtException', failed);
    done(error);
  };
  for (const hook of test.hooks) hook();
  if (test.body.length > 0) {
    test.body(finish);
  } else {
    test.body();
    finish();
  }
});
(async () => {
  let passed = 0;
  for (const test of tests) {
    try {
      await run(test);
      passed++;
    } catch (error) {
      console.log('FAILED', test.name, error);
      process.exitCode = 1;
    }
  }
  console.log(`${passed} of ${tests.length}`);
  if (tests.length !== 872) process.exitCode = 1;
})();
