// SPDX-License-Identifier: MIT
// ES modules: resolution, linking, evaluation with await at the top, import(), import.meta. The source is rewritten by esm_transform.js.
'use strict';

const Module = load('modules');
const inner = Module[Symbol.for('vigil.host')];
const { codes, heads, sources } = load('errors');
const { waitFor } = load('context');
const { compile } = binding;
const path = load('path');

const url = () => load('url');
const records = new Map(); // url -> record
const conditions = new Set(['import', 'node', 'vigil']);

// ---- resolution ---------------------------------------------------------------------------------------------------

// A path of these letters is its own form in a URL. Most are, and a URL costs more than a small module.
const PLAIN = /^[\w./@+~,=-]*$/;
function hrefOf(file) {
  return PLAIN.test(file) ? `file://${file}` : url().pathToFileURL(file).href;
}
function fileOf(href) {
  const file = href.slice(7);
  return href.startsWith('file:///') && PLAIN.test(file) ? file : url().fileURLToPath(href.replace(/[?#].*$/, ''));
}
const RELATIVE = /^\.{1,2}\//;
const resolved = new Map(); // a folder, a zero and a specifier -> a URL. What was not found is looked for again.

// A URL as text: file:, data:, node:, vigil:
function resolve(specifier, base) {
  if (!base.startsWith('file:')) return resolveAnew(specifier, base);
  const key = `${base.slice(0, base.lastIndexOf('/'))}\0${specifier}`;
  let href = resolved.get(key);
  if (href === undefined) {
    href = resolveAnew(specifier, base);
    resolved.set(key, href);
  }
  return href;
}
function resolveAnew(specifier, base) {
  if (inner.isGiven(specifier)) return specifier;
  if (inner.isBuiltin(specifier) || specifier.startsWith('node:') || specifier.startsWith('vigil:')) {
    inner.builtin(specifier);
    return specifier.startsWith('node:') || specifier.startsWith('vigil:') ? specifier : `node:${specifier}`;
  }
  const parent = base.startsWith('file:') ? fileOf(base) : path.join(process.cwd(), '[eval]');
  if (RELATIVE.test(specifier) && PLAIN.test(specifier)) {
    const file = path.resolve(path.dirname(parent), specifier);
    if (!specifier.endsWith('/') && inner.fileKind(file) === inner.FILE) return hrefOf(inner.realpath(file));
  }
  if (/^(\.{1,2})?\//.test(specifier)) {
    const made = new (url().URL)(specifier, base.startsWith('file:') ? base : url().pathToFileURL(parent));
    const file = url().fileURLToPath(made);
    const kind = inner.fileKind(file);
    if (kind === inner.FOLDER) throw new codes.ERR_UNSUPPORTED_DIR_IMPORT(file, parent);
    if (kind < 0) throw new codes.ERR_MODULE_NOT_FOUND(file, parent, 'module');
    const real = url().pathToFileURL(inner.realpath(file));
    real.search = made.search;
    real.hash = made.hash;
    return real.href;
  }
  if (/^[a-zA-Z][a-zA-Z0-9+.-]*:/.test(specifier)) {
    const made = new (url().URL)(specifier);
    if (made.protocol === 'file:') return resolve(`${made.pathname}${made.search}`, base);
    if (made.protocol === 'data:') return made.href;
    throw new codes.ERR_UNSUPPORTED_ESM_URL_SCHEME(made.protocol);
  }
  let found;
  if (specifier.startsWith('#')) {
    found = inner.resolveFrom(specifier, path.dirname(parent), parent, conditions);
    if (found !== undefined && inner.isBuiltin(found)) return `node:${found}`;
  } else {
    const parts = inner.splitName(specifier);
    if (parts === null) throw new codes.ERR_INVALID_MODULE_SPECIFIER(specifier, 'is not a valid package name', parent);
    found = fromPackage(parts, specifier, parent);
  }
  if (found === undefined && inner.isAbsent(specifier)) return inner.builtin(specifier); // which says that it is missing
  if (found === undefined) throw new codes.ERR_MODULE_NOT_FOUND(specifier.startsWith('#') ? specifier : inner.splitName(specifier).name, parent);
  return hrefOf(found);
}
function fromPackage(parts, specifier, parent) {
  const scope = inner.scopeOf(parent);
  if (scope !== null && scope.data.name === parts.name && scope.data.exports !== undefined) {
    return inner.realpath(inner.fromExports(scope.folder, scope.data, `.${parts.rest}`, conditions, parent));
  }
  for (const folder of inner.nodeModules(path.dirname(parent))) {
    const home = path.join(folder, parts.name);
    if (inner.fileKind(home) !== inner.FOLDER) continue;
    const data = inner.packageOf(home);
    if (data !== null && data.exports !== undefined && data.exports !== null) {
      const file = inner.fromExports(home, data, `.${parts.rest}`, conditions, parent);
      if (inner.fileKind(file) !== inner.FILE) throw new codes.ERR_MODULE_NOT_FOUND(file, parent, 'module');
      return inner.realpath(file);
    }
    if (parts.rest !== '') {
      const file = path.join(home, parts.rest);
      if (inner.fileKind(file) === inner.FILE) return inner.realpath(file);
      throw new codes.ERR_MODULE_NOT_FOUND(file, parent, 'module');
    }
    return inner.resolveFrom(specifier, path.dirname(parent), parent);
  }
  return undefined;
}

// ---- records ------------------------------------------------------------------------------------------------------

function makeNamespace() {
  const namespace = Object.create(null);
  Object.defineProperty(namespace, Symbol.toStringTag, { value: 'Module' });
  Object.defineProperty(namespace, Symbol.for('nodejs.util.inspect.custom'), {
    value: function (depth, options, inspect) {
      const shown = Object.create(null);
      for (const key of Object.keys(this).sort()) {
        try {
          shown[key] = this[key];
        } catch {
          shown[key] = '<uninitialized>';
        }
      }
      return inspect(shown, options).replace('[Object: null', '[Module: null');
    },
  });
  return namespace;
}

// The names of a namespace, in the order of the letters. As long as more may come, they can be taken back; then it is closed for good.
function show(record, names, getterOf, closed = true) {
  const { namespace } = record;
  for (const name of Object.keys(namespace)) delete namespace[name];
  for (const name of names.sort()) {
    const get = getterOf(name);
    if (get !== undefined) Object.defineProperty(namespace, name, { get, enumerable: true, configurable: !closed });
  }
  if (closed) Object.preventExtensions(namespace);
}

class Record {
  constructor(href) {
    this.url = href;
    this.status = 'new'; // linking, linked, evaluating, done, failed
    this.namespace = makeNamespace();
    this.requests = [];
    this.isAsync = false;
    this.promise = undefined; // while an evaluation that awaits is under way
    this.error = undefined;
  }
}

function getRecord(href) {
  let record = records.get(href);
  if (record !== undefined) return record;
  record = new Record(href);
  records.set(href, record);
  try {
    if (href.startsWith('node:') || href.startsWith('vigil:') || inner.isGiven(href)) fromValue(record, inner.builtin(href), true);
    else if (href.startsWith('data:')) fromData(record, href);
    else fromFile(record, fileOf(href));
  } catch (error) {
    records.delete(href);
    throw error;
  }
  return record;
}

// Builtins, CommonJS and JSON: one value, whose properties are the names. That of CommonJS is made when its turn to be evaluated comes.
function fromObject(record, make, named = true) {
  record.status = 'linked';
  record.synthetic = true;
  record.run = () => {
    if (record.evaluated) return;
    const value = make();
    const isObject = named && value !== null && (typeof value === 'object' || typeof value === 'function');
    const keys = isObject ? Object.keys(value).filter((name) => name !== 'default') : [];
    show(record, [...keys, 'default'], (name) => (name === 'default' ? () => value : () => value[name]));
    record.evaluated = true;
  };
}
function fromValue(record, value, named) {
  fromObject(record, () => value, named);
  record.run();
}
function fromData(record, href) {
  const match = /^data:([^,;]*)((?:;[^,;]*)*),(.*)$/s.exec(href);
  if (match === null) throw new codes.ERR_INVALID_URL();
  const text = /;base64/.test(match[2]) ? binding.utf8Decode(binding.bytesOf(decodeURIComponent(match[3]), load('constants').encoding.base64)) : decodeURIComponent(match[3]);
  if (match[1] === 'application/json') fromValue(record, JSON.parse(text), false);
  else if (match[1] === 'text/javascript') fromSource(record, text, href);
  else throw new TypeError(`Unknown module format of a data: URL: ${match[1]}; there are text/javascript and application/json`);
}
function fromFile(record, file) {
  if (file.endsWith('.json')) {
    fromValue(record, JSON.parse(inner.read(file)), false);
  } else if (inner.isModuleFile(file) || inner.isUnmarkedModule(file)) {
    fromSource(record, inner.read(file), file);
  } else if (/\.(js|cjs|node|ts|cts)$/.test(file) || path.extname(file) === '') {
    fromObject(record, () => Module._load(file, null, false));
  } else {
    const error = new TypeError(`Unknown file extension "${path.extname(file)}" for ${file}`);
    error.code = 'ERR_UNKNOWN_FILE_EXTENSION';
    throw error;
  }
}
// What esm_transform.js makes of the text, from the cache if it was made before. An entry is a line of JSON, and the code.
const FIELDS = ['head', 'requests', 'imports', 'exports', 'reexports', 'stars', 'isAsync', 'loops'];
function transformed(text, file) {
  if (/\.m?ts$/.test(file)) text = load('typescript').strip(text, file).code;
  const kept = binding.keptModule(text);
  if (kept !== undefined) {
    const end = kept.indexOf('\n');
    const values = JSON.parse(kept.slice(0, end));
    const made = { code: kept.slice(end + 1) };
    for (let i = 0; i < FIELDS.length; i++) made[FIELDS[i]] = values[i];
    return made;
  }
  const made = load('esm_transform').transformModule(text, file);
  binding.keepModule(text, `${JSON.stringify(FIELDS.map((name) => made[name]))}\n${made.code}`);
  return made;
}
function fromSource(record, text, file) {
  const made = transformed(text, file);
  Object.assign(record, made);
  sources.set(file, text);
  heads.set(file, made.head);
  record.file = file;
}

// ---- linking ------------------------------------------------------------------------------------------------------

function link(record) {
  if (record.status !== 'new') return;
  record.status = 'linking';
  try {
    record.linked = record.requests.map((specifier) => getRecord(resolve(specifier, record.url)));
    for (const one of record.linked) link(one);
  } catch (error) {
    record.status = 'new'; // the next import fails the same way
    throw error;
  }
  record.status = 'linked';
  const meta = Object.assign(Object.create(null), {
    dirname: path.dirname(record.file), filename: record.file, url: record.url,
    resolve: (specifier) => resolve(`${specifier}`, record.url),
  });
  const body = compile(record.code, record.file, 1);
  record.iterator = body(
    (getters) => {
      record.getters = getters;
    },
    (specifier) => dynamicImport(specifier, record.url),
    meta,
    (name) => {
      throw new TypeError(`Assignment to constant variable '${name}': imports cannot be assigned to`);
    },
    (value) => {
      if (typeof value === 'function' && value.name === '') Object.defineProperty(value, 'name', { value: 'default', configurable: true });
      return value;
    },
    waitFor,
    ...record.linked.map((one) => one.namespace));
  record.started = record.iterator.next(); // registers the getters
}

// Where an export comes from: { record, name }, or why it comes from nowhere. CommonJS that has not run yet may have any name (maybe).
const AMBIGUOUS = { why: (request, name) => `The requested module '${request}' contains conflicting star exports for name '${name}'` };
const CIRCULAR = { why: (request, name) => `Detected cycle while resolving name '${name}' in '${request}'` };
const NOWHERE = { why: (request, name) => `The requested module '${request}' does not provide an export named '${name}'` };

function lookUp(record, name, path = new Map()) {
  if (record.synthetic) {
    if (!record.evaluated) return { record, name, maybe: true };
    return Object.hasOwn(record.namespace, name) ? { record, name } : NOWHERE;
  }
  const visited = path.get(record);
  if (visited?.has(name)) return CIRCULAR;
  if (visited === undefined) path.set(record, new Set([name]));
  else visited.add(name);
  if (Object.hasOwn(record.getters, name)) return { record, name };
  const again = record.reexports.find(([one]) => one === name);
  if (again !== undefined) return lookUp(record.linked[again[1]], again[2], path);
  let found = NOWHERE;
  for (const at of name === 'default' ? [] : record.stars) {
    const one = lookUp(record.linked[at], name, path);
    if (one === AMBIGUOUS) return AMBIGUOUS;
    if (one.why !== undefined) continue;
    if (found.why !== undefined || (found.maybe && !one.maybe)) found = one;
    else if (!one.maybe && (one.record !== found.record || one.name !== found.name)) return AMBIGUOUS;
  }
  return found;
}
function names(record, seen = new Set()) {
  if (seen.has(record)) return [];
  seen.add(record);
  if (record.synthetic) return Object.keys(record.namespace);
  const list = [...record.exports, ...record.reexports.map(([name]) => name)];
  for (const at of record.stars) list.push(...names(record.linked[at], seen).filter((name) => name !== 'default'));
  return list;
}
// Whether its names are all known: those of CommonJS are when it has run.
function isClosed(record, seen = new Set()) {
  if (seen.has(record)) return true;
  seen.add(record);
  return record.synthetic ? !!record.evaluated : record.stars.every((at) => isClosed(record.linked[at], seen));
}
// Fills the namespace with what is known, and closes it if that is all.
function complete(record) {
  if (record.synthetic || record.completed) return;
  record.completed = isClosed(record);
  show(record, [...new Set(names(record))], (name) => {
    const from = lookUp(record, name);
    if (from.why !== undefined) return undefined;
    return from.record.synthetic ? () => from.record.namespace[from.name] : from.record.getters[from.name];
  }, record.completed);
}
function checkImports(record) {
  for (const [at, name] of record.imports) {
    const { why } = lookUp(record.linked[at], name);
    if (why === undefined) continue;
    const error = new SyntaxError(why(record.requests[at], name));
    Object.defineProperty(error, 'stack', {
      value: `${error.name}: ${error.message}\n    at ${record.file}:1:1`, writable: true, configurable: true,
    });
    throw error;
  }
}

// ---- evaluation ---------------------------------------------------------------------------------------------------

// The rest of a body: what it yields is what it awaits.
async function steps(iterator) {
  let step = iterator.next();
  while (!step.done) {
    let value;
    try {
      value = await waitFor(step.value);
    } catch (error) {
      step = iterator.throw(error);
      continue;
    }
    step = iterator.next(value);
  }
}

// undefined when it is over, a promise while it awaits. Throws what the module threw, each time.
function evaluate(record) {
  if (record.status === 'failed') throw record.error;
  if (record.status === 'evaluating' || record.status === 'done') return record.promise;
  record.status = 'evaluating';
  try {
    if (record.synthetic) {
      record.run();
      record.status = 'done';
      return undefined;
    }
    const waits = [];
    for (const one of record.linked) {
      const wait = evaluate(one);
      if (wait !== undefined && !waits.includes(wait)) waits.push(wait);
    }
    if (waits.length === 0 && !record.isAsync) {
      finish(record);
      record.iterator.next();
      record.status = 'done';
      return undefined;
    }
    // There before the body runs: a module that imports itself waits for itself.
    const { promise, resolve: settle, reject } = Promise.withResolvers();
    record.promise = promise;
    (async () => {
      try {
        if (waits.length > 0) await Promise.all(waits);
        finish(record);
        if (record.loops) await record.iterator.next();
        else if (record.isAsync) await steps(record.iterator);
        else record.iterator.next();
        record.status = 'done';
        record.promise = undefined;
        settle();
      } catch (error) {
        record.status = 'failed';
        record.error = error;
        reject(error);
      }
    })();
    return promise;
  } catch (error) {
    record.status = 'failed';
    record.error = error;
    throw error;
  }
}
function finish(record) {
  complete(record);
  checkImports(record);
}
function prepare(record) {
  link(record);
  const seen = new Set();
  (function walk(one) {
    if (seen.has(one) || one.synthetic) return;
    seen.add(one);
    link(one); // it may have been part of a graph that could not be linked
    for (const next of one.linked) walk(next);
  })(record);
  for (const one of seen) {
    complete(one);
    checkImports(one);
  }
}

async function dynamicImport(specifier, base) {
  specifier = `${specifier}`;
  const record = getRecord(resolve(specifier, base));
  prepare(record);
  const wait = evaluate(record);
  if (wait !== undefined) await wait;
  return record.namespace;
}

// ---- entries ------------------------------------------------------------------------------------------------------

let mainPending = false;
binding.modulesPending = () => mainPending;
function runMain(file) {
  evaluateMain(file, () => getRecord(hrefOf(file)));
}
// A module that is no file: -e, standard input. Its requests are those of a file of that name in the current folder.
function runText(text, file) {
  evaluateMain(file, () => {
    const href = hrefOf(file);
    const record = new Record(href);
    records.set(href, record);
    fromSource(record, text, file);
    return record;
  });
}
function evaluateMain(file, make) {
  mainPending = file;
  const record = make();
  (async () => {
    await undefined; // as in Node, the main module runs in a microtask
    prepare(record);
    const wait = evaluate(record);
    if (wait !== undefined) await wait;
    mainPending = false;
  })().catch((error) => {
    mainPending = false;
    process[Symbol.for('vigil.host')].uncaught(error, 'uncaughtException');
  });
}

// For require: as Node 20 does it, as long as nothing in the graph awaits at its top.
function requireFile(file) {
  const record = getRecord(hrefOf(file));
  if (record.status === 'evaluating' && record.promise === undefined) {
    throw codedError('ERR_REQUIRE_CYCLE_MODULE', `Cannot require() ES Module ${file} in a cycle.`);
  }
  prepare(record);
  const seen = new Set();
  (function walk(one) {
    if (seen.has(one)) return;
    seen.add(one);
    if (one.isAsync && one.status !== 'done') {
      throw codedError('ERR_REQUIRE_ASYNC_MODULE', 'require() cannot be used on an ESM graph with top-level await. Use import() instead.');
    }
    for (const next of one.linked ?? []) walk(next);
  })(record);
  evaluate(record);
  const { namespace } = record;
  if (Object.hasOwn(namespace, 'module.exports')) return namespace['module.exports'];
  if (!Object.hasOwn(namespace, 'default') || Object.hasOwn(namespace, '__esModule')) return namespace;
  // Code that was compiled from ES modules asks for this name.
  const shown = Object.create(namespace, { __esModule: { value: true, enumerable: true } });
  for (const name of Object.keys(namespace)) {
    Object.defineProperty(shown, name, { get: () => namespace[name], enumerable: true, configurable: true });
  }
  return shown;
}
function codedError(code, message) {
  const error = new Error(message);
  error.code = code;
  return error;
}

module.exports = {
  runMain, runText, requireFile,
  importFrom: (file) => (specifier) => dynamicImport(specifier, file === undefined ? 'vigil:eval' : hrefOf(file)),
};
