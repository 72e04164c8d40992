// SPDX-License-Identifier: MIT
// The builtins as they were before any program ran. Runs first; what a program breaks later may harm the program, never the host.
//
// A method that the library calls stands under a symbol of its own on the prototype that has it, where no program overwrites it:
// tool/embed.c writes `list.push(x)` as `list[$push](x)`, for each name in safe.txt. That costs nothing, unlike a function that was
// made of Function.prototype.call and the method (80 ns per call in this engine). On objects that are no builtins the
// symbol finds Object.prototype, which calls the method of that name. `Object.keys(x)` becomes `$Object.keys(x)`, a copy.
//
// Not covered: for-of, spread and array patterns follow the iterators of the program's prototypes. Where the host must go on
// (the scheduler, reporting, files, console) the library does without them.
(function (binding) {
'use strict';

const { apply, getOwnPropertyDescriptor, getPrototypeOf, defineProperty: define, setPrototypeOf, ownKeys } = Reflect;
const iterator = getPrototypeOf([][Symbol.iterator]());
const owners = [
  Function.prototype, Array.prototype, String.prototype, Number.prototype, BigInt.prototype, RegExp.prototype, Promise.prototype,
  Map.prototype, Set.prototype, WeakMap.prototype, WeakSet.prototype, WeakRef.prototype, Date.prototype, ArrayBuffer.prototype, DataView.prototype,
  getPrototypeOf(Uint8Array.prototype), iterator, getPrototypeOf(new Map().entries()), getPrototypeOf(new Set().entries()),
  getPrototypeOf(''[Symbol.iterator]()), getPrototypeOf('a'.matchAll(/a/g)), getPrototypeOf(function* () {}.prototype), getPrototypeOf(iterator),
];
const safe = { __proto__: null };
const names = binding.safeNames.split(' ');

const symbols = { __proto__: null }; // by name

function put(owner, name, value) {
  define(owner, symbols[name], { __proto__: null, value });
}
// For a class of the library that has methods of these names and descends from a builtin.
safe.adopt = (owner) => {
  const keys = ownKeys(owner);
  for (let i = 0; i < keys.length; i++) {
    if (symbols[keys[i]] === undefined) continue;
    const { value } = getOwnPropertyDescriptor(owner, keys[i]);
    if (typeof value === 'function') put(owner, keys[i], value);
  }
};
for (let i = 0; i < names.length; i++) {
  const name = names[i];
  safe[`$${name}`] = symbols[name] = Symbol(`vigil.host.${name}`); // packages take names of symbols apart, as "Symbol.iterator"
  put(Object.prototype, name, function (...args) { return apply(this[name], this, args); });
}
const { exec } = RegExp.prototype;
// `test` would call whatever `exec` is by then.
for (let i = 0; i < owners.length; i++) {
  if (owners[i] !== RegExp.prototype) safe.adopt(owners[i]);
}
put(RegExp.prototype, 'exec', exec);
put(RegExp.prototype, 'test', function (text) { return apply(exec, this, [text]) !== null; });

// The same for the builtins of another context: its Object.prototype, its RegExp.prototype, and others.
const plainTest = getOwnPropertyDescriptor(RegExp.prototype, symbols.test).value;
safe.adoptRealm = (objects, regexps, others) => {
  for (let i = 0; i < names.length; i++) put(objects, names[i], Object.prototype[symbols[names[i]]]);
  for (let i = 0; i < others.length; i++) safe.adopt(others[i]);
  put(regexps, 'exec', regexps.exec);
  put(regexps, 'test', plainTest);
};

const iterate = Array.prototype[Symbol.iterator];
const step = iterator.next;
const valueOf = (owner, key) => getOwnPropertyDescriptor(owner, key)?.value;
// Whether a program has changed one of these methods: then a formatter that failed may be excused.
safe.patched = () => {
  if (valueOf(Array.prototype, Symbol.iterator) !== iterate || valueOf(iterator, 'next') !== step) return true;
  for (let i = 0; i < owners.length; i++) {
    for (let k = 0; k < names.length; k++) {
      const kept = valueOf(owners[i], symbols[names[k]]);
      if (kept !== undefined && names[k] !== 'test' && valueOf(owners[i], names[k]) !== kept) return true;
    }
  }
  return false;
};

// Whether a long list has surely nothing but its elements. The formatter looks for other properties, and the engine lists the elements' names
// before them: 50 ms for 10^5 of them.
let samples = null;
function makeSamples() {
  const lists = [[], [1, 2], [1.5, 2.5], ['a', 'b'], [{}]]; // those of literals are of kinds of their own
  for (let i = 0; i < 5; i++) {
    lists[lists.length] = lists[i][safe.$slice]();
    lists[lists.length] = lists[i][safe.$map]((item) => item);
    lists[lists.length] = lists[i][safe.$concat]([]);
  }
  lists[lists.length] = new Array(5);
  const sparse = [1];
  sparse[100000] = 1;
  lists[lists.length] = sparse;
  const kinds = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array, Float64Array,
    BigInt64Array, BigUint64Array];
  for (let i = 0; i < kinds.length; i++) {
    lists[lists.length] = new kinds[i](1);
    lists[lists.length] = new kinds[i](new ArrayBuffer(8));
    lists[lists.length] = new kinds[i](2000);
  }
  return lists;
}
safe.plainList = (list) => {
  if (!(list.length > 64)) return false;
  samples ??= makeSamples();
  return binding.sameShape(list, samples);
};
safe.addSample = (list) => {
  samples ??= makeSamples();
  samples[samples.length] = list;
};

// What has made a promise, for the formatter: context.js may have put a getter in the place of `constructor`.
const { prototype: ofPromises } = Promise;
const maker = { __proto__: null, value: Promise };
safe.maker = (object) => (object === ofPromises ? maker : undefined);

// ---- functions of constructors and namespaces ---------------------------------------------------------------------

const statics = { Object, Reflect, Math, JSON, Number, Array, Symbol, Promise, Date, ArrayBuffer, String };
const bound = Function.prototype.bind;
for (const key in statics) {
  const from = statics[key];
  const copy = safe[`$${key}`] = { __proto__: null };
  const keys = ownKeys(from);
  for (let i = 0; i < keys.length; i++) {
    const found = getOwnPropertyDescriptor(from, keys[i]);
    if (found === undefined || typeof found.value !== 'function' || keys[i] === 'prototype') continue;
    copy[keys[i]] = key === 'Promise' ? apply(bound, found.value, [from]) : found.value;
  }
}
// A descriptor inherits from Object.prototype, where a program may have left `get`.
safe.$Object.defineProperty = (object, key, descriptor) => {
  setPrototypeOf(descriptor, null);
  if (!define(object, key, descriptor)) {
    throw new TypeError(`Cannot redefine property: ${typeof key === 'symbol' ? 'a symbol' : key}`);
  }
  return object;
};
safe.$Object.defineProperties = (object, descriptors) => {
  const keys = ownKeys(descriptors);
  for (let i = 0; i < keys.length; i++) safe.$Object.defineProperty(object, keys[i], descriptors[keys[i]]);
  return object;
};
const { create } = Object;
safe.$Object.create = (proto, descriptors) =>
  (descriptors === undefined ? create(proto) : safe.$Object.defineProperties(create(proto), descriptors));
safe.$Reflect.defineProperty = (object, key, descriptor) => {
  setPrototypeOf(descriptor, null);
  return define(object, key, descriptor);
};
binding.safe = safe;
})
