// SPDX-License-Identifier: MIT
// structuredClone, with transfer of ArrayBuffers and of what knows how to move (ports of messages).
'use strict';

const { codes } = load('errors');
const { kPlatform } = load('idl');
const kMove = Symbol('move'); // a method that checks, and returns a function that moves
const { apply } = Reflect;
const plain = Object.prototype;
const toText = plain.toString;
const errorKinds = { Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };

function shownAs(value) {
  if (typeof value === 'symbol') return value.toString();
  if (typeof value === 'function') return `${value}`;
  return `#<${value?.constructor?.name ?? 'Object'}>`;
}
function refuse(value) {
  const { DOMException } = load('eventtarget');
  return new DOMException(`${shownAs(value)} could not be cloned.`, 'DataCloneError');
}
// Most are plain, and each test that fails throws. toString knows those that need no tag of a prototype.
function isPlain(value) {
  const made = Object.getPrototypeOf(value);
  return (made === plain || made === null) && apply(toText, value, []) === '[object Object]';
}
// The class that the engine itself would tell, whatever Symbol.toStringTag says.
function brand(value) {
  if (isPlain(value)) return 'Object';
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
  if (isPlain(value)) return false;
  try {
    return value !== RegExp.prototype && sourceOf.call(value) !== undefined;
  } catch {
    return false;
  }
};

// The kind of an object that is no array and no view. 'Host': it can be moved, or knows itself how it is copied.
function kindOf(value) {
  if (value instanceof Error) return 'Error';
  if (isRegExp(value)) return 'RegExp';
  const found = brand(value);
  if (found !== 'Object') return found;
  if (typeof value[kMove] === 'function' || (binding.isLoaded('blob') && load('blob').isBlob(value))) return 'Host';
  if (binding.promiseState(value) !== undefined) return 'Promise';
  return value === globalThis || binding.proxyTarget(value) !== undefined ? 'Proxy' : 'Object';
}

// ---- views of buffers ---------------------------------------------------------------------------------------------

const keysOf = Object.getPrototypeOf(Uint8Array.prototype).keys;
// Its buffer is gone, or has become too short for it.
function isOutOfBounds(view) {
  if (view.buffer.detached) return true;
  try {
    if (view instanceof DataView) void view.byteLength;
    else apply(keysOf, view, []);
    return false;
  } catch {
    return true;
  }
}
// Nothing tells whether a view grows with its buffer, except growing it. A buffer that is as long as it may be has no such views here.
function growsWith(view) {
  const { buffer, byteLength } = view;
  const size = buffer.byteLength;
  if (!buffer.resizable || size + 8 > buffer.maxByteLength) return false;
  buffer.resize(size + 8);
  const grows = view.byteLength !== byteLength;
  buffer.resize(size);
  return grows;
}
function copyOfBuffer(from) {
  if (!from.resizable) return from.slice(0);
  const to = new ArrayBuffer(from.byteLength, { maxByteLength: from.maxByteLength });
  new Uint8Array(to).set(new Uint8Array(from));
  return to;
}
// Makes the same view of another buffer.
function viewMaker(view) {
  const Kind = view instanceof DataView ? DataView : globalThis[view[Symbol.toStringTag]];
  const { byteOffset } = view;
  const length = growsWith(view) ? undefined : view instanceof DataView ? view.byteLength : view.length;
  return (buffer) => new Kind(buffer, byteOffset, length);
}

