// SPDX-License-Identifier: MIT
// node:util
'use strict';

const { codes, validateFunction, validateAbortSignal, validateInteger, validateObject, validateString } = load('errors');
const lib = load('inspect');
const kCustom = Symbol.for('nodejs.util.promisify.custom');
// Commands to a terminal's own system, such as links; all three ways in which they end.
const COMMAND = /\x1b\][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)/g;

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
    const told = callback.bind(this);
    Reflect.apply(original, this, args).then(
      (value) => process.nextTick(told, null, value),
      (reason) => {
        if (!reason) {
          const error = new codes.ERR_FALSY_VALUE_REJECTION();
          error.reason = reason;
          reason = error;
        }
        process.nextTick(told, reason);
      });
  }
  const properties = Object.getOwnPropertyDescriptors(original);
  if (typeof properties.length?.value === 'number') properties.length.value++;
  if (typeof properties.name?.value === 'string') properties.name.value += 'Callbackified';
  delete properties.prototype;
  return Object.defineProperties(fn, properties);
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
  if (parent === undefined || parent === null) validateFunction(parent, 'superCtor');
  if (parent.prototype === undefined) throw new codes.ERR_INVALID_ARG_TYPE('superCtor.prototype', 'Object', parent.prototype);
  Object.defineProperty(constructor, 'super_', { value: parent, writable: true, configurable: true });
  Object.setPrototypeOf(constructor.prototype, parent.prototype);
}

// NODE_DEBUG names sections, with * for any letters.
let sections;
function isOn(name) {
  sections ??= (process.env.NODE_DEBUG ?? '').split(',').filter(Boolean)
    .map((one) => new RegExp(`^${one.trim().replace(/[|\\{}()[\]^$+?.]/g, '\\$&').replaceAll('*', '.*')}$`, 'i'));
  return sections.some((one) => one.test(name));
}
function debuglog(name, found) {
  name = name.toUpperCase();
  let log = (...args) => {
    const on = isOn(name);
    log = on ? (...words) => binding.write(2, lib.formatWithOptions({ colors: process.stderr.hasColors?.() === true }, '%s %d: %s\n', name, process.pid, lib.format(...words)))
      : () => {};
    if (typeof found === 'function') found(on ? logger : () => {});
    log(...args);
  };
  const logger = (...args) => log(...args);
  Object.defineProperty(logger, 'enabled', { get: () => isOn(name), configurable: true, enumerable: true });
  return logger;
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

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
function log(...args) {
  const now = new Date();
  const time = [now.getHours(), now.getMinutes(), now.getSeconds()].map((part) => `${part}`.padStart(2, '0')).join(':');
  console.log('%s - %s', `${now.getDate()} ${MONTHS[now.getMonth()]} ${time}`, lib.format(...args));
}

// ---- parseArgs ----------------------------------------------------------------------------------------------------

function parseArgs(config = {}) {
  return load('util_parse_args').parseArgs(config);
}

// ---- colours ------------------------------------------------------------------------------------------------------

function styleText(format, text, { validateStream = true, stream = process.stdout } = {}) {
  if (typeof text !== 'string') throw new codes.ERR_INVALID_ARG_TYPE('text', 'string', text);
  if (validateStream && typeof stream?.write !== 'function') {
    throw new codes.ERR_INVALID_ARG_TYPE('stream', ['ReadableStream', 'WritableStream', 'Stream'], stream);
  }
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
  stripVTControlCharacters: (text) => lib.stripVTControlCharacters(typeof text === 'string' ? text.replace(COMMAND, '') : text),
  promisify, callbackify, deprecate, inherits, debuglog, debug: debuglog, log,
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
  getSystemErrorName(number) {
    if (typeof number !== 'number') throw new codes.ERR_INVALID_ARG_TYPE('err', 'number', number);
    if (number >= 0 || !Number.isSafeInteger(number)) throw new codes.ERR_OUT_OF_RANGE('err', 'a negative integer', number);
    return binding.errorName(-number)[0];
  },
  getSystemErrorMap() {
    const map = new Map();
    for (let number = 1; number <= 133; number++) {
      const [name, text] = binding.errorName(number);
      if (/^E[A-Z0-9]+$/.test(name)) map.set(-number, [name, text]);
    }
    return map;
  },
  // The resource is held by its waiter; here nothing else is done about it.
  async aborted(signal, resource) {
    if (signal === undefined) throw new codes.ERR_INVALID_ARG_TYPE('signal', 'AbortSignal', signal);
    validateAbortSignal(signal, 'signal');
    if (resource === null || (typeof resource !== 'object' && typeof resource !== 'function')) {
      throw new codes.ERR_INVALID_ARG_TYPE('resource', 'Object', resource);
    }
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  },
  get TextEncoder() { return globalThis.TextEncoder; },
  get TextDecoder() { return globalThis.TextDecoder; },
};
