// SPDX-License-Identifier: MIT
// node:vm: scripts in this context and in others, which are real ones: global objects of their own, with builtins of their own.
// docs/js.md says what is missing.
'use strict';

const { codes, validateFunction, validateInteger, validateObject, validateString } = load('errors');
const native = binding.vm();

const contexts = new WeakMap(); // sandbox, and global object of a context -> { handle, global, sandbox }
let contextCount = 0;

// The library calls methods of builtins by symbols of its own (safe.js), which those of a context must have, too. What can be had without a
// name is, because the sandbox may have something else under that name. Methods stand in brackets, out of the reach of tool/embed.c.
const BUILTINS = '(() => { const up = (value) => value.__proto__; const list = [][Symbol.iterator](); const map = new Map(); const set = new Set();' +
  'return [up({}), up(/x/), [up(() => {}), up([]), up(""), up(0), up(0n), up((async () => {})()), up(up(new Uint8Array())), up(list), up(up(list)),' +
  'up(""[Symbol.iterator]()), up("a"["matchAll"](/a/g)), up(up(function* () {}.prototype)), up(map), up(set), up(map["entries"]()), up(set["entries"]()),' +
  'WeakMap.prototype, WeakSet.prototype, WeakRef.prototype, Date.prototype, ArrayBuffer.prototype, DataView.prototype]]; })()';

function validateContext(context) {
  if (!isContext(context)) {
    throw new codes.ERR_INVALID_ARG_TYPE('contextifiedObject', 'vm.Context', context);
  }
}
function isContext(object) {
  validateAnyObject(object, 'object');
  return contexts.has(object);
}
function validateAnyObject(value, name) {
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) throw new codes.ERR_INVALID_ARG_TYPE(name, 'Object', value);
}
function validateBoolean(value, name) {
  if (typeof value !== 'boolean') throw new codes.ERR_INVALID_ARG_TYPE(name, 'boolean', value);
}
function validateOffset(value, name) {
  if (value !== undefined) validateInteger(value, name, -(2 ** 31), 2 ** 31 - 1);
}

function createContext(sandbox = {}, options = {}) {
  if (contexts.has(sandbox)) return sandbox;
  validateAnyObject(sandbox, 'contextObject');
  validateObject(options, 'options');
  const { name = `VM Context ${contextCount + 1}`, origin, codeGeneration, microtaskMode } = options;
  validateString(name, 'options.name');
  if (origin !== undefined) validateString(origin, 'options.origin');
  if (codeGeneration !== undefined) validateObject(codeGeneration, 'options.codeGeneration');
  for (const kind of ['strings', 'wasm']) {
    if (codeGeneration?.[kind] !== undefined) validateBoolean(codeGeneration[kind], `options.codeGeneration.${kind}`);
  }
  if (microtaskMode !== undefined) {
    if (microtaskMode !== 'afterEvaluate') throw new codes.ERR_INVALID_ARG_VALUE('options.microtaskMode', microtaskMode, "must be one of: 'afterEvaluate'");
    throw new codes.ERR_FEATURE_UNAVAILABLE_ON_PLATFORM('microtaskMode of a context');
  }
  contextCount++;
  const [handle, global] = native.realm(sandbox);
  const context = { handle, global, sandbox };
  // The global object itself is more than the formatter can bear.
  Object.defineProperty(global, Symbol.for('nodejs.util.inspect.custom'), {
    value: (depth, options) => load('inspect').inspect(sandbox, { ...options, depth }), configurable: true, enumerable: false,
  });
  binding.safe.adoptRealm(...native.run(handle, BUILTINS, '', 1));
  if (codeGeneration?.strings === false && !native.noEval(handle)) throw new codes.ERR_FEATURE_UNAVAILABLE_ON_PLATFORM('codeGeneration of a context');
  if (codeGeneration?.wasm === false) native.run(handle, 'delete globalThis.WebAssembly', '', 1);
  // Each keeps the other: a function of the context that outlives the sandbox still finds its names.
  contexts.set(sandbox, context);
  contexts.set(global, context);
  return sandbox;
}

// Runs in the context, or in that of the program without one.
function evaluate(context, script, filename, line) {
  if (context === undefined) return native.run(undefined, script.text, filename, line);
  const { handle, global } = context;
  const rewritten = script.rewritten ??= load('vm_script').rewrite(script.text);
  // What is declared is there, but does not show in the sandbox before it has a value.
  for (const name of rewritten.names) {
    if (!Reflect.has(global, name)) Object.defineProperty(global, name, { value: undefined, writable: true, enumerable: true, configurable: true });
  }
  for (const one of rewritten.functions) native.run(handle, one.text, filename, line + one.line);
  return native.run(handle, rewritten.text, filename, line);
}

// The engine can end a script only together with everything that has called it.
function checkRun(options) {
  if (options === undefined) return;
  validateObject(options, 'options');
  const { timeout, displayErrors, breakOnSigint } = options;
  if (displayErrors !== undefined) validateBoolean(displayErrors, 'options.displayErrors');
  if (breakOnSigint !== undefined) validateBoolean(breakOnSigint, 'options.breakOnSigint');
  if (timeout !== undefined) {
    validateInteger(timeout, 'options.timeout', 1, 2 ** 32 - 1);
    throw new codes.ERR_FEATURE_UNAVAILABLE_ON_PLATFORM('timeout of node:vm');
  }
  if (breakOnSigint) throw new codes.ERR_FEATURE_UNAVAILABLE_ON_PLATFORM('breakOnSigint of node:vm');
}

