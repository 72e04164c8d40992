// SPDX-License-Identifier: MIT
// Deep equality as util.isDeepStrictEqual and assert.deepEqual mean it.
'use strict';

const types = load('util_types');
const hasOwn = Object.hasOwn;

function enumerableSymbols(value) {
  return Object.getOwnPropertySymbols(value).filter((key) => Object.prototype.propertyIsEnumerable.call(value, key));
}
function sameKeys(a, b, strict, memory, skip) {
  const keys = Object.keys(a).filter(skip);
  const other = Object.keys(b).filter(skip);
  if (keys.length !== other.length) return false;
  for (const key of keys) if (!hasOwn(b, key)) return false;
  if (strict) {
    const symbols = enumerableSymbols(a);
    if (symbols.length !== enumerableSymbols(b).length) return false;
    for (const key of symbols) {
      if (!Object.prototype.propertyIsEnumerable.call(b, key)) return false;
    }
    keys.push(...symbols);
  }
  return keys.every((key) => equal(a[key], b[key], strict, memory));
}

function equal(a, b, strict, memory = []) {
  if (a === b) return a !== 0 || !strict || Object.is(a, b);
  if (strict) {
    if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) {
      return typeof a === 'number' && Number.isNaN(a) && Number.isNaN(b);
    }
    if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  } else {
    if (a === null || typeof a !== 'object') {
      return (b === null || typeof b !== 'object') && (a == b || (Number.isNaN(a) && Number.isNaN(b)));
    }
    if (b === null || typeof b !== 'object') return false;
  }
  if (Object.prototype.toString.call(a) !== Object.prototype.toString.call(b)) return false;
  for (const [x, y] of memory) if (x === a && y === b) return true;
  memory.push([a, b]);
  const result = same(a, b, strict, memory);
  memory.pop();
  return result;
}

// What is in the box, whatever prototype the box was given.
const boxes = [[types.isNumberObject, Number], [types.isStringObject, String], [types.isBooleanObject, Boolean], [types.isBigIntObject, BigInt], [types.isSymbolObject, Symbol]]
  .map(([is, Kind]) => [is, Kind.prototype.valueOf]);
function unboxed(value) {
  for (const [is, valueOf] of boxes) if (is(value)) return Reflect.apply(valueOf, value, []);
  return value;
}
const every = () => true;
const named = (key) => !/^(0|[1-9]\d*)$/.test(key);

function same(a, b, strict, memory) {
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  if (Array.isArray(a)) {
    if (a.length !== b.length) return false;
    for (let i = 0; i < a.length; i++) {
      if (strict && hasOwn(a, i) !== hasOwn(b, i)) return false;
      if (!equal(a[i], b[i], strict, memory)) return false;
    }
    return sameKeys(a, b, strict, memory, named);
  }
  if (types.isDate(a)) {
    if (!types.isDate(b) || !Object.is(a.getTime(), b.getTime())) return false;
  } else if (types.isRegExp(a)) {
    if (!types.isRegExp(b) || `${a}` !== `${b}` || a.lastIndex !== b.lastIndex) return false;
  } else if (a instanceof Error) {
    if (!(b instanceof Error) || a.message !== b.message || a.name !== b.name) return false;
    if (hasOwn(a, 'cause') !== hasOwn(b, 'cause') || (hasOwn(a, 'cause') && !equal(a.cause, b.cause, strict, memory))) return false;
    if (hasOwn(a, 'errors') && !equal(a.errors, b.errors, strict, memory)) return false;
  } else if (ArrayBuffer.isView(a) || types.isAnyArrayBuffer(a)) {
    const x = ArrayBuffer.isView(a) ? new Uint8Array(a.buffer, a.byteOffset, a.byteLength) : new Uint8Array(a);
    const y = ArrayBuffer.isView(b) ? new Uint8Array(b.buffer, b.byteOffset, b.byteLength) : new Uint8Array(b);
    if (x.length !== y.length || (!strict && (types.isFloat32Array(a) || types.isFloat64Array(a))
      ? a.length !== b.length || !a.every((value, i) => value === b[i]) : !x.every((value, i) => value === y[i]))) return false;
    return sameKeys(a, b, strict, memory, named);
  } else if (types.isBoxedPrimitive(a)) {
    if (!types.isBoxedPrimitive(b) || !Object.is(unboxed(a), unboxed(b))) return false;
    return sameKeys(a, b, strict, memory, named);
  } else if (types.isSet(a)) {
    if (!types.isSet(b) || a.size !== b.size) return false;
    const rest = new Set(b);
    for (const item of a) {
      if (rest.delete(item)) continue;
      if (strict && (typeof item !== 'object' || item === null)) return false;
      const found = [...rest].find((other) => equal(item, other, strict, memory));
      if (found === undefined && !rest.has(undefined)) return false;
      rest.delete(found);
    }
  } else if (types.isMap(a)) {
    if (!types.isMap(b) || a.size !== b.size) return false;
    const rest = new Map(b);
    for (const [key, item] of a) {
      if (rest.has(key)) {
        if (!equal(item, rest.get(key), strict, memory)) return false;
        rest.delete(key);
        continue;
      }
      if (strict && (typeof key !== 'object' || key === null)) return false;
      const found = [...rest].find(([other, value]) => equal(key, other, strict, memory) && equal(item, value, strict, memory));
      if (found === undefined) return false;
      rest.delete(found[0]);
    }
  } else if (types.isWeakMap(a) || types.isWeakSet(a) || types.isPromise(a)) {
    return false;
  }
  return sameKeys(a, b, strict, memory, every);
}

module.exports = { equal };
