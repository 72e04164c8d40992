// SPDX-License-Identifier: MIT
// What can be broken: the methods of builtin prototypes and namespaces, and names on Object.prototype that others inherit.
'use strict';

const { ownKeys, getOwnPropertyDescriptor, defineProperty, getPrototypeOf, deleteProperty } = Reflect;
const typed = getPrototypeOf(Uint8Array.prototype);
const iterators = {
  ArrayIterator: getPrototypeOf([][Symbol.iterator]()), MapIterator: getPrototypeOf(new Map().entries()),
  SetIterator: getPrototypeOf(new Set().entries()), StringIterator: getPrototypeOf(''[Symbol.iterator]()),
  RegExpStringIterator: getPrototypeOf('a'.matchAll(/a/g)), Generator: getPrototypeOf(function* () {}.prototype),
  AsyncGenerator: getPrototypeOf(async function* () {}.prototype),
};
const owners = {
  Object: Object.prototype, Function: Function.prototype, Array: Array.prototype, String: String.prototype, Number: Number.prototype,
  Boolean: Boolean.prototype, Symbol: Symbol.prototype, BigInt: BigInt.prototype, RegExp: RegExp.prototype, Promise: Promise.prototype,
  Map: Map.prototype, Set: Set.prototype, WeakMap: WeakMap.prototype, WeakSet: WeakSet.prototype, WeakRef: WeakRef.prototype,
  Date: Date.prototype, Error: Error.prototype, ArrayBuffer: ArrayBuffer.prototype, DataView: DataView.prototype, TypedArray: typed,
  Uint8Array: Uint8Array.prototype, Iterator: getPrototypeOf(iterators.ArrayIterator), ...iterators,
  'static Object': Object, 'static Array': Array, 'static Reflect': Reflect, 'static Promise': Promise, 'static Number': Number,
  'static String': String, 'static Math': Math, 'static JSON': JSON, 'static Symbol': Symbol, 'static Date': Date,
  'static ArrayBuffer': ArrayBuffer, 'static Error': Error,
};
const cases = [];
const names = ownKeys(owners);
for (let i = 0; i < names.length; i++) {
  const owner = owners[names[i]];
  const keys = ownKeys(owner);
  for (let k = 0; k < keys.length; k++) {
    const key = keys[k];
    const before = getOwnPropertyDescriptor(owner, key);
    if (key === 'constructor' || key === '__proto__' || key === 'prototype' || !before.configurable) continue;
    if (typeof before.value !== 'function') continue;
    if (owner === Promise.prototype && key === 'then') continue; // the language itself calls it: nothing would be left of promises
    cases[cases.length] = { name: `${names[i]} ${key.toString()}`, owner, key, before };
  }
}
const polluted = ['get', 'set', 'value', 'writable', 'enumerable', 'configurable', 'signal', 'encoding', 'flag', 'mode', 'recursive',
  'length', 'name', 'code', 'message', 'stack', 'toJSON', 'depth', 'colors', 'once', 'persistent', 'bigint', 'priority', 'next', 'done',
  'return', 'href', 'protocol', '0', '1', 'handler', 'callback', 'listener', 'type', 'path', 'fd', 'custom'];
for (let i = 0; i < polluted.length; i++) cases[cases.length] = { name: `Object.prototype.${polluted[i]}`, owner: Object.prototype, key: polluted[i] };

function bad() {
  throw new Error('broken');
}
function breakIt(it, way) {
  if (it.before === undefined) defineProperty(it.owner, it.key, { __proto__: null, value: way === 0 ? bad : 1, writable: true, configurable: true });
  else defineProperty(it.owner, it.key, { __proto__: null, value: way === 0 ? bad : null, writable: true, configurable: true });
}
function mendIt(it) {
  if (it.before === undefined) deleteProperty(it.owner, it.key);
  else defineProperty(it.owner, it.key, it.before);
}

module.exports = { cases, breakIt, mendIt };
