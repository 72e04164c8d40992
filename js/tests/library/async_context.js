// SPDX-License-Identifier: MIT
// Contexts of node:async_hooks in a script: what goes along, and what does not.
'use strict';
const { AsyncLocalStorage, AsyncResource, createHook, executionAsyncId, triggerAsyncId } = require('node:async_hooks');
const EventEmitter = require('node:events');
const fs = require('node:fs');
const { Readable } = require('node:stream');
const { promisify, inspect } = require('node:util');

const als = new AsyncLocalStorage();
const other = new AsyncLocalStorage();
const sleep = promisify(setTimeout);
const lines = [];
const check = (name, expected) => {
  const got = als.getStore();
  if (got !== expected) lines.push(`${name}: expected ${expected}, got ${got}`);
};

class Thenable {
  then(done) { setTimeout(done, 1, 'then'); }
}
class Mine extends Promise {}

async function work(name) {
  check('begin', name);
  for (let i = 0; i < 5; i++) {
    await sleep(i % 3);
    check('sleep', name);
    await i;
    check('a number', name);
    await undefined;
    check('undefined', name);
    await { name };
    check('an object', name);
    await new Thenable();
    check('a thenable', name);
    await Mine.resolve(1);
    check('a subclass', name);
    await (i, Promise.resolve(2));
    check('a resolved one', name);
    try {
      await Promise.reject(new Error('no'));
    } catch {
      check('catch', name);
    } finally {
      check('finally', name);
    }
    try {
      await new Promise((_, reject) => setImmediate(reject, new Error('later')));
    } catch {
      check('late catch', name);
    }
    await Promise.all([sleep(1), 3, Promise.resolve(4), nested(name, 3)]);
    check('all', name);
    await Promise.race([sleep(1), new Promise(() => {})]);
    check('race', name);
    for await (const one of generated(name)) check(`for await ${one}`, name);
    check('after for await', name);
    for await (const one of [1, Promise.resolve(2)]) check(`for await of values ${one}`, name);
    await als.run(`${name}+`, async () => {
      check('inner', `${name}+`);
      await sleep(1);
      check('inner after', `${name}+`);
      await null;
      check('inner null', `${name}+`);
    });
    check('outer', name);
    await als.exit(async () => {
      check('exit', undefined);
      await 1;
      check('exit after', undefined);
    });
    check('after exit', name);
  }
  return name;
}
async function nested(name, depth) {
  check('nested', name);
  await (depth > 0 ? nested(name, depth - 1) : 0);
  check('nested after', name);
}
async function* generated(name) {
  check('generator', name);
  yield 1;
  await sleep(1);
  check('generator after sleep', name);
  yield 2;
  await 3;
  check('generator after a number', name);
}

function callbacks(name) {
  return new Promise((done) => {
    let left = 7;
    const one = (what) => () => {
      check(what, name);
      if (--left === 0) done();
    };
    setTimeout(one('timer'), 1);
    setImmediate(one('immediate'));
    process.nextTick(one('tick'));
    queueMicrotask(one('microtask'));
    fs.stat('.', one('fs'));
    let times = 0;
    const interval = setInterval(() => {
      check('interval', name);
      if (++times === 3) {
        clearInterval(interval);
        one('last interval')();
      }
    }, 1);
    Promise.resolve().then(one('then'));
  });
}

async function main() {
  const names = ['a', 'b', 'c', 'd'];
  const done = await Promise.all(names.map((name) => als.run(name, work, name)));
  console.log(...done);
  await Promise.all(names.map((name) => als.run(name, callbacks, name)));
  check('outside', undefined);

  // Listeners run where the event is emitted, unless they are bound.
  const emitter = new EventEmitter();
  als.run('maker', () => {
    emitter.on('x', () => console.log('plain', als.getStore()));
    emitter.on('x', AsyncResource.bind(() => console.log('bound', als.getStore())));
    emitter.on('x', AsyncLocalStorage.bind((a, b) => console.log('bound', als.getStore(), a, b)));
  });
  als.run('emitter', () => emitter.emit('x', 1, 2));
  const snapshot = als.run('then', () => AsyncLocalStorage.snapshot());
  als.run('now', () => console.log(snapshot((a) => [als.getStore(), a], 7)));

  // Two at a time.
  als.run(1, () => other.run(2, () => {
    setTimeout(() => console.log(als.getStore(), other.getStore()), 1);
    other.exit(() => console.log(als.getStore(), other.getStore()));
  }));
  await sleep(5);

  als.run('enter', () => {
    als.enterWith('entered');
    setImmediate(() => console.log(als.getStore()));
    other.enterWith('stays');
  });
  console.log(als.getStore(), other.getStore());
  other.disable();
  console.log(other.getStore());
  console.log(als.run('x', (...args) => [als.getStore(), ...args], 1, 2));
  try {
    als.run('x', () => {
      throw new Error('thrown');
    });
  } catch (error) {
    console.log(error.message, als.getStore());
  }

  // Streams.
  await als.run('stream', async () => {
    let text = '';
    for await (const piece of Readable.from(['a', 'b'])) text += piece + als.getStore();
    console.log(text);
    await new Promise((end) => fs.createReadStream(__filename).on('data', () => check('data', 'stream')).on('close', () => {
      check('close', 'stream');
      end();
    }));
  });
  check('at the end', undefined);

  const resource = als.run('resource', () => new AsyncResource('THING'));
  console.log(resource.runInAsyncScope(function (a) { return [als.getStore(), this.me, a, executionAsyncId() === resource.asyncId()]; }, { me: 1 }, 2));
  console.log(typeof resource.triggerAsyncId(), resource.emitDestroy() === resource);
  const bound = resource.bind(function (a, b) { return this; });
  console.log(bound.length, bound.call(5) === 5 || typeof bound.call(5));
  for (const wrong of [() => new AsyncResource(), () => new AsyncResource('x', { triggerAsyncId: 'a' }), () => AsyncResource.bind(1),
    () => createHook({ init: 1 }), () => new EventEmitter.EventEmitterAsyncResource()]) {
    try {
      wrong();
    } catch (error) {
      console.log(error.name, error.code, error.message);
    }
  }
  const EEAR = EventEmitter.EventEmitterAsyncResource;
  const own = als.run('own', () => new EEAR({ name: 'Q' }));
  own.on('e', (a) => console.log(als.getStore(), a, executionAsyncId() === own.asyncId));
  als.run('another', () => own.emit('e', 3));
  console.log(own.asyncResource.eventEmitter === own);

  const seen = [];
  const types = new Map();
  const hook = createHook({
    init(id, type) { if (type === 'MINE' || type === 'Timeout' || type === 'Immediate') types.set(id, type); },
    before(id) { if (types.has(id)) seen.push(`before ${types.get(id)}`); },
    after(id) { if (types.has(id)) seen.push(`after ${types.get(id)}`); },
  }).enable();
  const mine = new AsyncResource('MINE');
  mine.runInAsyncScope(() => seen.push(`inside ${triggerAsyncId() === mine.triggerAsyncId()}`));
  // One starts the other: which of two comes first depends on how busy the machine is.
  await new Promise((end) => setImmediate(() => {
    seen.push('immediate');
    setTimeout(() => {
      seen.push('timer');
      end();
    }, 5);
  }));
  await new Promise(setImmediate);
  hook.disable();
  console.log(seen.join('\n'));
  console.log(inspect(Promise.resolve(1)).split(' ')[0], Promise.prototype.then.name, Promise.resolve.length);
}
main().then(() => console.log(lines.length === 0 ? 'all right' : [...new Set(lines)].join('\n')));
