// SPDX-License-Identifier: MIT
// Errors as programs written for Node expect them: a `stack` that begins with name and message and has one "at" line per
// frame, Error.captureStackTrace, error codes; and the text that is printed when nobody catches one.
'use strict';

const native = {};
const kinds = ['Error', 'EvalError', 'RangeError', 'ReferenceError', 'SyntaxError', 'TypeError', 'URIError'];
for (const kind of kinds) native[kind] = globalThis[kind];
const NativeError = native.Error;
const define = Object.defineProperty;
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
  for (const line of `${raw}`.split('\n')) {
    if (line === '') continue;
    list.push(parseFrame(line));
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
          value = [headline({ name, message }), ...list.map(frameText)].join('\n');
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
  if (own === undefined) return undefined;
  if (rendered.has(error) || typeof own.value !== 'string') return error.stack;
  if (own.value.includes('\n    at ')) return own.value;
  if (!(error instanceof NativeError)) return own.value;
  const list = visible(frames(own.value));
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

function describe(value) {
  if (value === null || value === undefined) return ` Received ${value}`;
  if (typeof value === 'function') return ` Received function ${value.name}`;
  if (typeof value === 'object') {
    if (value.constructor?.name) return ` Received an instance of ${value.constructor.name}`;
    return ` Received ${inspect(value, { depth: -1 })}`;
  }
  let text = inspect(value, { colors: false });
  if (text.length > 28) text = `${text.slice(0, 25)}...`;
  return ` Received type ${typeof value} (${text})`;
}
function inspect(value, options) {
  return load('inspect').inspect(value, options);
}

const classNames = /^([A-Z][a-z0-9]*)+$/;
const primitives = ['string', 'function', 'number', 'object', 'boolean', 'bigint', 'symbol', 'Function', 'Object'];
function either(words) {
  if (words.length === 1) return words[0];
  if (words.length === 2) return `${words[0]} or ${words[1]}`;
  return `${words.slice(0, -1).join(', ')}, or ${words[words.length - 1]}`;
}
function expectation(expected) {
  const list = Array.isArray(expected) ? [...expected] : [expected];
  const orNull = list.includes('null');
  if (orNull) list.splice(list.indexOf('null'), 1);
  const types = list.filter((word) => primitives.includes(word)).map((word) => word.toLowerCase());
  const classes = list.filter((word) => !primitives.includes(word) && classNames.test(word));
  const others = list.filter((word) => !primitives.includes(word) && !classNames.test(word));
  const parts = [];
  if (types.length > 0) parts.push(`${types.length > 1 ? 'one of type' : 'of type'} ${either(types)}`);
  if (classes.length > 0) parts.push(`an instance of ${either(classes)}`);
  if (others.length > 0) parts.push(others.length > 1 ? `one of ${either(others)}` : others[0]);
  if (orNull) parts.push('null');
  return parts.join(' or ');
}

const messages = {
  ERR_INVALID_ARG_TYPE: ['TypeError', (name, expected, actual) => {
    const what = name.endsWith(' argument') ? `The ${name}` : `The "${name}" ${name.includes('.') ? 'property' : 'argument'}`;
    return `${what} must be ${expectation(expected)}.${describe(actual)}`;
  }],
  ERR_INVALID_ARG_VALUE: ['TypeError', (name, value, reason = 'is invalid') => {
    let text = inspect(value);
    if (text.length > 128) text = `${text.slice(0, 128)}...`;
    return `The ${name.includes('.') ? 'property' : 'argument'} '${name}' ${reason}. Received ${text}`;
  }],
  ERR_OUT_OF_RANGE: ['RangeError', (name, range, value) =>
    `The value of "${name}" is out of range. It must be ${range}. Received ${
      typeof value === 'number' && Math.abs(value) > 2 ** 32 ? String(value).replace(/\B(?=(\d{3})+(?!\d))/g, '_')
                                                            : inspect(value)}`],
  ERR_INVALID_RETURN_VALUE: ['TypeError', (expected, name, value) =>
    `Expected ${expected} to be returned from the "${name}" function but got ${describe(value).slice(10)}.`],
  ERR_MISSING_ARGS: ['TypeError', (...names) =>
    `The ${names.map((name) => `"${name}"`).join(' and ')} argument${names.length > 1 ? 's' : ''} must be specified`],
  ERR_UNHANDLED_ERROR: ['Error', (value) => `Unhandled error.${value === undefined ? '' : ` (${value})`}`],
  ERR_UNHANDLED_REJECTION: ['Error', (reason) =>
    'This error originated either by throwing inside of an async function without a catch block, ' +
    `or by rejecting a promise which was not handled with .catch(). The promise rejected with the reason "${reason}".`],
  ERR_INVALID_TRANSFER_OBJECT: ['TypeError', () => 'Found invalid object in transferList'],
  ERR_INVALID_BUFFER_SIZE: ['RangeError', (bits) => `Buffer size must be a multiple of ${bits}`],
  ERR_INVALID_TUPLE: ['TypeError', (what, shape) => `${what} must be an iterable ${shape} tuple`],
  ERR_UNKNOWN_SIGNAL: ['TypeError', (name) => `Unknown signal: ${name}`],
  ERR_UNKNOWN_ENCODING: ['TypeError', (name) => `Unknown encoding: ${name}`],
  ERR_ENCODING_INVALID_ENCODED_DATA: ['TypeError', (name) => `The encoded data was not valid for encoding ${name}`],
  ERR_ENCODING_NOT_SUPPORTED: ['RangeError', (name) => `The "${name}" encoding is not supported`],
  ERR_BUFFER_OUT_OF_BOUNDS: ['RangeError', (name) =>
    name ? `"${name}" is outside of buffer bounds` : 'Attempt to access memory outside buffer bounds'],
  ERR_INVALID_THIS: ['TypeError', (name) => `Value of "this" must be of type ${name}`],
  ERR_METHOD_NOT_IMPLEMENTED: ['Error', (name) => `The ${name} method is not implemented`],
  ERR_FEATURE_UNAVAILABLE_ON_PLATFORM: ['TypeError', (name) => `The feature ${name} is unavailable here`],
  ERR_INVALID_URL: ['TypeError', () => 'Invalid URL'],
  ERR_INVALID_URL_SCHEME: ['TypeError', (name) => `The URL must be of scheme ${name}`],
  ERR_INVALID_FILE_URL_PATH: ['TypeError', (why) => `File URL path ${why}`],
  ERR_INVALID_FILE_URL_HOST: ['TypeError', () => 'File URL host must be "localhost" or empty on linux'],
  ERR_UNKNOWN_BUILTIN_MODULE: ['Error', (name, known) => `No such built-in module: ${name}. There are ${known}`],
  ERR_REQUIRE_ESM: ['Error', (name) => `require() of ES Module ${name} not supported.\nUse a dynamic import() instead.`],
  ERR_UNSUPPORTED_ESM_URL_SCHEME: ['Error', (name) =>
    `Only file:, data:, node: and vigil: URLs can be imported. Received protocol '${name}'`],
  ERR_PACKAGE_PATH_NOT_EXPORTED: ['Error', (folder, key, base) => key === '.'
    ? `No "exports" main defined in ${folder}package.json${base ? ` imported from ${base}` : ''}`
    : `Package subpath '${key}' is not defined by "exports" in ${folder}package.json${base ? ` imported from ${base}` : ''}`],
  ERR_PACKAGE_IMPORT_NOT_DEFINED: ['TypeError', (name, folder, base) =>
    `Package import specifier "${name}" is not defined${folder ? ` in package ${folder}package.json` : ''} imported from ${base}`],
  ERR_INVALID_PACKAGE_TARGET: ['Error', (folder, key, target) =>
    `Invalid "exports" target ${JSON.stringify(target)} defined for '${key}' in the package config ${folder}package.json`],
  ERR_INVALID_PACKAGE_CONFIG: ['Error', (file, why) => `Invalid package config ${file}.${why ? ` ${why}` : ''}`],
  ERR_INVALID_MODULE_SPECIFIER: ['TypeError', (name, why, base) =>
    `Invalid module "${name}" ${why}${base ? ` imported from ${base}` : ''}`],
  ERR_MODULE_NOT_FOUND: ['Error', (name, base, kind = 'package') => `Cannot find ${kind} '${name}' imported from ${base}`],
  ERR_UNSUPPORTED_DIR_IMPORT: ['Error', (name, base) =>
    `Directory import '${name}' is not supported resolving ES modules imported from ${base}`],
  ERR_UNCAUGHT_EXCEPTION_CAPTURE_ALREADY_SET: ['Error', () =>
    '`process.setupUncaughtExceptionCapture()` was called while a capture callback was already active'],
  ERR_FS_FILE_TOO_LARGE: ['RangeError', (size) => `File size (${size}) is greater than 2 GiB`],
  ERR_FS_EISDIR: ['Error', (text) => text],
  ERR_DIR_CLOSED: ['Error', () => 'Directory handle was closed'],
  ERR_HTTP_HEADERS_SENT: ['Error', (verb) => `Cannot ${verb} headers after they are sent to the client`],
  ERR_HTTP_INVALID_HEADER_VALUE: ['TypeError', (value, name) => `Invalid value "${value}" for header "${name}"`],
  ERR_HTTP_INVALID_STATUS_CODE: ['RangeError', (code) => `Invalid status code: ${code}`],
  ERR_HTTP_CONTENT_LENGTH_MISMATCH: ['Error', (length, promised) =>
    `Response body's content-length of ${length} byte(s) does not match the content-length of ${promised} byte(s) set in header`],
  ERR_HTTP_TRAILER_INVALID: ['Error', () => 'Trailers are invalid with this transfer encoding'],
  ERR_INVALID_HTTP_TOKEN: ['TypeError', (label, name) => `${label} must be a valid HTTP token ["${name}"]`],
  ERR_INVALID_CHAR: ['TypeError', (what, name) => `Invalid character in ${what}${name ? ` ["${name}"]` : ''}`],
  ERR_STREAM_WRITE_AFTER_END: ['Error', () => 'write after end'],
  ERR_STREAM_ALREADY_FINISHED: ['Error', (name) => `Cannot call ${name} after a stream was finished`],
  ERR_STREAM_NULL_VALUES: ['TypeError', () => 'May not write null values to stream'],
  ERR_STREAM_DESTROYED: ['Error', (name) => `Cannot call ${name} after a stream was destroyed`],
  ERR_SERVER_ALREADY_LISTEN: ['Error', () => 'Listen method has been called more than once without closing.'],
  ERR_SERVER_NOT_RUNNING: ['Error', () => 'Server is not running.'],
  ERR_SOCKET_BAD_PORT: ['RangeError', (name, port) =>
    `${name} should be >= 0 and < 65536. Received ${describe(port).slice(10)}.`],
  ERR_FALSY_VALUE_REJECTION: ['Error', () => 'Promise was rejected with falsy value'],
  ERR_CONSOLE_WRITABLE_STREAM: ['TypeError', (name) => `Console expects a writable stream instance for ${name}`],
  ERR_ILLEGAL_CONSTRUCTOR: ['TypeError', () => 'Illegal constructor'],
  ERR_EVENT_RECURSION: ['Error', (name) => `The event "${name}" is already being dispatched`],
  ERR_INVALID_URI: ['URIError', () => 'URI malformed'],
  ERR_VM_MODULE_LINK_FAILURE: ['SyntaxError', (text) => text],
};

const codes = Object.create(null);
for (const code of Object.keys(messages)) {
  const [kind, text] = messages[code];
  const make = function (...args) {
    const error = new globalThis[kind](text(...args));
    define(error, 'code', { value: code, enumerable: true, writable: true, configurable: true });
    return tag(error, code);
  };
  define(make, 'name', { value: code });
  codes[code] = make;
}

// Node shows such an error as "TypeError [CODE]: message" in its stack, while its name stays plain.
function tag(error, code) {
  const stack = error.stack;
  if (typeof stack === 'string') {
    const name = error.name;
    define(error, 'stack', {
      configurable: true, writable: true, enumerable: false,
      value: stack.startsWith(name) ? `${name} [${code}]${stack.slice(name.length)}` : stack,
    });
  }
  return error;
}

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
function validateAbortSignal(signal, name) {
  if (signal !== undefined && (signal === null || typeof signal !== 'object' || !('aborted' in signal))) {
    throw new codes.ERR_INVALID_ARG_TYPE(name, 'AbortSignal', signal);
  }
}

// ---- nobody caught it ---------------------------------------------------------------------------------------------

function sourceLine(file, row) {
  let text = sources.get(file);
  if (text === undefined && file.startsWith('/')) text = binding.readText(file);
  if (typeof text !== 'string') return undefined;
  return text.split('\n')[row - 1];
}

// "file:line", the line, and a caret below the column.
function excerpt(error) {
  if (typeof error !== 'object' || error === null) return '';
  let place;
  const stack = stackOf(error);
  if (typeof stack === 'string') {
    const match = /^ {4}at (?:.*\()?(.*?):(\d+):(\d+)\)?$/m.exec(stack);
    if (match) place = { file: match[1].replace(/^file:\/\//, ''), row: +match[2], column: +match[3] };
  }
  if (error instanceof native.SyntaxError && typeof error.sourceURL === 'string' && error.line &&
      !error.sourceURL.startsWith('vigil:') && !(place && place.file === error.sourceURL && place.row === error.line)) {
    place = { file: error.sourceURL, row: error.line, column: 1 };
  }
  if (!place) return '';
  const line = sourceLine(place.file, place.row);
  if (line === undefined) return '';
  const before = line.slice(0, place.column - 1);
  // The engine points behind `new`, at the call; the reader looks for where the statement begins.
  const statement = /(?:^|[;{}\s])(throw\s+)?(?:new\s+)?[\w$.]*$/.exec(before);
  let column = before.length;
  if (statement) {
    const tail = /(throw\s+)?(?:new\s+)?[\w$.]*$/.exec(before)[0];
    column -= tail.length;
  }
  return `${place.file}:${place.row}\n${line}\n${' '.repeat(Math.max(0, column))}^\n`;
}

function fatalText(error) {
  const plain = (typeof error !== 'object' || error === null) && typeof error !== 'function';
  let text = excerpt(error);
  if (plain) {
    text += `Uncaught:\n${typeof error === 'string' ? error : inspect(error)}\n` +
            '(Only Error objects know where they were thrown)\n';
  } else {
    let shown;
    try {
      shown = inspect(error);
    } catch {
      shown = '[An object that cannot be shown: looking at it throws]';
    }
    text += `${text === '' ? '' : '\n'}${shown}\n`;
  }
  return `${text}\n${binding.versionLine}\n`;
}

binding.stackOf = (error) => (error instanceof NativeError ? stackOf(error) : undefined);

module.exports = {
  install, stackOf, codes, AbortError, heads, sources, fatalText, describe, native, headline, frames, visible, frameText,
  validateFunction, validateString, validateObject, validateInteger, validateAbortSignal,
};
