// SPDX-License-Identifier: MIT
// Breaks every method of the builtin prototypes in turn, and some names on Object.prototype, and looks whether the host goes on: ticks,
// microtasks, timers, immediates, promises, files, console, events. What a program breaks may harm the program, never the host.
'use strict';
const fs = require('fs');
const { EventEmitter } = require('events');
const only = process.argv[2];

// What this test itself needs, taken before anything is broken.
const { apply } = Reflect;
const file = __filename;
const failures = [];
let failed = 0;

const { cases, breakIt, mendIt } = require('./parts/cases.js');

const stdoutWrite = process.stdout.write;

// One round: what was seen is a string of letters. Everything a callback does here is plain language, no builtin methods.
const ALL = 'tqmpTiIrfFcel';
function round(it, way, done) {
  const seen = { __proto__: null };
  let waits = 0;
  const see = (letter) => {
    if (seen[letter]) return;
    seen[letter] = true;
    waits++;
  };
  let over = false;
  const finish = (why) => {
    if (over) return;
    over = true;
    mendIt(it);
    clearTimeout(guard);
    let missing = '';
    for (let i = 0; i < ALL.length; i++) if (!seen[ALL[i]]) missing += ALL[i];
    if (missing !== '' || why !== '') {
      failed++;
      failures[failures.length] = `${it.name} (${way === 0 ? 'throws' : 'no function'}): missing ${missing} ${why}`;
    }
    done();
  };
  onUncaught = (error) => {
    // Only what the host itself throws: programs' own calls are not among the callbacks below.
    mendIt(it);
    const text = `${error && error.stack}`.split('\n').slice(0, 6).join(' <- ');
    finish(`uncaught: ${text}`);
  };
  const guard = setTimeout(() => finish('time is up'), 3000);
  breakIt(it, way);
  try {
    process.nextTick(() => see('t'));
    process.nextTick((a) => { if (a === 1) see('t'); }, 1);
    queueMicrotask(() => see('q'));
    (async () => {
      await null;
      see('m');
      await new Promise((resolve) => { resolve(1); });
      see('p');
    })();
    setTimeout((a) => { if (a === 7) see('T'); }, 1, 7);
    const interval = setInterval(() => {
      clearInterval(interval);
      see('I');
    }, 1);
    setImmediate(() => see('i'));
    const emitter = new EventEmitter();
    emitter.on('x', (a) => { if (a === 5) see('e'); });
    emitter.emit('x', 5);
    fs.readFile(file, (error, data) => { if (error === null && data.length > 1000) see('f'); });
    (async () => { if ((await fs.promises.readFile(file)).length > 1000) see('F'); })();
    if (fs.readFileSync(file).length > 1000) see('r');
    stdoutSeen = '';
    console.log('a %s b %d', 'text', 5, 'more', 7);
    console.log({ a: 1, b: [1, 2, 'x'] }, [1, 2], new Map(), 'text');
    if (stdoutSeen.length > 0) see('c');
    console.error('err', new Error('shown'));
    see('l');
  } catch (error) {
    mendIt(it);
    finish(`threw: ${error && error.stack}`);
    return;
  }
  const poll = () => {
    if (over) return;
    if (waits === ALL.length) finish('');
    else setImmediate(poll);
  };
  setImmediate(poll);
}
let onUncaught = null;
let stdoutSeen = '';
process.stdout.write = function (text) { stdoutSeen += text; return true; };
process.stderr.write = function () { return true; };
process.on('uncaughtException', (error) => onUncaught(error));
process.on('unhandledRejection', (error) => onUncaught(error));

let at = 0, way = 0;
function next() {
  if (only !== undefined) while (at < cases.length && cases[at].name !== only) at++;
  if (at === cases.length) {
    process.stdout.write = stdoutWrite;
    let text = '';
    for (let i = 0; i < failures.length; i++) text += `${failures[i]}\n`;
    apply(stdoutWrite, process.stdout, [`${text}${cases.length > 300 ? 'many' : 'few'} methods broken, ${failed} failed\n`]);
    return;
  }
  const it = cases[at];
  const how = way;
  if (++way === 2) {
    way = 0;
    at++;
  }
  round(it, how, () => setImmediate(next));
}
next();
