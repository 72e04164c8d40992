// SPDX-License-Identifier: MIT
// structuredClone, with transfer of ArrayBuffers.
'use strict';

const { codes } = load('errors');
const errorKinds = { Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };

function refuse(value) {
  const { DOMException } = load('eventtarget');
  let shown;
  if (typeof value === 'symbol') shown = value.toString();
  else if (typeof value === 'function') shown = `${value}`;
  else shown = `#<${value?.constructor?.name ?? 'Object'}>`;
  return new DOMException(`${shown} could not be cloned.`, 'DataCloneError');
}
// The class that the engine itself would tell, whatever Symbol.toStringTag says.
function brand(value) {
  for (const [name, test] of tests) {
    try {
      test(value);
      return name;
    } catch {
      // Another.
    }
  }
  return 'Object';
}
const uncurry = (prototype, name) => {
  const descriptor = Object.getOwnPropertyDescriptor(prototype, name);
  const method = descriptor.get ?? descriptor.value;
  return (value) => method.call(value);
};
const tests = [
  ['Map', uncurry(Map.prototype, 'size')], ['Set', uncurry(Set.prototype, 'size')], ['Date', uncurry(Date.prototype, 'getTime')],
  ['ArrayBuffer', uncurry(ArrayBuffer.prototype, 'byteLength')], ['Boolean', uncurry(Boolean.prototype, 'valueOf')],
  ['Number', uncurry(Number.prototype, 'valueOf')], ['String', uncurry(String.prototype, 'valueOf')],
  ['BigInt', uncurry(BigInt.prototype, 'valueOf')], ['Symbol', uncurry(Symbol.prototype, 'valueOf')],
  ['WeakMap', (value) => WeakMap.prototype.has.call(value, {})], ['WeakSet', (value) => WeakSet.prototype.has.call(value, {})],
  ['WeakRef', uncurry(WeakRef.prototype, 'deref')],
];
const sourceOf = Object.getOwnPropertyDescriptor(RegExp.prototype, 'source').get;
// By a getter: `exec` would set lastIndex.
const isRegExp = (value) => {
  try {
    return value !== RegExp.prototype && sourceOf.call(value) !== undefined;
  } catch {
    return false;
  }
};

function structuredClone(value, options = undefined) {
  if (arguments.length === 0) {
    const error = new codes.ERR_MISSING_ARGS('value');
    error.message = 'The value argument must be specified';
    throw error;
  }
  const memory = new Map();
  const transfer = options?.transfer === undefined ? [] : [...options.transfer];
  for (const buffer of transfer) {
    if (buffer === null || typeof buffer !== 'object') throw new codes.ERR_INVALID_TRANSFER_OBJECT();
    if (!(buffer instanceof ArrayBuffer) || buffer.detached) throw refuse(buffer);
  }
  function copy(from) {
    if (typeof from === 'symbol' || typeof from === 'function') throw refuse(from);
    if (from === null || typeof from !== 'object') return from;
    if (memory.has(from)) return memory.get(from);
    const keep = (to) => {
      memory.set(from, to);
      return to;
    };
    if (Array.isArray(from)) {
      const to = keep(new Array(from.length));
      for (const key of Object.keys(from)) to[key] = copy(from[key]);
      return to;
    }
    if (ArrayBuffer.isView(from)) {
      const buffer = copy(from.buffer);
      const Kind = from instanceof DataView ? DataView : globalThis[from[Symbol.toStringTag]];
      return keep(new Kind(buffer, from.byteOffset, from instanceof DataView ? from.byteLength : from.length));
    }
    if (from instanceof Error) {
      const Kind = Object.hasOwn(errorKinds, from.name) ? errorKinds[from.name] : Error;
      const made = keep(new Kind(from.message));
      if (typeof from.stack === 'string') {
        Object.defineProperty(made, 'stack', { value: from.stack, writable: true, configurable: true, enumerable: false });
      }
      if (Object.hasOwn(from, 'cause')) {
        Object.defineProperty(made, 'cause', { value: copy(from.cause), writable: true, configurable: true, enumerable: false });
      }
      return made;
    }
    if (isRegExp(from)) return keep(new RegExp(from.source, from.flags));
    switch (brand(from)) {
      case 'Map': {
        const to = keep(new Map());
        for (const [key, item] of [...from]) to.set(copy(key), copy(item));
        return to;
      }
      case 'Set': {
        const to = keep(new Set());
        for (const item of [...from]) to.add(copy(item));
        return to;
      }
      case 'Date':
        return keep(new Date(from.getTime()));
      case 'ArrayBuffer':
        if (from.detached) throw refuse(from);
        return keep(from.slice(0));
      case 'Boolean': case 'Number': case 'String': case 'BigInt':
        return keep(Object(from.valueOf()));
      case 'Symbol': case 'WeakMap': case 'WeakSet': case 'WeakRef':
        throw refuse(from);
      default:
    }
    if (binding.promiseState(from) !== undefined) throw refuse(from);
    if (from === globalThis || binding.proxyTarget(from) !== undefined) throw refuse({});
    const to = keep({});
    for (const key of Object.keys(from)) to[key] = copy(from[key]);
    return to;
  }
  const result = copy(value);
  for (const buffer of transfer) buffer.transfer();
  return result;
}

module.exports = { structuredClone };
