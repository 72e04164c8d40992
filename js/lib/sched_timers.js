// SPDX-License-Identifier: MIT
// Timers: what sets, clears and runs them. See sched.js.
//
// Timers of one duration are a list in the order of their start, which is the order of their end. The lists lie in a heap by
// the time at which their first timer is due; equal times by which list was placed first.
'use strict';

const { AGAIN, betweenCallbacks, close, report, name } = load('sched');
const { validateFunction } = load('errors');
const context = load('context');
const { state, now: clock, canDrain } = binding;
const { apply } = Reflect;

const { NEXT_EXPIRY, TIMER_REFS } = load('constants').state;
const TIMEOUT_MAX = 2 ** 31 - 1;
const kRefed = Symbol('refed');
const kFrame = Symbol('frame');
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
      if (timer[kFrame] !== undefined) context.run(timer[kFrame], timer._onTimeout, timer, args, !timer._repeat);
      else if (args === undefined) timer._onTimeout();
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

// All that are due, also after one that throws.
function serve() {
  for (;;) {
    try {
      return processTimers(clock());
    } catch (error) {
      running = null;
      report(error);
    }
  }
}
function timersPhase() {
  const again = serve();
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
    if (context.active) Object.defineProperty(this, kFrame, { value: context.capture('Timeout', this) });
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

// The call of a timer was ended from outside, and no `finally` of ours with it.
function unwound() {
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
}

// How many timers keep the program alive.
function count() {
  let found = 0;
  lists.forEach((list) => {
    for (let timer = list._idleNext; timer !== list; timer = timer._idleNext) if (timer[kRefed]) found++;
  });
  return found;
}

module.exports = {
  serve, unwound, count,
  api: { setTimeout, setInterval, clearTimeout, clearInterval, timersPhase, Timeout, insert, TIMEOUT_MAX },
};
