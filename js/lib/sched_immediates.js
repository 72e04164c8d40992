// SPDX-License-Identifier: MIT
// Immediates: what sets, clears and runs them. See sched.js.
'use strict';

const { AGAIN, betweenCallbacks, close, report, name } = load('sched');
const { validateFunction } = load('errors');
const context = load('context');
const { state, canDrain } = binding;

const { apply } = Reflect;
const { IMMEDIATE_COUNT: IMMEDIATES, IMMEDIATE_REFS } = load('constants').state;
const kRefed = Symbol('refed');
const kFrame = Symbol('frame');

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
    if (context.active) Object.defineProperty(this, kFrame, { value: context.capture('Immediate', this) });
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
      if (immediate[kFrame] !== undefined) context.run(immediate[kFrame], immediate._onImmediate, immediate, args);
      else if (args === undefined) immediate._onImmediate();
      else apply(immediate._onImmediate, immediate, args);
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
      report(error);
    }
  } while (failed && outstanding.head !== null);
  if (!failed) close();
  return again;
}

function unwound() {
  if (outstanding.head !== null && outstanding.head._destroyed) outstanding.head = outstanding.head._idleNext;
}

module.exports = {
  unwound,
  api: { setImmediate, clearImmediate, immediatesPhase, Immediate },
};
