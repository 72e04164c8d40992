// SPDX-License-Identifier: MIT
// The queues of one host: ticks, microtasks, rejections, and the checkpoint that serves them. Timers are in sched_timers.js, immediates
// in sched_immediates.js.
//
// The order is Node's, and so is the reason for most of what looks odd here. Everything lives on this side of the border
// between C and JavaScript; C reads three numbers in `state` (when the next timer is due, how many timers and
// immediates keep the loop alive) and looks at them when a call into JavaScript is over. So a turn with a thousand
// timers crosses the border once, plus once per checkpoint that has microtasks.
//
// A checkpoint follows each callback: ticks until there are none, then microtasks, again while there are ticks, then the
// rejections that nobody has handled. Between two callbacks of one phase it happens before the next one starts; after the last one of a
// phase `close` does it. A callback that throws ends the phase's function through its `finally`, which leaves the queues such that
// the phase can be entered again; its own ticks then wait for the next checkpoint, as they do in Node.
//
// An engine that cannot drain on demand drains when it is left: `canDrain` is false, and each phase returns AGAIN
// after one callback.
'use strict';

const { state, drain: drainNow, canDrain, promiseHandled } = binding;
const { validateFunction } = load('errors');
const context = load('context');

const { state: { TICKING, NAMING }, limits: { NAMES_PER_MS, SERVICE_MS } } = load('constants');
const AGAIN = 1;

let reportUncaught = null; // set by process.js
let emitRejection = null;
let emitHandled = null;
let inStorm = false; // see below

// ---- names --------------------------------------------------------------------------------------------------------

// Viewers outside show callbacks by the names of their functions, which costs a call into C. A few in each millisecond are enough: they are
// all of them where callbacks take long, and a sample where they are short. C fills the budget up between two
// phases; within a phase the clock is looked at when it is used up, and then at every eighth callback.
const shows = binding.shows;
let namedAt = 0;
function nameNow(callback, left) {
  if (left < 0) {
    const now = Date.now();
    if (now === namedAt) {
      if (left === -1) shows(); // whatever comes now has no name
      return;
    }
    namedAt = now;
    state[NAMING] = NAMES_PER_MS - 1;
  }
  shows(callback);
}
function name(callback) {
  const left = --state[NAMING];
  if (left >= 0 || (left & 7) === 7) nameNow(callback, left);
}

// ---- ticks --------------------------------------------------------------------------------------------------------

// A list of blocks: a long queue costs no copying, a short one no allocation.
const BLOCK = 1024;
class Block {
  constructor() {
    this.calls = new Array(BLOCK);
    this.args = new Array(BLOCK);
    this.read = 0;
    this.write = 0;
    this.next = null;
  }
}
let firstBlock = new Block();
let lastBlock = firstBlock;
let ticksQueued = 0;

function pushTick(call, args) {
  let block = lastBlock;
  if (block.write === BLOCK) {
    if (firstBlock === block && block.read === BLOCK) {
      block.read = block.write = 0;
    } else {
      block = block.next = lastBlock = new Block();
    }
  }
  block.calls[block.write] = call;
  block.args[block.write++] = args;
  ticksQueued++;
}

function nextTick(callback, ...args) {
  validateFunction(callback, 'callback');
  if (binding.exiting) return;
  if (context.active) callback = context.bound(callback, 'TickObject');
  pushTick(callback, args.length === 0 ? undefined : args);
}

const clock = Date.now;
const TICKS_PER_LOOK = 256;

function runTicks() {
  let done = 0;
  let began = 0;
  state[TICKING] = 1;
  while (ticksQueued > 0) {
    if (++done % TICKS_PER_LOOK === 0) {
      const now = clock();
      if (began === 0) {
        began = now;
      } else if (now - began > SERVICE_MS || now < began) {
        began = now;
        serveStorm();
        // The timers that it served may have run the rest of the ticks.
        state[TICKING] = 1;
        continue;
      }
    }
    let block = firstBlock;
    if (block.read === block.write) {
      block = firstBlock = block.next;
    }
    const at = block.read++;
    const call = block.calls[at];
    const args = block.args[at];
    block.calls[at] = block.args[at] = undefined;
    if (block.read === block.write && block.next === null) block.read = block.write = 0;
    ticksQueued--;
    if (args === undefined) call();
    else apply(call, undefined, args);
  }
  state[TICKING] = 0;
}

// ---- microtasks ---------------------------------------------------------------------------------------------------

const settled = Promise.resolve();
const then = Promise.prototype.then;
const apply = Reflect.apply;
// Any promise reaction may come from the program's own promises, so whether there are microtasks is not known on this side.
function drain() {
  if (inStorm) return;
  drainNow();
  if (context.active) context.leave(); // the last one that ran has left its frame
}

function queueMicrotask(callback) {
  validateFunction(callback, 'callback');
  apply(then, settled, [() => {
    try {
      callback();
    } catch (error) {
      reportUncaught(error, 'uncaughtException');
    }
  }]);
}

// ---- rejections ---------------------------------------------------------------------------------------------------

