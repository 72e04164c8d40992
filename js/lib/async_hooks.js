// SPDX-License-Identifier: MIT
// node:async_hooks: AsyncLocalStorage and AsyncResource on context.js, and createHook as far as the engine allows: hooks see resources,
// timers, immediates, ticks and what C completes; of promises they hear nothing.
'use strict';

const { codes, validateFunction, validateString } = load('errors');
const context = load('context');
const { apply } = Reflect;
const NONE = Symbol('none');

// ---- stores -------------------------------------------------------------------------------------------------------

function frameWith(storage, store) {
  const { frame } = context;
  const stores = new Map(frame.stores);
  if (store === NONE) stores.delete(storage);
  else stores.set(storage, store);
  return { stores, id: frame.id, trigger: frame.trigger, resource: frame.resource };
}

class AsyncLocalStorage {
  #off = false;
  #default;
  #name = '';
  constructor(options = {}) {
    if (options === null || typeof options !== 'object') throw new codes.ERR_INVALID_ARG_TYPE('options', 'Object', options);
    this.#default = options.defaultValue;
    if (options.name !== undefined) this.#name = `${options.name}`;
    context.activate();
  }
  static bind(callback) {
    return boundTo(callback);
  }
  static snapshot() {
    return boundTo((callback, ...args) => callback(...args));
  }
  get name() { return this.#name; }
  getStore() {
    if (this.#off) return this.#default;
    const { stores } = context.frame;
    return stores !== null && stores.has(this) ? stores.get(this) : this.#default;
  }
  enterWith(store) {
    this.#off = false;
    context.frame = frameWith(this, store);
  }
  run(store, callback, ...args) {
    const before = context.frame;
    const { stores } = before;
    const was = this.#off || stores === null || !stores.has(this) ? NONE : stores.get(this);
    if (was !== NONE && Object.is(was, store)) return apply(callback, null, args);
    this.#off = false;
    const mine = context.frame = frameWith(this, store);
    try {
      return apply(callback, null, args);
    } finally {
      // What it entered of other stores stays.
      context.frame = context.frame === mine ? before : frameWith(this, was);
    }
  }
  exit(callback, ...args) {
    if (this.#off) return apply(callback, null, args);
    const before = context.frame;
    const mine = context.frame = frameWith(this, NONE);
    try {
      return apply(callback, null, args);
    } finally {
      const { stores } = before;
      context.frame = context.frame === mine ? before
        : frameWith(this, stores !== null && stores.has(this) ? stores.get(this) : NONE);
    }
  }
  disable() {
    this.#off = true;
    context.frame = frameWith(this, NONE);
  }
}

// ---- resources ----------------------------------------------------------------------------------------------------

function number() {
  context.activate();
  context.numbered = true;
}

// One that nobody destroyed and nobody holds is destroyed by the collector.
const collected = new FinalizationRegistry(({ id, state }) => {
  if (!state.destroyed) context.emit('destroy', id);
});

class AsyncResource {
  #frame;
  #state = { destroyed: false };
  constructor(type, options = {}) {
    validateString(type, 'type');
    let trigger = options;
    let byHand = false;
    if (typeof options !== 'number') {
      trigger = options.triggerAsyncId === undefined ? context.frame.id : options.triggerAsyncId;
      byHand = !!options.requireManualDestroy;
    }
    if (!Number.isSafeInteger(trigger) || trigger < -1) throw new codes.ERR_INVALID_ASYNC_ID('triggerAsyncId', trigger);
    if (context.hooks.length > 0 && type === '') throw new codes.ERR_ASYNC_TYPE(type);
    this.#frame = context.numberedFrame(type, this, trigger);
    if (!byHand && context.hooks.some((hook) => hook.has('destroy'))) {
      collected.register(this, { id: this.#frame.id, state: this.#state });
    }
  }
  runInAsyncScope(callback, self, ...args) {
    return context.run(this.#frame, callback, self, args, false);
  }
  emitDestroy() {
    this.#state.destroyed = true;
    context.emit('destroy', this.#frame.id);
    return this;
  }
  asyncId() { return this.#frame.id; }
  triggerAsyncId() { return this.#frame.trigger; }
  bind(callback, self) {
    validateFunction(callback, 'fn');
    const resource = this;
    const made = self === undefined
      ? function (...args) { return resource.runInAsyncScope(callback, this, ...args); }
      : (...args) => resource.runInAsyncScope(callback, self, ...args);
    Object.defineProperties(made, {
      length: { configurable: true, enumerable: false, value: callback.length, writable: false },
    });
    return made;
  }
  static bind(callback, type, self) {
    return boundTo(callback, type, self);
  }
}
function boundTo(callback, type, self) {
  validateFunction(callback, 'fn');
  return new AsyncResource(type || callback.name || 'bound-anonymous-fn').bind(callback, self);
}

function executionAsyncId() {
  number();
  return context.frame.id;
}
function triggerAsyncId() {
  number();
  return context.frame.trigger;
}
function executionAsyncResource() {
  number();
  return context.frame.resource;
}

// ---- hooks --------------------------------------------------------------------------------------------------------

class Hook {
  constructor(functions) {
    this.functions = functions;
  }
  has(kind) { return this.functions[kind] !== undefined; }
  call(kind, id, type, trigger, resource) {
    const callback = this.functions[kind];
    if (callback === undefined) return;
    try {
      apply(callback, this.functions, kind === 'init' ? [id, type, trigger, resource] : [id]);
    } catch (error) {
      // As in Node: a hook that throws ends the program, whatever handlers there are.
      load('console').error(error);
      process.reallyExit(1);
    }
  }
}
class AsyncHook {
  #hook;
  constructor(functions) {
    this.#hook = new Hook(functions);
  }
  enable() {
    number();
    if (!context.hooks.includes(this.#hook)) context.hooks = [...context.hooks, this.#hook];
    return this;
  }
  disable() {
    context.hooks = context.hooks.filter((one) => one !== this.#hook);
    return this;
  }
}

function createHook({ init, before, after, destroy, promiseResolve } = {}) {
  const functions = { init, before, after, destroy, promiseResolve };
  for (const name of Object.keys(functions)) {
    if (functions[name] !== undefined && typeof functions[name] !== 'function') throw new codes.ERR_ASYNC_CALLBACK(`hook.${name}`);
  }
  return new AsyncHook(functions);
}

module.exports = {
  AsyncLocalStorage, AsyncResource, createHook, executionAsyncId, triggerAsyncId, executionAsyncResource,
  asyncWrapProviders: Object.freeze({ __proto__: null, NONE: 0 }),
};
