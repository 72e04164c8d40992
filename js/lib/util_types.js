// SPDX-License-Identifier: MIT
// node:util/types: what a value really is, whatever it says.
'use strict';

const apply = Reflect.apply;
function accepts(method, ...args) {
  return (value) => {
    if (value === null || typeof value !== 'object') return false;
    try {
      apply(method, value, args);
      return true;
    } catch {
      return false;
    }
  };
}
const getter = (prototype, name) => Object.getOwnPropertyDescriptor(prototype, name).get;
const typedTag = getter(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag);
const typed = (name) => (value) => ArrayBuffer.isView(value) && apply(typedTag, value, []) === name;
const toString = Object.prototype.toString;
const GeneratorFunction = Object.getPrototypeOf(function* () {}).constructor;
const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor;
const AsyncGeneratorFunction = Object.getPrototypeOf(async function* () {}).constructor;
const { native } = load('errors');

const types = {
  isMap: accepts(getter(Map.prototype, 'size')),
  isSet: accepts(getter(Set.prototype, 'size')),
  isWeakMap: accepts(WeakMap.prototype.has, {}),
  isWeakSet: accepts(WeakSet.prototype.has, {}),
  isDate: accepts(Date.prototype.getTime),
  isRegExp: accepts(getter(RegExp.prototype, 'hasIndices')),
  isArrayBuffer: accepts(getter(ArrayBuffer.prototype, 'byteLength')),
  isSharedArrayBuffer: (value) => toString.call(value) === '[object SharedArrayBuffer]',
  isDataView: accepts(getter(DataView.prototype, 'byteLength')),
  isPromise: (value) => value !== null && typeof value === 'object' && binding.promiseState(value) !== undefined,
  isNativeError: (value) => value instanceof native.Error && Object.hasOwn(value, 'stack'),
  isProxy: (value) => ((typeof value === 'object' && value !== null) || typeof value === 'function') &&
    binding.proxyTarget(value) !== undefined,
  isExternal: () => false,
  isCryptoKey: () => false,
  isKeyObject: () => false,
  isTypedArray: (value) => ArrayBuffer.isView(value) && !(types.isDataView(value)),
  isArrayBufferView: ArrayBuffer.isView,
  isNumberObject: accepts(Number.prototype.valueOf),
  isStringObject: accepts(String.prototype.valueOf),
  isBooleanObject: accepts(Boolean.prototype.valueOf),
  isBigIntObject: accepts(BigInt.prototype.valueOf),
  isSymbolObject: accepts(Symbol.prototype.valueOf),
  isGeneratorFunction: (value) => value instanceof GeneratorFunction || value instanceof AsyncGeneratorFunction,
  isAsyncFunction: (value) => value instanceof AsyncFunction || value instanceof AsyncGeneratorFunction,
  isGeneratorObject: (value) => /^\[object (Async)?Generator\]$/.test(toString.call(value)),
  isMapIterator: (value) => toString.call(value) === '[object Map Iterator]',
  isSetIterator: (value) => toString.call(value) === '[object Set Iterator]',
  isArgumentsObject: (value) => toString.call(value) === '[object Arguments]',
  isModuleNamespaceObject: (value) => value !== null && typeof value === 'object' && value[Symbol.toStringTag] === 'Module',
};
types.isAnyArrayBuffer = (value) => types.isArrayBuffer(value) || types.isSharedArrayBuffer(value);
types.isBoxedPrimitive = (value) => types.isNumberObject(value) || types.isStringObject(value) || types.isBooleanObject(value) ||
  types.isBigIntObject(value) || types.isSymbolObject(value);
for (const name of ['Int8Array', 'Uint8Array', 'Uint8ClampedArray', 'Int16Array', 'Uint16Array', 'Int32Array', 'Uint32Array', 'Float32Array',
                    'Float64Array', 'BigInt64Array', 'BigUint64Array']) {
  types[`is${name}`] = typed(name);
}
module.exports = types;