class Script {
  #script;
  #filename;
  #line;
  constructor(code, options = {}) {
    const text = `${code}`;
    if (typeof options === 'string') options = { filename: options };
    else validateObject(options, 'options');
    const { filename = 'evalmachine.<anonymous>', lineOffset = 0, columnOffset = 0, cachedData, produceCachedData = false, importModuleDynamically } = options;
    validateString(filename, 'options.filename');
    validateOffset(lineOffset, 'options.lineOffset');
    validateOffset(columnOffset, 'options.columnOffset');
    if (cachedData !== undefined && !ArrayBuffer.isView(cachedData)) {
      throw new codes.ERR_INVALID_ARG_TYPE('options.cachedData', ['Buffer', 'TypedArray', 'DataView'], cachedData);
    }
    validateBoolean(produceCachedData, 'options.produceCachedData');
    if (importModuleDynamically !== undefined && typeof importModuleDynamically !== 'symbol') {
      validateFunction(importModuleDynamically, 'options.importModuleDynamically');
    }
    this.#script = { text, rewritten: undefined };
    this.#filename = filename;
    this.#line = lineOffset + 1;
    native.check(text, filename, this.#line);
    // The engine has no code that could be kept.
    if (cachedData !== undefined) this.cachedDataRejected = true;
    if (produceCachedData) this.cachedDataProduced = false;
    this.sourceMapURL = /\/\/[#@] sourceMappingURL=(\S+)\s*$/.exec(text)?.[1];
  }
  runInThisContext(options) {
    checkRun(options);
    return evaluate(undefined, this.#script, this.#filename, this.#line);
  }
  runInContext(contextifiedObject, options) {
    validateContext(contextifiedObject);
    checkRun(options);
    return evaluate(contexts.get(contextifiedObject), this.#script, this.#filename, this.#line);
  }
  runInNewContext(contextObject, options) {
    return this.runInContext(createContext(contextObject, contextOptions(options)), options);
  }
  createCachedData() { return Buffer.alloc(0); }
}
function contextOptions(options) {
  if (options === undefined || options === null || typeof options !== 'object') return {};
  const { contextName, contextOrigin, contextCodeGeneration, microtaskMode } = options;
  if (contextName !== undefined) validateString(contextName, 'options.contextName');
  if (contextOrigin !== undefined) validateString(contextOrigin, 'options.contextOrigin');
  if (contextCodeGeneration !== undefined) validateObject(contextCodeGeneration, 'options.contextCodeGeneration');
  return { name: contextName, origin: contextOrigin, codeGeneration: contextCodeGeneration, microtaskMode };
}

const optionsOf = (options) => (typeof options === 'string' ? { filename: options } : options);
function runInThisContext(code, options) {
  return new Script(code, options).runInThisContext(optionsOf(options));
}
function runInContext(code, contextifiedObject, options) {
  validateContext(contextifiedObject);
  return new Script(code, options).runInContext(contextifiedObject, optionsOf(options));
}
function runInNewContext(code, contextObject, options) {
  return new Script(code, options).runInNewContext(contextObject, optionsOf(options));
}

function compileFunction(code, params, options = {}) {
  validateString(code, 'code');
  if (params !== undefined) {
    if (!Array.isArray(params)) throw new codes.ERR_INVALID_ARG_TYPE('params', 'Array', params);
    params.forEach((param, i) => validateString(param, `params[${i}]`));
  }
  const { filename = '', lineOffset = 0, columnOffset = 0, parsingContext, contextExtensions = [], cachedData, produceCachedData = false } = options;
  validateString(filename, 'options.filename');
  validateOffset(lineOffset, 'options.lineOffset');
  validateOffset(columnOffset, 'options.columnOffset');
  validateBoolean(produceCachedData, 'options.produceCachedData');
  if (cachedData !== undefined && !ArrayBuffer.isView(cachedData)) {
    throw new codes.ERR_INVALID_ARG_TYPE('options.cachedData', ['Buffer', 'TypedArray', 'DataView'], cachedData);
  }
  if (parsingContext !== undefined && (parsingContext === null || typeof parsingContext !== 'object' || !contexts.has(parsingContext))) {
    throw new codes.ERR_INVALID_ARG_TYPE('options.parsingContext', 'Context', parsingContext);
  }
  if (!Array.isArray(contextExtensions)) throw new codes.ERR_INVALID_ARG_TYPE('options.contextExtensions', 'Array', contextExtensions);
  contextExtensions.forEach((one, i) => validateObject(one, `options.contextExtensions[${i}]`));
  const head = `(function (${(params ?? []).join(',')}) {`;
  native.check(`${head}${code}\n})`, filename, lineOffset + 1);
  // A text must not close the function and go on behind it; the engine's own constructor looks at that.
  Function(...(params ?? []), code);
  const handle = parsingContext === undefined ? undefined : contexts.get(parsingContext).handle;
  if (contextExtensions.length === 0) return native.run(handle, `${head}${code}\n})`, filename, lineOffset + 1);
  const names = contextExtensions.map((one, i) => `$vigilScope${i}`);
  const scopes = names.map((name) => `with (${name}) `).join('');
  return native.run(handle, `(function (${names.join(',')}) { ${scopes} return ${head}${code}\n}) })`, filename, lineOffset + 1)(...contextExtensions);
}

module.exports = {
  Script, createContext, runInContext, runInNewContext, runInThisContext, isContext, compileFunction,
  createScript: (code, options) => new Script(code, options),
  constants: Object.freeze({ __proto__: null, USE_MAIN_CONTEXT_DEFAULT_LOADER: Symbol('vm_dynamic_import_main_context_default') }),
};
