// SPDX-License-Identifier: MIT
// The queues of one host: ticks, microtasks, rejections, timers, immediates.
//
// The order is Node's, and so is the reason for most of what looks odd here. Everything lives on this side of the border
// between C and JavaScript; C is told three numbers through `state` (when the next timer is due, how many timers and
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

const { state, now: clock, drain: drainNow, canDrain, promiseState } = binding;
const { validateFunction } = load('errors');

const NEXT_EXPIRY = 0, TIMER_REFS = 1, IMMEDIATES = 2, IMMEDIATE_REFS = 3, TICKING = 4;
const AGAIN = 1;
const TIMEOUT_MAX = 2 ** 31 - 1;

let reportUncaught = null; // set by process.js
let emitRejection = null;
let emitHandled = null;

// ---- names --------------------------------------------------------------------------------------------------------

// Viewers outside show callbacks by the names of their functions, which costs a call into C. A few in each millisecond are enough: they are
// all of them where callbacks take long, and a sample where they are short. C fills the budget up between two
// phases; within a phase the clock is looked at when it is used up, and then at every eighth callback.
const NAMING = 5, NAMES_PER_MS = 8;
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
  pushTick(callback, args.length === 0 ? undefined : args);
}

function runTicks() {
  state[TICKING] = 1;
  while (ticksQueued > 0) {
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
    else call(...args);
  }
  state[TICKING] = 0;
}

// ---- microtasks ---------------------------------------------------------------------------------------------------

