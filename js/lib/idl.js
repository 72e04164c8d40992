// SPDX-License-Identifier: MIT
// What the interfaces of the web have in common (Web IDL): names that can be enumerated, a tag, and conversions of arguments.
'use strict';

const kPlatform = Symbol('platform'); // an object of the host, which no message can hold unless clone.js knows how

// Methods and attributes are enumerable, unlike those of other classes.
function expose(...kinds) {
  for (const Kind of kinds) {
    for (const holder of [Kind, Kind.prototype]) {
      for (const name of Object.getOwnPropertyNames(holder)) {
        const descriptor = Object.getOwnPropertyDescriptor(holder, name);
        if (name === 'constructor' || !descriptor.configurable || (holder === Kind && (name === 'name' || name === 'length'))) continue;
        Object.defineProperty(holder, name, { enumerable: true });
      }
    }
    Object.defineProperty(Kind.prototype, Symbol.toStringTag, { value: Kind.name, configurable: true, writable: false, enumerable: false });
    Object.defineProperty(Kind.prototype, kPlatform, { value: true });
  }
}
// An interface that is a list of pairs: entries, keys, values and forEach over what listOf(object) has at that moment.
const Iterators = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]()));
function pairs(Kind, listOf) {
  const states = new WeakMap();
  const prototype = Object.create(Iterators, {
    [Symbol.toStringTag]: { value: `${Kind.name} Iterator`, configurable: true },
  });
  const { next } = {
    next() {
      const state = states.get(this);
      if (state === undefined) throw new TypeError(`next: this is no ${Kind.name} Iterator`);
      const list = listOf(state.of);
      if (state.at >= list.length) return { value: undefined, done: true };
      const pair = list[state.at++];
      return { value: state.what === 2 ? [pair[0], pair[1]] : pair[state.what], done: false };
    },
  };
  Object.defineProperty(prototype, 'next', { value: next, writable: true, enumerable: true, configurable: true });
  const iterator = (of, what) => {
    listOf(of); // throws for another object
    const made = Object.create(prototype);
    states.set(made, { of, what, at: 0 });
    return made;
  };
  const methods = {
    entries() { return iterator(this, 2); },
    forEach(callback, self = undefined) {
      listOf(this);
      need(arguments.length, 1, 'forEach');
      if (typeof callback !== 'function') throw new TypeError('forEach: the callback is no function');
      for (let i = 0; i < listOf(this).length; i++) {
        const [name, value] = listOf(this)[i];
        callback.call(self, value, name, this);
      }
    },
    keys() { return iterator(this, 0); },
    values() { return iterator(this, 1); },
  };
  for (const [name, value] of Object.entries(methods)) {
    Object.defineProperty(Kind.prototype, name, { value, writable: true, enumerable: true, configurable: true });
  }
  Object.defineProperty(Kind.prototype, Symbol.iterator, { value: methods.entries, writable: true, enumerable: false, configurable: true });
}
// Values that never change, on the class and on its instances.
function constants(Kind, values) {
  for (const [name, value] of Object.entries(values)) {
    for (const holder of [Kind, Kind.prototype]) {
      Object.defineProperty(holder, name, { value, enumerable: true, writable: false, configurable: false });
    }
  }
}
const isObject = (value) => (typeof value === 'object' && value !== null) || typeof value === 'function';

// A dictionary: undefined and null are an empty one.
function dictionary(value, what) {
  if (value === undefined || value === null) return {};
  if (!isObject(value)) throw new TypeError(`${what}: the options are no object`);
  return value;
}
// A double: no NaN, no infinity.
function double(value, what) {
  const number = +value;
  if (!Number.isFinite(number)) throw new TypeError(`${what}: ${value} is no finite number`);
  return number;
}
function need(count, wanted, what) {
  if (count >= wanted) return;
  const error = new TypeError(`${what}: ${wanted} argument${wanted === 1 ? ' is' : 's are'} needed, and ${count} ${count === 1 ? 'is' : 'are'} here`);
  error.code = 'ERR_MISSING_ARGS';
  throw error;
}

module.exports = { kPlatform, expose, constants, pairs, isObject, dictionary, double, need };
