// SPDX-License-Identifier: MIT
// What the interfaces of the web have in common (Web IDL): names that can be enumerated, a tag, and conversions of arguments.
'use strict';

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
  }
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

module.exports = { expose, constants, isObject, dictionary, double, need };
