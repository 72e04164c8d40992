// SPDX-License-Identifier: MIT
// What goes along with a program from where it started something to where that goes on: node:async_hooks stands on it.
//
// A frame is what is current: the stores of AsyncLocalStorage and the numbers of executionAsyncId. Timers, immediates, ticks and what C
// completes keep the frame in which they were made. Promises are the difficulty: the engine tells nobody when a function awaits. But
// `await` of a promise reads its `constructor`, as the specification demands, before it puts its own reaction to the promise. So while
// somebody uses contexts, `constructor` of Promise.prototype is a getter, which puts a reaction of ours before that one: the two are run one after
// the other, and ours makes the frame current in which the function began to wait. What runs otherwise keeps its order. An await of
// something that is no promise reads nothing: esm_transform.js has such values made into promises (`waitFor`), which takes as many turns.
//
// As long as nobody uses contexts nothing of this exists, and all of it costs a look at `active`.
'use strict';

const { apply } = Reflect;
const ROOT = { stores: null, id: 1, trigger: 0, resource: {} };
const NativePromise = Promise;
const proto = NativePromise.prototype;
const { then } = proto;
const { resolve } = NativePromise;

const context = {
  active: false, // frames are kept
  numbered: false, // and every one has a number
  frame: ROOT,
  hooks: [], // of createHook: those that are enabled
};
let lastId = 1;
let quiet = false; // a reader of `constructor` does not wait now

function emit(kind, id, type, trigger, resource) {
  const { hooks } = context;
  for (let i = 0; i < hooks.length; i++) hooks[i].call(kind, id, type, trigger, resource);
}

function numberedFrame(type, resource, trigger = context.frame.id) {
  const frame = { stores: context.frame.stores, id: ++lastId, trigger, resource };
  if (context.hooks.length > 0) emit('init', frame.id, type, frame.trigger, resource);
  return frame;
}
// The frame for something that begins now and goes on later.
function capture(type, resource) {
  return context.numbered ? numberedFrame(type, resource) : context.frame;
}
// Call in a frame. `once`: it will not be entered again.
function run(frame, callback, self, args, once = true) {
  const before = context.frame;
  context.frame = frame;
  const shown = context.hooks.length > 0 && frame.id !== before.id;
  if (shown) emit('before', frame.id);
  try {
    return args === undefined ? apply(callback, self, []) : apply(callback, self, args);
  } finally {
    if (shown) {
      emit('after', frame.id);
      if (once) emit('destroy', frame.id);
    }
    context.frame = before;
  }
}
function bound(callback, type) {
  const frame = capture(type, callback);
  return (...args) => run(frame, callback, undefined, args);
}

// ---- promises -----------------------------------------------------------------------------------------------------

function before(promise) {
  const { frame } = context;
  const enter = () => {
    context.frame = frame;
  };
  quiet = true;
  try {
    apply(then, promise, [enter, enter]);
  } catch {
    // It only looks like a promise.
  } finally {
    quiet = false;
  }
}
function quietly(callback, self, args) {
  const was = quiet;
  quiet = true;
  try {
    return apply(callback, self, args);
  } finally {
    quiet = was;
  }
}
function inFrame(frame, callback) {
  return typeof callback !== 'function' ? callback : (value) => run(frame, callback, undefined, [value]);
}

function activate() {
  if (context.active) return;
  context.active = true;
  Object.defineProperty(proto, 'constructor', {
    configurable: true, enumerable: false,
    get() {
      if (!quiet && this !== proto) before(this);
      return NativePromise;
    },
    set(value) {
      Object.defineProperty(this, 'constructor', { value, writable: true, configurable: true, enumerable: this !== proto });
    },
  });
  const methods = {
    then(onFulfilled, onRejected) {
      const frame = capture('PROMISE', this);
      return quietly(then, this, [inFrame(frame, onFulfilled), inFrame(frame, onRejected)]);
    },
  };
  Object.defineProperty(proto, 'then', { value: methods.then, writable: true, configurable: true, enumerable: false });
  // Of a promise this is the promise itself: its holder does not wait yet.
  const statics = {
    resolve(value) { return quietly(resolve, this, [value]); },
  };
  Object.defineProperty(NativePromise, 'resolve', { value: statics.resolve, writable: true, configurable: true, enumerable: false });
}

// What an await in a module waits for.
function waitFor(value) {
  if (!context.active) return value;
  if (value instanceof NativePromise) {
    const was = quiet;
    quiet = true;
    const plain = value.constructor === NativePromise;
    quiet = was;
    if (plain) return value;
  }
  return new NativePromise((done) => done(value));
}

// What ran has ended, in one way or another.
function leave() {
  context.frame = ROOT;
  quiet = false;
}

module.exports = Object.assign(context, {
  ROOT, capture, numberedFrame, run, bound, activate, waitFor, leave, emit,
  nextId: () => ++lastId,
});