const rejected = []; // promise, reason, in the order in which the engine reported them
const reported = []; // weak references to promises whose rejection was reported
const REPORTED_MAX = 1000;
const LOOKS = 4;
let lookAt = 0;

function onRejection(promise, reason) {
  rejected.push(promise, reason);
}

// The engine gives no notice when a reported promise gets a handler after all: a few of them are looked at in each checkpoint, in turn,
// so that the cost does not grow with their number.
function noticeLateHandlers(most = LOOKS) {
  let some = false;
  for (let looks = reported.length < most ? reported.length : most; looks > 0; looks--) {
    if (lookAt >= reported.length) lookAt = 0;
    const promise = reported[lookAt].deref();
    if (promise !== undefined && !promiseHandled(promise)) {
      lookAt++;
      continue;
    }
    reported.splice(lookAt, 1);
    if (promise !== undefined) {
      some = true;
      emitHandled(promise);
    }
  }
  return some;
}

// True if programs' functions have run, which may have left new ticks and microtasks.
function processRejections() {
  let some = noticeLateHandlers();
  while (rejected.length > 0) {
    const promise = rejected.shift();
    const reason = rejected.shift();
    if (promiseHandled(promise)) continue;
    some = true;
    reported.push(new WeakRef(promise));
    if (reported.length > REPORTED_MAX) reported.shift();
    emitRejection(promise, reason);
  }
  return some;
}

// ---- the checkpoint -----------------------------------------------------------------------------------------------

function ticksAndRejections() {
  do {
    runTicks();
    drain();
  } while (ticksQueued > 0 || processRejections());
}

// Between two callbacks of a phase.
function betweenCallbacks() {
  if (ticksQueued === 0 && rejected.length === 0) {
    drain();
    if (ticksQueued === 0 && rejected.length === 0 && reported.length === 0) return;
  }
  ticksAndRejections();
}

// After the last callback of a phase, or after a single one.
function close() {
  try {
    if (canDrain) betweenCallbacks();
    else runTicks();
  } catch (error) {
    reportUncaught(error, 'uncaughtException');
  }
  return 0;
}

// Without a drain of our own: a step of the checkpoint. The engine drains when C leaves it; then C comes back until this is 0.
function closeInSteps() {
  try {
    if (ticksQueued > 0) {
      runTicks();
      return AGAIN;
    }
    return processRejections() ? AGAIN : 0;
  } catch (error) {
    reportUncaught(error, 'uncaughtException');
    return AGAIN;
  }
}

// Run one callback as the loop would: an error goes to the handlers, and a checkpoint follows unless it threw.
function inScope(callback, self, args) {
  try {
    apply(callback, self, args);
  } catch (error) {
    reportUncaught(error, 'uncaughtException');
    return 0;
  }
  return close();
}

// ---- storms -------------------------------------------------------------------------------------------------------

// A checkpoint that does not end (promises that make promises, ticks that make ticks) would keep timers and finished work waiting for
// ever. Ticks look at the clock themselves. When a drain takes too long C calls `wakeStorm` with its number, and the next microtask but one
// is ours. The first only shows that the drain gets on: one long reaction, or a short drain after a long script, is no storm, and timers
// wait for its end as in Node. If the same drain is still there at a later call, ours is a small turn. Its callbacks' own microtasks queue
// behind the storm's; nothing is drained inside. C calls in the midst of compiled code that takes its variables for its own: nothing may be
// changed there that others read.
let stormQueued = false;
let passedIn = 0; // the number of the drain that has got past a microtask of ours
function serveStorm() {
  stormQueued = false;
  if (inStorm) return;
  inStorm = true;
  const { frame } = context;
  context.frame = context.ROOT;
  try {
    timers.serve();
    binding.deliverNow();
  } finally {
    inStorm = false;
    context.frame = frame;
  }
}
function wakeStorm(drain) {
  if (stormQueued || inStorm || state[TICKING] === 1) return;
  stormQueued = true;
  apply(then, settled, [passedIn === drain ? serveStorm : () => {
    stormQueued = false;
    passedIn = drain;
  }]);
}

// What ran was ended from outside, and no `finally` of ours with it.
function unwound() {
  inStorm = stormQueued = false;
  context.leave();
  state[TICKING] = 0;
  firstBlock = lastBlock = new Block();
  ticksQueued = 0;
  timers.unwound();
  immediates.unwound();
}

module.exports = {
  AGAIN,
  nextTick, queueMicrotask, inScope, close, closeInSteps, onRejection, processRejections, betweenCallbacks, ticksAndRejections, runTicks,
  unwound, wakeStorm, name,
  report: (error) => reportUncaught(error, 'uncaughtException'),
  pending: () => ticksQueued > 0,
  hooks(uncaught, rejection, handled) {
    reportUncaught = uncaught;
    emitRejection = rejection;
    emitHandled = handled;
  },
};
// These two know this file, and this one their turns.
const timers = load('sched_timers');
const immediates = load('sched_immediates');
Object.assign(module.exports, timers.api, immediates.api);
