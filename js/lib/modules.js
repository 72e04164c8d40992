// SPDX-License-Identifier: MIT
// CommonJS with Node's resolution: files, folders, node_modules, package.json (main, exports, imports), JSON.
'use strict';

const path = load('path');
const { codes, heads, sources, validateString } = load('errors');
const { fileKind, readText, realpath, compile } = binding;
const { FILE, FOLDER } = load('constants').fileKind;

const names = binding.builtins; // public name -> library file
// The engine has no import(): a text that may have one is rewritten.
const IMPORT_CALL = /\bimport\s*(\/\*|\/\/|\()/;
const HEAD = '(function (exports, require, module, __filename, __dirname) { ';

// Modules of Node that this host does not have: their absence is said as that of a module, and not as that of a package.
const absent = new Set(['domain', 'https', 'inspector', 'inspector/promises', 'repl', 'tls', 'trace_events', 'wasi']);
const PREFIXED = new Set(['test']); // without the prefix node: these are packages
// One that the program around this host has given.
function isGiven(name) {
  return binding.modules[name] !== undefined;
}
function isBuiltin(name) {
  return isGiven(name) || (Object.hasOwn(names, name) && !PREFIXED.has(name)) || (name.startsWith('node:') && Object.hasOwn(names, name.slice(5)));
}
function isAbsent(name) {
  return absent.has(name) && !Object.hasOwn(names, name);
}
function builtin(name) {
  if (isGiven(name)) return binding.modules[name];
  const plain = name.startsWith('node:') ? name.slice(5) : name;
  if (!Object.hasOwn(names, plain) || (name.startsWith('node:') && plain.startsWith('vigil:'))) {
    const needs = binding.leftOut?.[plain];
    throw new codes.ERR_UNKNOWN_BUILTIN_MODULE(name, Object.keys(names).join(', ') +
      (needs === undefined ? '' : `. It was left out of this build, because ${needs} was missing`));
  }
  // "stream#Readable": one of the part's names
  const [part, member] = names[plain].split('#');
  return member === undefined ? load(part) : load(part)[member];
}

// ---- packages -----------------------------------------------------------------------------------------------------

// Most paths in here are absolute and normal already. For them these do what path.dirname and path.join do, without a look at each
// letter, which is a good part of the time in which a small program starts.
function parentOf(file) {
  return file.slice(0, file.lastIndexOf('/')) || '/';
}
function inside(folder, name) {
  return folder === '/' ? `/${name}` : `${folder}/${name}`;
}

const packages = new Map(); // folder -> package.json, or null
function packageOf(folder) {
  let known = packages.get(folder);
  if (known !== undefined) return known;
  const file = inside(folder, 'package.json');
  const text = fileKind(file) === FILE ? readText(file) : undefined;
  known = null;
  if (typeof text === 'string') {
    try {
      known = JSON.parse(text);
    } catch (error) {
      throw new codes.ERR_INVALID_PACKAGE_CONFIG(file, error.message);
    }
    if (known === null || typeof known !== 'object') known = {};
  }
  packages.set(folder, known);
  return known;
}
function scopeOf(file) {
  for (let folder = parentOf(file); ; folder = parentOf(folder)) {
    if (folder.endsWith('/node_modules')) return null;
    const data = packageOf(folder);
    if (data !== null) return { folder, data };
    if (folder === '/') return null;
  }
}

// A target of "exports" or "imports": a string, a list of alternatives, or conditions. undefined: nothing fits; null: forbidden.
function target(value, folder, key, star, conditions, internal, base) {
  if (typeof value === 'string') {
    if (!value.startsWith('./')) {
      if (!internal || value.startsWith('../') || value.startsWith('/')) {
        throw new codes.ERR_INVALID_PACKAGE_TARGET(`${folder}/`, key, value);
      }
      const name = star === undefined ? value : value.replaceAll('*', () => star);
      return { name };
    }
    const inner = value.slice(2).split(/[/\\]/);
    if (inner.some((part) => part === '..' || part === '.' || part === 'node_modules')) {
      throw new codes.ERR_INVALID_PACKAGE_TARGET(`${folder}/`, key, value);
    }
    const file = star === undefined ? value : value.replaceAll('*', () => star);
    return { file: path.join(folder, file) };
  }
  if (Array.isArray(value)) {
    let last;
    for (const item of value) {
      try {
        last = target(item, folder, key, star, conditions, internal, base);
      } catch (error) {
        if (error.code !== 'ERR_INVALID_PACKAGE_TARGET') throw error;
        continue;
      }
      if (last !== undefined && last !== null) return last;
    }
    return last;
  }
  if (value !== null && typeof value === 'object') {
    for (const condition of Object.keys(value)) {
      if (condition !== 'default' && !conditions.has(condition)) continue;
      const found = target(value[condition], folder, key, star, conditions, internal, base);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  if (value === null) return null;
  throw new codes.ERR_INVALID_PACKAGE_TARGET(`${folder}/`, key, value);
}

function match(table, key, folder, conditions, internal, base) {
  if (Object.hasOwn(table, key) && !key.includes('*')) {
    return target(table[key], folder, key, undefined, conditions, internal, base);
  }
  let best = '';
  let bestStar;
  for (const pattern of Object.keys(table)) {
    const at = pattern.indexOf('*');
    if (at < 0 || pattern.lastIndexOf('*') !== at) continue;
    const head = pattern.slice(0, at);
    const tail = pattern.slice(at + 1);
    if (key.startsWith(head) && key !== head && key.length >= pattern.length && key.endsWith(tail) &&
        (best === '' || at > best.indexOf('*') || (at === best.indexOf('*') && pattern.length > best.length))) {
      best = pattern;
      bestStar = key.slice(at, key.length - tail.length);
    }
  }
  return best === '' ? undefined : target(table[best], folder, best, bestStar, conditions, internal, base);
}

function fromExports(folder, data, key, conditions, base) {
  let table = data.exports;
  const keys = table !== null && typeof table === 'object' && !Array.isArray(table) ? Object.keys(table) : [];
  const dotted = keys.filter((one) => one.startsWith('.')).length;
  if (dotted > 0 && dotted < keys.length) {
    throw new codes.ERR_INVALID_PACKAGE_CONFIG(`${folder}/package.json`,
      '"exports" cannot contain some keys starting with \'.\' and some not.');
  }
  if (dotted === 0) table = { '.': table };
  const found = match(table, key, folder, conditions, false, base);
  if (!found?.file) throw new codes.ERR_PACKAGE_PATH_NOT_EXPORTED(`${folder}/`, key, base);
  return found.file;
}

// ---- resolution ---------------------------------------------------------------------------------------------------

const requireConditions = new Set(['require', 'node', 'vigil']);

function asFile(file) {
  if (fileKind(file) === FILE) return realpath(file);
  for (const ext of Object.keys(Module._extensions)) {
    if (fileKind(file + ext) === FILE) return realpath(file + ext);
  }
  return undefined;
}
function asFolder(folder) {
  if (fileKind(folder) !== FOLDER) return undefined;
  const main = packageOf(folder)?.main;
  if (typeof main === 'string' && main !== '') {
    const file = path.resolve(folder, main);
    const found = asFile(file) ?? asFile(path.join(file, 'index'));
    if (found !== undefined) return found;
  }
  return asFile(path.join(folder, 'index'));
}
function splitName(name) {
  const match = /^(@[^/]+\/[^/]+|[^@./][^/]*|\.[^./][^/]*)(\/.*)?$/.exec(name);
  return match === null ? null : { name: match[1], rest: match[2] ?? '' };
}
function nodeModules(from) {
  const list = [];
  for (let folder = from; ; folder = parentOf(folder)) {
    if (!folder.endsWith('/node_modules')) list.push(inside(folder, 'node_modules'));
    if (folder === '/') return list;
  }
}

function resolveFrom(request, folder, parentFile, conditions = requireConditions) {
  if (request.startsWith('./') || request.startsWith('../') || request.startsWith('/') || request === '.' || request === '..') {
    const file = path.resolve(folder, request);
    const slash = request.endsWith('/') || request === '.' || request === '..' || request.endsWith('/..') || request.endsWith('/.');
    return (slash ? undefined : asFile(file)) ?? asFolder(file);
  }
  const parent = parentFile ?? path.join(folder, 'noop.js');
  if (request.startsWith('#')) {
    const scope = scopeOf(parent);
    if (scope !== null && scope.data.imports) {
      const found = match(scope.data.imports, request, scope.folder, conditions, true, parent);
      if (found?.file) return asFile(found.file);
      if (found?.name) return isBuiltin(found.name) ? found.name : resolveFrom(found.name, scope.folder, parent, conditions);
    }
    throw new codes.ERR_PACKAGE_IMPORT_NOT_DEFINED(request, scope ? `${scope.folder}/` : '', parent);
  }
  const parts = splitName(request);
  if (parts !== null) {
    const scope = scopeOf(parent);
    if (scope !== null && scope.data.name === parts.name && scope.data.exports !== undefined) {
      return realpath(fromExports(scope.folder, scope.data, `.${parts.rest}`, conditions, parent));
    }
  }
  const extra = (process.env.NODE_PATH ?? '').split(':').filter(Boolean);
  for (const base of [...nodeModules(folder), ...extra]) {
    if (fileKind(base) !== FOLDER) continue;
    if (parts !== null) {
      const home = path.join(base, parts.name);
      const data = packageOf(home);
      if (data !== null && data.exports !== undefined && data.exports !== null) {
        const file = fromExports(home, data, `.${parts.rest}`, conditions, parent);
        if (fileKind(file) === FILE) return realpath(file);
        const error = new Error(`Cannot find module '${file}'`);
        error.code = 'MODULE_NOT_FOUND';
        throw error;
      }
    }
    const file = path.join(base, request);
    const found = (request.endsWith('/') ? undefined : asFile(file)) ?? asFolder(file);
    if (found !== undefined) return found;
  }
  return undefined;
}

// ---- modules ------------------------------------------------------------------------------------------------------

function Module(id = '', parent) {
  this.id = id;
  this.path = path.dirname(id);
  this.exports = {};
  this.filename = null;
  this.loaded = false;
  this.children = [];
  Object.defineProperty(this, 'parent', { value: parent, writable: true, configurable: true, enumerable: false });
  parent?.children?.push(this);
}
Module._cache = Object.create(null);
Module._pathCache = Object.create(null);
Module._extensions = Object.create(null);
Module.globalPaths = [];
Module.Module = Module;
Module.builtinModules = Object.keys(names).filter((name) => !name.startsWith('vigil:') && !PREFIXED.has(name));
Module.isBuiltin = (name) => typeof name === 'string' && isBuiltin(name);
Module.wrap = (text) => `${HEAD}${text}\n});`;
Module._nodeModulePaths = (from) => nodeModules(path.resolve(from));
Module.createRequire = function createRequire(file) {
  let name = file;
  if (file instanceof Object && file.href) name = load('url').fileURLToPath(file);
  else if (typeof file === 'string' && file.startsWith('file:')) name = load('url').fileURLToPath(file);
  if (typeof name !== 'string' || !path.isAbsolute(name)) {
    throw new codes.ERR_INVALID_ARG_VALUE('filename', file, 'must be a file URL object, file URL string, or absolute path string');
  }
  const module = new Module(name, undefined);
  module.filename = name;
  module.paths = Module._nodeModulePaths(module.path);
  return makeRequire(module);
};

Module._resolveFilename = function (request, parent, isMain, options) {
  if (isBuiltin(request)) return request;
  const folders = options?.paths ?? [parent ? parent.path : process.cwd()];
  for (const folder of folders) {
    const found = resolveFrom(request, path.resolve(folder), parent?.filename);
    if (found !== undefined) return found;
  }
  const stack = [];
  for (let one = parent; one; one = one.parent) stack.push(one.filename || one.id);
  let message = `Cannot find module '${request}'`;
  if (isAbsent(request)) message += `: this host does not have Node's module of that name`;
  if (stack.length > 0) message += `\nRequire stack:\n- ${stack.join('\n- ')}`;
  const error = new Error(message);
  error.code = 'MODULE_NOT_FOUND';
  error.requireStack = stack;
  throw error;
};

Module._load = function (request, parent, isMain) {
  if (request.startsWith('node:') || isBuiltin(request) || binding.leftOut?.[request]) return builtin(request);
  const file = Module._resolveFilename(request, parent, isMain);
  if (isBuiltin(file)) return builtin(file);
  const known = Module._cache[file];
  if (known !== undefined) {
    if (parent && !parent.children.includes(known)) parent.children.push(known);
    return known.exports;
  }
  return loadFile(file, parent, isMain);
};
function loadFile(file, parent, isMain) {
  const module = new Module(file, parent);
  if (isMain) {
    process.mainModule = module;
    module.id = '.';
    mainModule = module;
  }
  Module._cache[file] = module;
  let done = false;
  try {
    module.load(file);
    done = true;
  } finally {
    if (!done) delete Module._cache[file];
  }
  return module.exports;
}
let mainModule;

Module.prototype.load = function (file) {
  this.filename = file;
  this.paths = nodeModules(path.dirname(file));
  const ext = path.extname(file);
  (Module._extensions[ext] ?? Module._extensions['.js'])(this, file);
  this.loaded = true;
};
Module.prototype.require = function (id) {
  validateString(id, 'id');
  if (id === '') throw new codes.ERR_INVALID_ARG_VALUE('id', id, 'must be a non-empty string');
  return Module._load(id, this, false);
};

function makeRequire(module) {
  function require(id) {
    return module.require(id);
  }
  require.resolve = (request, options) => {
    validateString(request, 'request');
    return Module._resolveFilename(request, module, false, options);
  };
  require.resolve.paths = (request) => {
    if (isBuiltin(request)) return null;
    return /^\.\.?(\/|$)/.test(request) ? [module.path] : Module._nodeModulePaths(module.path);
  };
  require.main = mainModule;
  require.extensions = Module._extensions;
  require.cache = Module._cache;
  return require;
}

// Whether what a script awaits is led through context.js: not before contexts are used or in sight, because it costs a parser.
function followsAwaits(text) {
  return (binding.isLoaded('async_hooks') || text.includes('async_hooks')) && /\bawait\b/.test(text);
}

// `compile` throws the engine's SyntaxError, which names file and line.
Module.prototype._compile = function (text, file) {
  if (text.startsWith('#!')) text = `//${text}`;
  let head = HEAD;
  const args = [this.exports, makeRequire(this), this, file, path.dirname(file)];
  const follows = followsAwaits(text);
  if (follows || IMPORT_CALL.test(text)) {
    sources.set(file, text);
    text = load('esm_transform').transformScript(text, file, '$vigilImport', follows ? '$vigilAwait' : undefined);
    head = HEAD.replace('__dirname)', '__dirname, $vigilImport, $vigilAwait)');
    args.push(load('esm').importFrom(file), load('context').waitFor);
  }
  heads.set(file, head.length);
  const wrapper = compile(`${head}${text}\n})`, file, 1);
  return Reflect.apply(wrapper, this.exports, args);
};

let watcher = -1; // a descriptor: `vigil run --watch` wants to know what is loaded, before it is read
function read(file) {
  if (watcher >= 0) binding.write(watcher, `${file}\0`);
  const text = readText(file);
  if (typeof text === 'number') throw load('fserrors').make(text, 'open', file);
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}
Module._extensions['.js'] = function (module, file) {
  if (isModuleFile(file)) {
    module.exports = load('esm').requireFile(file);
    return;
  }
  const text = read(file);
  try {
    module._compile(text, file);
  } catch (error) {
    if (!(error instanceof SyntaxError) || !isUnmarkedModule(file)) throw error;
    module.exports = load('esm').requireFile(file);
  }
};
Module._extensions['.json'] = function (module, file) {
  try {
    module.exports = JSON.parse(read(file));
  } catch (error) {
    error.message = `${file}: ${error.message}`;
    throw error;
  }
};
Module._extensions['.node'] = function (module, file) {
  throw new Error(`${file}: native addons are not supported here; expose C functions through the embedding API`);
};

for (const ext of ['.ts', '.cts', '.mts']) {
  Module._extensions[ext] = function (module, file) {
    if (isModuleFile(file)) module.exports = load('esm').requireFile(file);
    else module._compile(load('typescript').strip(read(file), file).code, file);
  };
}

function isModuleFile(file) {
  if (file.endsWith('.mjs') || file.endsWith('.mts')) return true;
  if (file.endsWith('.ts')) {
    const type = scopeOf(file)?.data.type;
    return type === 'module' || (type !== 'commonjs' && load('typescript').strip(read(file), file).isModule());
  }
  return file.endsWith('.js') && scopeOf(file)?.data.type === 'module';
}

// A file of a package that says nothing about its modules may be one all the same. A look at the text says when to ask the parser.
function isUnmarkedModule(file) {
  if (!file.endsWith('.js') || scopeOf(file)?.data.type !== undefined) return false;
  const text = read(file);
  return /^\s*(?:import|export)\b/m.test(text) && isModuleText(text);
}

// ---- entries ------------------------------------------------------------------------------------------------------

function runMain(name) {
  let file = path.resolve(name);
  const found = asFile(file) ?? asFolder(file);
  if (found === undefined) {
    const error = new Error(`Cannot find module '${file}'`);
    error.code = 'MODULE_NOT_FOUND';
    error.requireStack = [];
    throw error;
  }
  file = found;
  process.argv[1] = file;
  if (isModuleFile(file)) return load('esm').runMain(file);
  loadFile(file, null, true);
  return undefined;
}

// Whether a text can only be a module: it declares imports or exports, uses import.meta, or awaits outside of functions, and is no script.
function isModuleText(text) {
  if (!/\b(import|export|await)\b/.test(text)) return false;
  const acorn = load('npm:acorn');
  const parses = (sourceType) => {
    try {
      return acorn.parse(text, { ecmaVersion: 'latest', sourceType, allowHashBang: true });
    } catch {
      return null;
    }
  };
  return parses('script') === null && parses('module') !== null;
}

// Such a text finds the builtin modules by their names, as in Node; each is loaded when it is looked at.
function offerBuiltins() {
  for (const name of Module.builtinModules) {
    if (name.includes(':') || name.includes('/') || name.startsWith('_') || Object.hasOwn(globalThis, name)) continue;
    const define = (value) => Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: true });
    Object.defineProperty(globalThis, name, {
      configurable: true, enumerable: false,
      get() {
        const value = builtin(name);
        define(value);
        return value;
      },
      set: define,
    });
  }
}

// A text that is no file: -e, standard input.
function runText(text, name) {
  const file = path.join(process.cwd(), name);
  const { inputType, printText } = Module[Symbol.for('vigil.host')];
  if (inputType === undefined ? !printText && isModuleText(text) : inputType === 'module') {
    sources.set(file, text);
    return load('esm').runText(text, file);
  }
  const module = new Module(name, undefined);
  module.filename = file;
  module.path = process.cwd();
  module.paths = nodeModules(process.cwd());
  sources.set(name, text);
  Object.assign(globalThis, { module, exports: module.exports, require: makeRequire(module), __filename: name, __dirname: '.' });
  offerBuiltins();
  const follows = followsAwaits(text);
  if (follows || IMPORT_CALL.test(text)) {
    text = load('esm_transform').transformScript(text, name, '$vigilImport', follows ? '$vigilAwait' : undefined);
    Object.defineProperty(globalThis, '$vigilImport', { value: load('esm').importFrom(), configurable: true, enumerable: false });
    Object.defineProperty(globalThis, '$vigilAwait', { value: load('context').waitFor, configurable: true, enumerable: false });
  }
  const value = compile(text, name, 1);
  if (printText) console.log(value);
  return value;
}

module.exports = Module;
Object.defineProperty(Module, Symbol.for('vigil.host'), {
  value: { runMain, runText, resolveFrom, isModuleFile, isUnmarkedModule, builtin, isBuiltin, isGiven, isAbsent, read, scopeOf, match, fromExports, splitName, nodeModules, fileKind, realpath, FILE, FOLDER, packageOf, isModuleText, tell: (fd) => { watcher = fd; }, options: (...args) => load('run_options').begin(...args), inputType: undefined, printText: false },
});