// Copies the value: { value, moved }, of which the second are the transferred objects as the receiver has them.
function cloneWith(value, transfer) {
  const memory = new Map();
  const movers = new Map();
  for (const item of transfer) {
    if (item === null || typeof item !== 'object') throw new codes.ERR_INVALID_TRANSFER_OBJECT();
    if (movers.has(item)) throw refuse(item);
    if (typeof item[kMove] === 'function') movers.set(item, item[kMove]());
    else if (!(item instanceof ArrayBuffer) || item.detached) throw refuse(item);
    else movers.set(item, () => item.transfer());
  }
  // Nothing moves before everything is copied, because a copy can fail: what moves is stood in for until then.
  const standIns = new Map();
  const moved = new Map();
  const standIn = (from, make) => {
    const stand = {};
    memory.set(from, stand);
    standIns.set(stand, make);
    return stand;
  };
  function copy(from) {
    if (typeof from === 'symbol' || typeof from === 'function') throw refuse(from);
    if (from === null || typeof from !== 'object') return from;
    if (memory.has(from)) return memory.get(from);
    if (movers.has(from)) return standIn(from, () => moved.get(from));
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
      if (isOutOfBounds(from)) throw refuse(from);
      const make = viewMaker(from);
      // A view of a buffer that moves is made after the move.
      const whole = from.buffer;
      return movers.has(whole) ? standIn(from, () => make(moved.get(whole))) : keep(make(copy(whole)));
    }
    if (from instanceof Error) {
      if (binding.isLoaded('eventtarget') && from instanceof load('eventtarget').DOMException) {
        const { DOMException } = load('eventtarget');
        const made = keep(new DOMException(from.message, from.name));
        Object.defineProperty(made, 'stack', { value: from.stack, writable: true, configurable: true, enumerable: false });
        return made;
      }
      const Kind = Object.hasOwn(errorKinds, from.name) ? errorKinds[from.name] : Error;
      const said = Object.getOwnPropertyDescriptor(from, 'message');
      const made = keep(said === undefined || !('value' in said) ? new Kind() : new Kind(`${said.value}`));
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
        return keep(copyOfBuffer(from));
      case 'Boolean': case 'Number': case 'String': case 'BigInt':
        return keep(Object(from.valueOf()));
      case 'Symbol': case 'WeakMap': case 'WeakSet': case 'WeakRef':
        throw refuse(from);
      default:
    }
    if (binding.isLoaded('blob') && load('blob').isBlob(from)) return keep(load('blob').copyOf(from));
    if (typeof from[kMove] === 'function' || from[kPlatform] === true) throw refuse(from);
    if (binding.promiseState(from) !== undefined) throw refuse(from);
    if (from === globalThis || binding.proxyTarget(from) !== undefined) throw refuse({});
    const to = keep({});
    for (const key of Object.keys(from)) to[key] = copy(from[key]);
    return to;
  }
  const result = copy(value);
  for (const [item, move] of movers) moved.set(item, move());
  return { value: standIns.size === 0 ? result : replace(result, standIns), moved: [...moved.values()] };
}

// Puts what has moved into the copy, which is plain data.
function replace(root, standIns) {
  const seen = new Set();
  const made = new Map();
  const put = (value) => {
    if (!standIns.has(value)) return value;
    if (!made.has(value)) made.set(value, standIns.get(value)());
    return made.get(value);
  };
  const todo = [root];
  while (todo.length > 0) {
    const at = todo.pop();
    if (at === null || typeof at !== 'object' || ArrayBuffer.isView(at) || standIns.has(at) || seen.has(at)) continue;
    seen.add(at);
    if (at instanceof Map) {
      const entries = [...at];
      at.clear();
      for (const [key, item] of entries) {
        todo.push(key, item);
        at.set(put(key), put(item));
      }
    } else if (at instanceof Set) {
      const items = [...at];
      at.clear();
      for (const item of items) {
        todo.push(item);
        at.add(put(item));
      }
    }
    for (const key of Object.getOwnPropertyNames(at)) {
      const descriptor = Object.getOwnPropertyDescriptor(at, key);
      if (descriptor.value === null || typeof descriptor.value !== 'object') continue;
      todo.push(descriptor.value);
      if (standIns.has(descriptor.value)) at[key] = put(descriptor.value);
    }
  }
  return put(root);
}

function structuredClone(value, options = undefined) {
  // A Proxy here, and none in Node.
  if (value === process.env) value = { ...value };
  if (arguments.length === 0) {
    const error = new codes.ERR_MISSING_ARGS('value');
    error.message = 'The value argument must be specified';
    throw error;
  }
  return cloneWith(value, options?.transfer === undefined ? [] : [...options.transfer]).value;
}

module.exports = { structuredClone, cloneWith, kMove, kindOf, shownAs };
