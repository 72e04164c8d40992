// SPDX-License-Identifier: MIT
// node:util
'use strict';

const { codes, validateFunction, validateAbortSignal } = load('errors');
const lib = load('inspect');
const kCustom = Symbol.for('nodejs.util.promisify.custom');

function promisify(original) {
  validateFunction(original, 'original');
  if (original[kCustom]) {
    const fn = original[kCustom];
    validateFunction(fn, 'util.promisify.custom');
    return Object.defineProperty(fn, kCustom, { value: fn, enumerable: false, writable: false, configurable: true });
  }
  function fn(...args) {
    return new Promise((resolve, reject) => {
      Reflect.apply(original, this, [...args, (error, ...values) => {
        if (error) reject(error);
        else resolve(values[0]);
      }]);
    });
  }
  Object.setPrototypeOf(fn, Object.getPrototypeOf(original));
  Object.defineProperty(fn, kCustom, { value: fn, enumerable: false, writable: false, configurable: true });
  const properties = Object.getOwnPropertyDescriptors(original);
  delete properties.prototype;
  return Object.defineProperties(fn, properties);
}
promisify.custom = kCustom;

function callbackify(original) {
  validateFunction(original, 'original');
  function fn(...args) {
    const callback = args.pop();
    validateFunction(callback, 'last argument');
    Reflect.apply(original, this, args).then(
      (value) => process.nextTick(callback, null, value),
      (reason) => {
        if (!reason) {
          const error = new codes.ERR_FALSY_VALUE_REJECTION();
          error.reason = reason;
          reason = error;
        }
        process.nextTick(callback, reason);
      });
  }
  return fn;
}

const warned = new Set();
function deprecate(fn, message, code) {
  let told = false;
  function deprecated(...args) {
    if (!told) {
      told = true;
      if (code === undefined || !warned.has(code)) {
        if (code !== undefined) warned.add(code);
        process.emitWarning(message, 'DeprecationWarning', code, deprecated);
      }
    }
    return new.target ? Reflect.construct(fn, args, new.target) : Reflect.apply(fn, this, args);
  }
  Object.setPrototypeOf(deprecated, fn);
  if (fn.prototype) deprecated.prototype = fn.prototype;
  return deprecated;
}

function inherits(constructor, parent) {
  validateFunction(constructor, 'ctor');
  validateFunction(parent, 'superCtor');
  Object.defineProperty(constructor, 'super_', { value: parent, writable: true, configurable: true });
  Object.setPrototypeOf(constructor.prototype, parent.prototype);
}

const sections = new Set((process.env.NODE_DEBUG ?? '').toUpperCase().split(',').filter(Boolean));
function debuglog(name) {
  const on = sections.has(name.toUpperCase());
  const log = on ? (...args) => binding.write(2, `${name.toUpperCase()} ${process.pid}: ${lib.format(...args)}\n`) : () => {};
  log.enabled = on;
  return log;
}

module.exports = {
  inspect: lib.inspect, format: lib.format, formatWithOptions: lib.formatWithOptions,
  stripVTControlCharacters: lib.stripVTControlCharacters,
  promisify, callbackify, deprecate, inherits, debuglog, debug: debuglog,
  types: load('util_types'),
  isDeepStrictEqual: (a, b) => load('equal').equal(a, b, true),
  isArray: Array.isArray,
  toUSVString: (text) => `${text}`.toWellFormed(),
  getSystemErrorName: (number) => binding.errorName(-number)[0],
  aborted(signal, resource) {
    validateAbortSignal(signal, 'signal');
    void resource;
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  },
  get TextEncoder() { return globalThis.TextEncoder; },
  get TextDecoder() { return globalThis.TextDecoder; },
};
