// SPDX-License-Identifier: MIT
// node:util
'use strict';

const { codes, validateFunction, validateAbortSignal, validateInteger, validateObject, validateString } = load('errors');
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

const warnedOf = new Set(); // codes
function deprecate(fn, message, code) {
  if (code !== undefined) validateString(code, 'code');
  let warned = false;
  function deprecated(...args) {
    if (!warned) {
      warned = true;
      if (code === undefined || !warnedOf.has(code)) {
        if (code !== undefined) warnedOf.add(code);
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

function parseEnv(content) {
  return load('util_env').parseEnv(content);
}

// Where the program is, innermost call first.
function getCallSites(count = 10, options = undefined) {
  if (count !== null && typeof count === 'object') [count, options] = [10, count];
  validateInteger(count, 'frameCount', 1, 200);
  if (options !== undefined) validateObject(options, 'options');
  const { native, frames } = load('errors');
  const limit = native.Error.stackTraceLimit;
  native.Error.stackTraceLimit = count + 100;
  const { stack } = new native.Error();
  native.Error.stackTraceLimit = limit;
  return frames(stack).filter((frame) => !frame.native && frame.file !== '' && !frame.file.startsWith('vigil:')).slice(0, count)
    .map(({ name, file, row, column }) => ({ functionName: name, scriptId: '', scriptName: file, lineNumber: row, columnNumber: column, column }));
}

// ---- parseArgs ----------------------------------------------------------------------------------------------------

function parseArgs(config = {}) {
  return load('util_parse_args').parseArgs(config);
}

// ---- colours ------------------------------------------------------------------------------------------------------

function styleText(format, text, { validateStream = true, stream = process.stdout } = {}) {
  if (typeof text !== 'string') throw new codes.ERR_INVALID_ARG_TYPE('text', 'string', text);
  const plain = validateStream && (!stream?.isTTY || process.env.NO_COLOR !== undefined);
  let left = '';
  let right = '';
  for (const name of Array.isArray(format) ? format : [format]) {
    const pair = lib.inspect.colors[name];
    if (pair === undefined) {
      throw new codes.ERR_INVALID_ARG_VALUE('format', name, `must be one of: ${Object.keys(lib.inspect.colors).map((one) => `'${one}'`).join(', ')}`);
    }
    left += `\u001b[${pair[0]}m`;
    right = `\u001b[${pair[1]}m${right}`;
  }
  return plain ? text : `${left}${text}${right}`;
}

module.exports = {
  parseArgs, parseEnv, styleText, getCallSites,
  _extend: (target, source) => (source !== null && typeof source === 'object' ? Object.assign(target, source) : target),
  isBuffer: (value) => load('buffer').Buffer.isBuffer(value),
  inspect: lib.inspect, format: lib.format, formatWithOptions: lib.formatWithOptions,
  stripVTControlCharacters: lib.stripVTControlCharacters,
  promisify, callbackify, deprecate, inherits, debuglog, debug: debuglog,
  types: load('util_types'),
  isDeepStrictEqual: (a, b) => load('equal').equal(a, b, true),
  isArray: Array.isArray,
  isBoolean: (value) => typeof value === 'boolean',
  isNull: (value) => value === null,
  isNullOrUndefined: (value) => value === null || value === undefined,
  isNumber: (value) => typeof value === 'number',
  isString: (value) => typeof value === 'string',
  isSymbol: (value) => typeof value === 'symbol',
  isUndefined: (value) => value === undefined,
  isRegExp: (value) => load('util_types').isRegExp(value),
  isObject: (value) => value !== null && typeof value === 'object',
  isDate: (value) => load('util_types').isDate(value),
  isError: (value) => value instanceof Error,
  isFunction: (value) => typeof value === 'function',
  isPrimitive: (value) => value === null || (typeof value !== 'object' && typeof value !== 'function'),
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
