// SPDX-License-Identifier: MIT
// Errors as programs written for Node expect them: a `stack` that begins with name and message and has one "at" line per
// frame, Error.captureStackTrace, and checks of arguments. The codes' texts are in error_codes.js, what is printed in error_text.js.
'use strict';

const native = {};
const kinds = ['Error', 'EvalError', 'RangeError', 'ReferenceError', 'SyntaxError', 'TypeError', 'URIError'];
for (const kind of kinds) native[kind] = globalThis[kind];
const NativeError = native.Error;
const define = (object, key, descriptor) => Object.defineProperty(object, key, descriptor);
const construct = Reflect.construct;

// ---- frames -------------------------------------------------------------------------------------------------------

// CommonJS modules are functions whose head shares the first line of the file: columns there are off by its length.
const heads = new Map(); // file -> characters in front of line 1
const sources = new Map(); // name -> text, for what is not a file

function parseFrame(line) {
  // "name@file:line:column", "name@[native code]", "@file:1:2", "name", "file:1:2"
  const at = line.lastIndexOf('@', line.lastIndexOf('/') === -1 ? undefined : line.indexOf('/'));
  let name = at >= 0 ? line.slice(0, at) : '';
  let place = at >= 0 ? line.slice(at + 1) : line;
  if (at < 0 && !/:\d+:\d+$/.test(line)) {
    name = line;
    place = '[native code]';
  }
  const match = /^(.*):(\d+):(\d+)$/.exec(place);
  let file = match ? match[1] : place;
  let row = match ? +match[2] : 0;
  let column = match ? +match[3] : 0;
  if (row === 1 && heads.has(file)) column = Math.max(1, column - heads.get(file));
  if (name === 'global code' || name === 'module code' || name === 'eval code') name = '';
  return { name, file, row, column, native: place === '[native code]' };
}

function frames(raw) {
  const list = [];
  const lines = `${raw}`.split('\n');
  for (let i = 0; i < lines.length; i++) {
    if (lines[i] !== '') list.push(parseFrame(lines[i]));
  }
  return list;
}

// The host's own frames below the program's say nothing to the reader; those above it do not exist for it.
function visible(list) {
  const kept = list.filter((frame) => !frame.native && !frame.file.startsWith('vigil:') && frame.file !== '');
  return kept.slice(0, limit());
}

function limit() {
  const wanted = globalThis.Error.stackTraceLimit;
  return typeof wanted === 'number' && wanted >= 0 ? wanted : 10;
}

function frameText(frame) {
  const place = frame.row ? `${frame.file}:${frame.row}:${frame.column}` : frame.file;
  return frame.name ? `    at ${frame.name} (${place})` : `    at ${place}`;
}

// As the top of a stack reads: the class's name and the message, whatever the error's own toString does.
function headline(error) {
  let name, message;
  try {
    name = error.name;
    message = error.message;
  } catch {
    return 'Error';
  }
  name = name === undefined ? 'Error' : `${name}`;
  message = message === undefined ? '' : `${message}`;
  return message === '' ? name : name === '' ? message : `${name}: ${message}`;
}