const settled = Promise.resolve();
const then = Promise.prototype.then;
const apply = Reflect.apply;
// Any promise reaction may come from the program's own promises, so whether there are microtasks is not known on this side.
function drain() {
  if (!inStorm) drainNow();
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

let rejected = []; // [promise, reason], in the order in which the engine told us
let reported = []; // weak references to promises whose rejection was reported
const REPORTED_MAX = 1000;

function onRejection(promise, reason) {
  rejected.push([promise, reason]);
}

function isHandled(promise) {
  const look = promiseState(promise);
  return look !== undefined && look[2];
}

function noticeLateHandlers() {
  if (reported.length === 0) return false;
  let some = false;
  const rest = [];
  for (const item of reported) {
    const promise = item.deref();
    if (promise === undefined) continue;
    if (isHandled(promise)) {
      some = true;
      emitHandled(promise);
    } else {
      rest.push(item);
    }
  }
  reported = rest;
  return some;
}

// True if programs' functions have run, which may have left new ticks and microtasks.
function processRejections() {
  let some = noticeLateHandlers();
  while (rejected.length > 0) {
    const [promise, reason] = rejected.shift();
    if (isHandled(promise)) continue;
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

// Without a drain of our own: a step of the checkpoint. The engine drains when C leaves it; then C comes back till this is 0.
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

// ---- timers -------------------------------------------------------------------------------------------------------

// Timers of one duration are a list in the order of their start, which is the order of their end. The lists lie in a heap by
// the time at which their first timer is due; equal times by which list was placed first.
const kRefed = Symbol('refed');
const kList = Symbol('list');
let listNumber = 0;
const lists = new Map();
const heap = [null];
let nextExpiry = Infinity;
let timerId = 0;
const timersById = new Map();

class TimersList {
  constructor(expiry, msecs) {
    this._idleNext = this;
    this._idlePrev = this;
    this.expiry = expiry;
    this.id = listNumber++;
    this.msecs = msecs;
    this.at = 0;
  }
}

function before(a, b) {
  return a.expiry < b.expiry || (a.expiry === b.expiry && a.id < b.id);
}
function siftUp(at) {
  const item = heap[at];
  while (at > 1) {
    const up = at >> 1;
    if (!before(item, heap[up])) break;
    heap[at] = heap[up];
    heap[at].at = at;
    at = up;
  }
  heap[at] = item;
  item.at = at;
}
function siftDown(at) {
  const item = heap[at];
  const size = heap.length - 1;
  for (;;) {
    let child = at * 2;
    if (child > size) break;
    if (child < size && before(heap[child + 1], heap[child])) child++;
    if (!before(heap[child], item)) break;
    heap[at] = heap[child];
    heap[at].at = at;
    at = child;
  }
  heap[at] = item;
  item.at = at;
}
function heapRemove(at) {
  const last = heap.pop();
  if (at < heap.length) {
    heap[at] = last;
    last.at = at;
    if (at > 1 && before(last, heap[at >> 1])) siftUp(at);
    else siftDown(at);
  }
}

function unlink(item) {
  const next = item._idleNext;
  if (next) next._idlePrev = item._idlePrev;
  if (item._idlePrev) item._idlePrev._idleNext = next;
  item._idleNext = null;
  item._idlePrev = null;
}
function append(list, item) {
  if (item._idleNext || item._idlePrev) unlink(item);
  item._idleNext = list;
  item._idlePrev = list._idlePrev;
  list._idlePrev._idleNext = item;
  list._idlePrev = item;
}

function insert(timer, msecs, start = clock()) {
  msecs = Math.trunc(msecs);
  timer._idleStart = start;
  let list = lists.get(msecs);
  if (list === undefined) {
    list = new TimersList(start + msecs, msecs);
    lists.set(msecs, list);
    heap.push(list);
    siftUp(heap.length - 1);
    if (nextExpiry > list.expiry) state[NEXT_EXPIRY] = nextExpiry = list.expiry;
  }
  append(list, timer);
}

function removeList(list) {
  lists.delete(list.msecs);
  heapRemove(list.at);
  if (heap.length > 1) {
    state[NEXT_EXPIRY] = nextExpiry = heap[1].expiry;
  } else {
    state[NEXT_EXPIRY] = nextExpiry = Infinity;
  }
}

let current = null; // the timer that is being called
let running = null; // the list whose timers are being called

function processTimers(now) {
  let ranList = false;
  while (heap.length > 1) {
    const list = heap[1];
    if (list.expiry > now) {
      state[NEXT_EXPIRY] = nextExpiry = list.expiry;
      return 0;
    }
    if (ranList) {
      if (!canDrain) return AGAIN;
      betweenCallbacks();
    } else {
      ranList = true;
    }
    if (runList(list, now) === AGAIN) return AGAIN;
  }
  state[NEXT_EXPIRY] = nextExpiry = Infinity;
  return 0;
}

function runList(list, now) {
  const msecs = list.msecs;
  let ranTimer = false;
  let timer;
  running = list;
  while ((timer = list._idleNext) !== list) {
    const passed = now - timer._idleStart;
    if (passed < msecs) {
      list.expiry = Math.max(timer._idleStart + msecs, now + 1);
      list.id = listNumber++;
      siftDown(list.at);
      running = null;
      return 0;
    }
    if (ranTimer) {
      if (!canDrain) {
        running = null;
        return AGAIN;
      }
      betweenCallbacks();
    } else {
      ranTimer = true;
    }
    unlink(timer);
    if (!timer._onTimeout) {
      if (!timer._destroyed) {
        timer._destroyed = true;
        if (timer[kHasPrimitive]) timersById.delete(timer[kId]);
        if (timer[kRefed]) state[TIMER_REFS]--;
      }
      continue;
    }
    const start = timer._repeat ? clock() : 0;
    current = timer;
    name(timer._onTimeout);
    try {
      const args = timer._timerArgs;
      if (args === undefined) timer._onTimeout();
      else apply(timer._onTimeout, timer, args);
    } finally {
      current = null;
      if (timer._repeat && timer._idleTimeout !== -1) {
        timer._idleTimeout = timer._repeat;
        insert(timer, timer._idleTimeout, start);
      } else if (!timer._idleNext && !timer._idlePrev && !timer._destroyed) {
        timer._destroyed = true;
        if (timer[kHasPrimitive]) timersById.delete(timer[kId]);
        if (timer[kRefed]) state[TIMER_REFS]--;
      }
    }
  }
  running = null;
  if (list === lists.get(msecs) && list._idleNext === list) removeList(list);
  return 0;
}

function timersPhase() {
  let again;
  for (;;) {
    try {
      again = processTimers(clock());
      break;
    } catch (error) {
      running = null;
      reportUncaught(error, 'uncaughtException');
    }
  }
  close();
  return again;
}

const kId = Symbol('asyncId');
const kHasPrimitive = Symbol('kHasPrimitive');

class Timeout {
  constructor(callback, after, args, isRepeat, isRefed) {
    if (after === undefined) {
      after = 1;
    } else {
      after *= 1;
    }
    if (!(after >= 1 && after <= TIMEOUT_MAX)) {
      if (after > TIMEOUT_MAX) {
        process.emitWarning(`${after} does not fit into a 32-bit signed integer.\nTimeout duration was set to 1.`,
                            'TimeoutOverflowWarning');
      }
      after = 1;
    }
    this._idleTimeout = after;
    this._idlePrev = this;
    this._idleNext = this;
    this._idleStart = null;
    this._onTimeout = null;
    this._onTimeout = callback;
    this._timerArgs = args;
    this._repeat = isRepeat ? after : null;
    this._destroyed = false;
    this[kRefed] = isRefed;
    this[kHasPrimitive] = false;
    this[kId] = ++timerId;
    if (isRefed) state[TIMER_REFS]++;
    this._idlePrev = this._idleNext = null;
  }

  // Its neighbours in the list are nobody's business.
  [Symbol.for('nodejs.util.inspect.custom')](depth, options, inspect) {
    return inspect(this, { ...options, depth: 0, customInspect: false });
  }

  refresh() {
    if (this._idleTimeout < 0) return this;
    if (this._destroyed) {
      this._destroyed = false;
      if (this[kRefed]) state[TIMER_REFS]++;
    }
    const list = this._idleNext ? lists.get(Math.trunc(this._idleTimeout)) : undefined;
    insert(this, this._idleTimeout);
    if (list !== undefined && list._idleNext === list && list !== running) removeList(list);
    return this;
  }

  unref() {
    if (this[kRefed]) {
      this[kRefed] = false;
      if (!this._destroyed) state[TIMER_REFS]--;
    }
    return this;
  }

  ref() {
    if (!this[kRefed]) {
      this[kRefed] = true;
      if (!this._destroyed) state[TIMER_REFS]++;
    }
    return this;
  }

  hasRef() {
    return this[kRefed];
  }

  close() {
    clearTimeout(this);
    return this;
  }

  [Symbol.dispose]() {
    clearTimeout(this);
  }

  [Symbol.toPrimitive]() {
    const id = this[kId];
    if (!this[kHasPrimitive]) {
      this[kHasPrimitive] = true;
      timersById.set(id, this);
    }
    return id;
  }
}

function setTimeout(callback, after, ...args) {
  validateFunction(callback, 'callback');
  const timeout = new Timeout(callback, after, args.length === 0 ? undefined : args, false, true);
  insert(timeout, timeout._idleTimeout);
  return timeout;
}

function setInterval(callback, repeat, ...args) {
  validateFunction(callback, 'callback');
  const timeout = new Timeout(callback, repeat, args.length === 0 ? undefined : args, true, true);
  insert(timeout, timeout._idleTimeout);
  return timeout;
}

function clearTimer(timer) {
  timer._onTimeout = null;
  if (timer._destroyed) return;
  timer._destroyed = true;
  if (timer[kHasPrimitive]) timersById.delete(timer[kId]);
  if (timer[kRefed]) state[TIMER_REFS]--;
  timer[kRefed] = null;
  const list = timer._idleNext ? lists.get(Math.trunc(timer._idleTimeout)) : undefined;
  unlink(timer);
  timer._idleTimeout = -1;
  if (list !== undefined && list._idleNext === list && list !== running) removeList(list);
}

function clearTimeout(timer) {
  if (timer === null || timer === undefined) return;
  if (typeof timer === 'object' && timer._onTimeout) {
    clearTimer(timer);
    return;
  }
  if (typeof timer === 'number' || typeof timer === 'string') {
    const known = timersById.get(+timer);
    if (known !== undefined && `${timer}` === `${known[kId]}`) {
      timersById.delete(known[kId]);
      clearTimer(known);
    }
  }
}

function clearInterval(timer) {
  clearTimeout(timer);
}

// ---- storms -------------------------------------------------------------------------------------------------------

// A checkpoint that does not end (promises that make promises, ticks that make ticks) would keep timers and finished work waiting for
// ever. When it takes too long C calls `wakeStorm`, and the next microtask or tick but one is ours: a small turn. Its
// callbacks' own microtasks queue behind the storm's; nothing is drained inside.
let inStorm = false;
let stormQueued = false;
function serveStorm() {
  stormQueued = false;
  if (inStorm) return;
  inStorm = true;
  try {
    for (;;) {
      try {
        processTimers(clock());
        break;
      } catch (error) {
        running = null;
        reportUncaught(error, 'uncaughtException');
      }
    }
    binding.deliverNow();
  } finally {
    inStorm = false;
  }
}
function wakeStorm() {
  if (stormQueued || inStorm) return;
  stormQueued = true;
  if (state[TICKING] === 1) pushTick(serveStorm, undefined);
  else apply(then, settled, [serveStorm]);
}

// What ran was ended from outside, and no `finally` of ours with it.
function unwound() {
  inStorm = stormQueued = false;
  state[TICKING] = 0;
  firstBlock = lastBlock = new Block();
  ticksQueued = 0;
  running = null;
  const timer = current;
  current = null;
  if (timer !== null && !timer._idleNext && !timer._destroyed) {
    if (timer._repeat) {
      insert(timer, timer._repeat);
    } else {
      timer._destroyed = true;
      if (timer[kRefed]) state[TIMER_REFS]--;
    }
  }
  if (outstanding.head !== null && outstanding.head._destroyed) outstanding.head = outstanding.head._idleNext;
}

// ---- immediates ---------------------------------------------------------------------------------------------------

class ImmediateList {
  constructor() {
    this.head = null;
    this.tail = null;
  }
  append(item) {
    if (this.tail !== null) {
      this.tail._idleNext = item;
      item._idlePrev = this.tail;
    } else {
      this.head = item;
    }
    this.tail = item;
  }
  remove(item) {
    if (item._idleNext) item._idleNext._idlePrev = item._idlePrev;
    if (item._idlePrev) item._idlePrev._idleNext = item._idleNext;
    if (item === this.head) this.head = item._idleNext;
    if (item === this.tail) this.tail = item._idlePrev;
    item._idleNext = null;
    item._idlePrev = null;
  }
}
const immediates = new ImmediateList();
const outstanding = new ImmediateList();

class Immediate {
  constructor(callback, args) {
    this._idleNext = null;
    this._idlePrev = null;
    this._onImmediate = callback;
    this._argv = args;
    this._destroyed = false;
    this[kRefed] = true;
    state[IMMEDIATE_REFS]++;
    state[IMMEDIATES]++;
    immediates.append(this);
  }
  ref() {
    if (this[kRefed] === false) {
      this[kRefed] = true;
      state[IMMEDIATE_REFS]++;
    }
    return this;
  }
  unref() {
    if (this[kRefed] === true) {
      this[kRefed] = false;
      state[IMMEDIATE_REFS]--;
    }
    return this;
  }
  hasRef() {
    return !!this[kRefed];
  }
  [Symbol.dispose]() {
    clearImmediate(this);
  }
}

function setImmediate(callback, ...args) {
  validateFunction(callback, 'callback');
  return new Immediate(callback, args.length === 0 ? undefined : args);
}

function clearImmediate(immediate) {
  if (!immediate?._onImmediate || immediate._destroyed) return;
  state[IMMEDIATES]--;
  immediate._destroyed = true;
  if (immediate[kRefed]) state[IMMEDIATE_REFS]--;
  immediate[kRefed] = null;
  immediate._onImmediate = null;
  immediates.remove(immediate);
}

function processImmediates() {
  const queue = outstanding.head !== null ? outstanding : immediates;
  let immediate = queue.head;
  // What is set from here on belongs to the next turn; what the queue holds stays reachable from `outstanding` alone.
  if (queue === immediates) immediates.head = immediates.tail = null;
  let previous = null;
  let ranOne = false;
  while (immediate !== null) {
    if (ranOne) {
      if (!canDrain) return AGAIN;
      betweenCallbacks();
    } else {
      ranOne = true;
    }
    // The checkpoint may have cleared it: then its links are gone, and the one before it knows the next.
    if (immediate._destroyed) {
      outstanding.head = immediate = previous === null ? null : previous._idleNext;
      continue;
    }
    immediate._destroyed = true;
    state[IMMEDIATES]--;
    if (immediate[kRefed]) state[IMMEDIATE_REFS]--;
    immediate[kRefed] = null;
    previous = immediate;
    outstanding.head = immediate;
    name(immediate._onImmediate);
    try {
      const args = immediate._argv;
      if (args === undefined) immediate._onImmediate();
      else immediate._onImmediate(...args);
    } finally {
      immediate._onImmediate = null;
      outstanding.head = immediate = immediate._idleNext;
    }
  }
  outstanding.head = null;
  return 0;
}

function immediatesPhase() {
  if (outstanding.head === null && immediates.head === null) return 0;
  let again = 0;
  let failed = false;
  do {
    // As with every callback: one that threw has no checkpoint of its own.
    try {
      failed = false;
      again = processImmediates();
    } catch (error) {
      failed = true;
      reportUncaught(error, 'uncaughtException');
    }
  } while (failed && outstanding.head !== null);
  if (!failed) close();
  return again;
}

module.exports = {
  AGAIN,
  nextTick, queueMicrotask, setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate,
  timersPhase, immediatesPhase, inScope, close, closeInSteps, onRejection, processRejections, betweenCallbacks, ticksAndRejections,
  Timeout, Immediate, insert, TIMEOUT_MAX, runTicks,
  unwound, wakeStorm, name,
  pending: () => ticksQueued > 0,
  hooks(uncaught, rejection, handled) {
    reportUncaught = uncaught;
    emitRejection = rejection;
    emitHandled = handled;
  },
};
