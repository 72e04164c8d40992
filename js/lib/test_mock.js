// SPDX-License-Identifier: MIT
// Mocks of node:test: functions that remember their calls, and methods, getters and setters that are replaced for a while.
'use strict';

const { codes, validateFunction, validateInteger, validateObject } = load('errors');

class MockFunctionContext {
  #calls = [];
  #once = new Map(); // number of the call -> implementation
  #implementation;
  #restore;
  #times;
  constructor(implementation, restore, times) {
    this.#implementation = implementation;
    this.#restore = restore;
    this.#times = times;
  }
  get calls() { return this.#calls.slice(); }
  callCount() { return this.#calls.length; }
  mockImplementation(implementation) {
    validateFunction(implementation, 'implementation');
    this.#implementation = implementation;
  }
  mockImplementationOnce(implementation, onCall = undefined) {
    validateFunction(implementation, 'implementation');
    const at = onCall ?? this.#calls.length;
    validateInteger(at, 'onCall', this.#calls.length, Number.MAX_SAFE_INTEGER);
    this.#once.set(at, implementation);
  }
  resetCalls() { this.#calls = []; }
  restore() { this.#restore(this); }
  // After this the original runs.
  back(original) { this.#implementation = original; }
  run(self, args, target, original) {
    const number = this.#calls.length;
    const implementation = this.#once.get(number) ?? (number < this.#times ? this.#implementation : original);
    this.#once.delete(number);
    const call = { arguments: args, error: undefined, result: undefined, stack: new Error(), target, this: self };
    try {
      call.result = target === undefined ? Reflect.apply(implementation, self, args) : Reflect.construct(implementation, args, target);
      if (target !== undefined) call.this = call.result;
      return call.result;
    } catch (error) {
      call.error = error;
      throw error;
    } finally {
      this.#calls.push(call);
    }
  }
}

function timesOf(options) {
  const { times = Infinity } = options ?? {};
  if (times !== Infinity) validateInteger(times, 'options.times', 1, Number.MAX_SAFE_INTEGER);
  return times;
}
class MockTracker {
  #mocks = [];
  #make(original, implementation, restore, options) {
    const context = new MockFunctionContext(implementation, restore, timesOf(options));
    const mocked = new Proxy(original, {
      apply: (target, self, args) => context.run(self, args, undefined, original),
      construct: (target, args, newTarget) => context.run(undefined, args, newTarget === mocked ? original : newTarget, original),
      get: (target, key, receiver) => (key === 'mock' ? context : Reflect.get(target, key, receiver)),
    });
    this.#mocks.push(context);
    return mocked;
  }
  fn(original = function () {}, implementation = original, options = undefined) {
    if (original !== null && typeof original === 'object') [original, implementation, options] = [function () {}, undefined, original];
    if (implementation !== null && typeof implementation === 'object') [implementation, options] = [original, implementation];
    implementation ??= original;
    validateFunction(original, 'original');
    validateFunction(implementation, 'implementation');
    return this.#make(original, implementation, (context) => context.back(original), options);
  }
  method(object, name, implementation = undefined, options = undefined) {
    if (object === null || (typeof object !== 'object' && typeof object !== 'function')) throw new codes.ERR_INVALID_ARG_TYPE('object', 'object', object);
    if (implementation !== null && typeof implementation === 'object') [implementation, options] = [undefined, implementation];
    if (options !== undefined) validateObject(options, 'options');
    const key = options?.getter ? 'get' : options?.setter ? 'set' : 'value';
    let owner = object;
    while (owner !== null && !Object.hasOwn(owner, name)) owner = Object.getPrototypeOf(owner);
    const found = owner === null ? undefined : Object.getOwnPropertyDescriptor(owner, name);
    const original = found?.[key];
    if (typeof original !== 'function') throw new codes.ERR_INVALID_ARG_VALUE('methodName', original, 'must be a method');
    const mocked = this.#make(original, implementation ?? original, () => {
      if (owner === object) Object.defineProperty(object, name, found);
      else delete object[name];
    }, options);
    Object.defineProperty(object, name, { ...found, configurable: true, [key]: mocked });
    return mocked;
  }
  getter(object, name, implementation, options = undefined) { return this.method(object, name, implementation, { ...options, getter: true }); }
  setter(object, name, implementation, options = undefined) { return this.method(object, name, implementation, { ...options, setter: true }); }
  restoreAll() {
    for (const context of this.#mocks) context.restore();
  }
  reset() {
    this.restoreAll();
    this.#mocks = [];
  }
}

module.exports = { MockTracker, MockFunctionContext };