class CallSite {
  #frame;
  constructor(frame) {
    this.#frame = frame;
  }
  getThis() { return undefined; }
  getTypeName() { return 'Object'; }
  getFunction() { return undefined; }
  getFunctionName() { return this.#frame.name || null; }
  getMethodName() { return this.#frame.name || null; }
  getFileName() { return this.#frame.file; }
  getLineNumber() { return this.#frame.row; }
  getColumnNumber() { return this.#frame.column; }
  getEvalOrigin() { return undefined; }
  getScriptNameOrSourceURL() { return this.#frame.file; }
  isToplevel() { return false; }
  isEval() { return false; }
  isNative() { return this.#frame.native; }
  isConstructor() { return false; }
  isAsync() { return false; }
  isPromiseAll() { return false; }
  getPromiseIndex() { return null; }
  toString() { return frameText(this.#frame).slice(7); }
}

function render(error, list) {
  const prepare = globalThis.Error.prepareStackTrace;
  if (typeof prepare === 'function') {
    return prepare(error, list.map((frame) => new CallSite(frame)));
  }
  const lines = list.map(frameText);
  lines.unshift(headline(error));
  return lines.join('\n');
}

// ---- the constructors ---------------------------------------------------------------------------------------------

const rendered = new WeakSet(); // errors whose stack already has our form

// The stack is rendered when it is first looked at; until then the error keeps the engine's text. Name and message are those of the
// moment of creation, as far as a program can tell: classes set their name in the constructor or on the prototype.
function dress(error, raw, above) {
  let list = null;
  let value;
  rendered.add(error);
  const { message } = error;
  define(error, 'stack', {
    configurable: true,
    enumerable: false,
    get() {
      if (list === null) {
        // The first frame is ours; then come those of the constructors of a subclass, which nobody wants to see.
        list = frames(raw).slice(1);
        if (above !== '') list = list.slice(1 + list.findIndex((frame) => frame.name === above));
        list = visible(list);
        if (typeof globalThis.Error.prepareStackTrace === 'function') {
          value = render(error, list);
        } else {
          // A subclass names itself after super() has returned; the message stays that of the beginning.
          let name;
          try {
            ({ name } = error);
          } catch {
            // Then without.
          }
          value = [headline({ name, message })].concat(list.map(frameText)).join('\n');
        }
      }
      return value;
    },
    set(wanted) {
      define(error, 'stack', { configurable: true, enumerable: false, writable: true, value: wanted });
    },
  });
  return error;
}

function wrapConstructor(kind) {
  const Native = native[kind];
  function Wrapped(...args) {
    const error = construct(Native, args, new.target === undefined ? Wrapped : new.target);
    return dress(error, error.stack, new.target === undefined || new.target === Wrapped ? '' : `${new.target.name}`);
  }
  define(Wrapped, 'name', { value: kind, configurable: true });
  define(Wrapped, 'length', { value: 1, configurable: true });
  define(Wrapped, 'prototype', { value: Native.prototype, writable: false });
  define(Native.prototype, 'constructor', { value: Wrapped, writable: true, configurable: true, enumerable: false });
  return Wrapped;
}

function install() {
  NativeError.stackTraceLimit = 100;
  const wrapped = {};
  for (const kind of kinds) wrapped[kind] = wrapConstructor(kind);
  for (const kind of kinds) {
    if (kind !== 'Error') Object.setPrototypeOf(wrapped[kind], wrapped.Error);
    define(globalThis, kind, { value: wrapped[kind], writable: true, configurable: true, enumerable: false });
  }
  wrapped.Error.stackTraceLimit = 10;
  define(wrapped.Error, 'captureStackTrace', {
    writable: true, configurable: true, enumerable: false,
    value: function captureStackTrace(object, above) {
      if ((typeof object !== 'object' && typeof object !== 'function') || object === null) {
        throw new codes.ERR_INVALID_ARG_TYPE('object', 'Object', object);
      }
      const holder = {};
      NativeError.captureStackTrace(holder);
      let list = frames(holder.stack).slice(1);
      if (typeof above === 'function' && above.name) {
        const at = list.findIndex((frame) => frame.name === above.name || frame.name === `new ${above.name}`);
        if (at >= 0) list = list.slice(at + 1);
      }
      list = visible(list);
      rendered.add(object);
      define(object, 'stack', { configurable: true, writable: true, enumerable: false, value: render(object, list) });
    },
  });
}

// Errors that the engine itself throws have its own form of stack. They get ours when they pass through our hands.
function stackOf(error) {
  const own = Object.getOwnPropertyDescriptor(error, 'stack');
  if (own === undefined && !(error instanceof NativeError && typeof error.sourceURL === 'string')) return undefined;
  if (own === undefined) return placed(error, '');
  if (rendered.has(error) || typeof own.value !== 'string') return error.stack;
  if (own.value.includes('\n    at ')) return own.value;
  if (!(error instanceof NativeError)) return own.value;
  return placed(error, own.value);
}
// Gives an error of the engine its stack in our form.
function placed(error, raw) {
  const list = visible(frames(raw));
  if (list.length === 0 && typeof error.sourceURL === 'string' && error.line && !error.sourceURL.startsWith('vigil:')) {
    list.push({ name: '', file: error.sourceURL, row: error.line, column: error.column || 1, native: false });
  }
  rendered.add(error);
  for (const name of ['line', 'column', 'sourceURL']) {
    if (Object.hasOwn(error, name)) define(error, name, { enumerable: false });
  }
  const value = render(error, list);
  define(error, 'stack', { configurable: true, writable: true, enumerable: false, value });
  return value;
}

// ---- codes --------------------------------------------------------------------------------------------------------

// The texts are a file of their own, which most programs never need.
const codes = new Proxy(Object.create(null), {
  get(made, code) {
    if (made[code] === undefined) made[code] = load('error_codes').make(code);
    return made[code];
  },
});

class AbortError extends native.Error {
  constructor(message = 'The operation was aborted', options = undefined) {
    super(message, options);
    this.code = 'ABORT_ERR';
    this.name = 'AbortError';
    stackOf(this);
  }
}

function validateFunction(value, name) {
  if (typeof value !== 'function') throw new codes.ERR_INVALID_ARG_TYPE(name, 'Function', value);
}
function validateString(value, name) {
  if (typeof value !== 'string') throw new codes.ERR_INVALID_ARG_TYPE(name, 'string', value);
}
function validateObject(value, name) {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    throw new codes.ERR_INVALID_ARG_TYPE(name, 'Object', value);
  }
}
function validateInteger(value, name, min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER) {
  if (typeof value !== 'number') throw new codes.ERR_INVALID_ARG_TYPE(name, 'number', value);
  if (!Number.isInteger(value)) throw new codes.ERR_OUT_OF_RANGE(name, 'an integer', value);
  if (value < min || value > max) throw new codes.ERR_OUT_OF_RANGE(name, `>= ${min} && <= ${max}`, value);
}
function validateBoolean(value, name) {
  if (typeof value !== 'boolean') throw new codes.ERR_INVALID_ARG_TYPE(name, 'boolean', value);
}
function validateNumber(value, name, min, max) {
  if (typeof value !== 'number') throw new codes.ERR_INVALID_ARG_TYPE(name, 'number', value);
  if ((min !== undefined && value < min) || (max !== undefined && value > max) || ((min !== undefined || max !== undefined) && Number.isNaN(value))) {
    const parts = [min === undefined ? '' : `>= ${min}`, max === undefined ? '' : `<= ${max}`].filter((part) => part !== '');
    throw new codes.ERR_OUT_OF_RANGE(name, parts.join(' && '), value);
  }
}
function validateOneOf(value, name, allowed) {
  if (allowed.includes(value)) return;
  const shown = allowed.map((one) => (typeof one === 'string' ? `'${one}'` : String(one))).join(', ');
  throw new codes.ERR_INVALID_ARG_VALUE(name, value, `must be one of: ${shown}`);
}
function validateAbortSignal(signal, name) {
  if (signal !== undefined && (signal === null || typeof signal !== 'object' || !('aborted' in signal))) {
    throw new codes.ERR_INVALID_ARG_TYPE(name, 'AbortSignal', signal);
  }
}

binding.stackOf = (error) => (error instanceof NativeError ? stackOf(error) : undefined);

module.exports = {
  install, stackOf, codes, AbortError, heads, sources, native, headline, frames, visible, frameText,
  fatalText: (error) => load('error_text').fatalText(error),
  describe: (value) => load('error_codes').describe(value),
  validateFunction, validateString, validateObject, validateInteger, validateBoolean, validateNumber, validateOneOf, validateAbortSignal,
};
