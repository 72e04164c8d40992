// SPDX-License-Identifier: MIT
// The process object, and what becomes of errors that nobody catches.
'use strict';

const EventEmitter = load('events');
const { codes, fatalText, validateFunction, validateString, validateInteger, validateObject, native } = load('errors');
const sched = load('sched');
const os = binding;

function process() {}
Object.defineProperty(process, 'name', { value: 'process' });
const self = Object.create(Object.create(EventEmitter.prototype, {
  constructor: { value: process, writable: true, configurable: true },
  [Symbol.toStringTag]: { value: 'process', configurable: true },
}));
process.prototype = Object.getPrototypeOf(self);
EventEmitter.call(self);
module.exports = self;

const { system, argv, execPath, versions } = os;
if (os.opensslVersion !== undefined) versions.openssl = os.opensslVersion;
Object.assign(self, {
  title: 'vigil',
  version: `v${versions.node}`,
  versions,
  arch: system.arch,
  platform: 'linux',
  release: { name: 'node' },
  argv,
  execArgv: [],
  execPath,
  debugPort: 9229,
  pid: system.pid,
  get ppid() { return os.ppid(); },
  exitCode: undefined,
  features: {
    inspector: false, debug: false, uv: false, ipv6: true, tls_alpn: os.opensslVersion !== undefined, tls_sni: os.opensslVersion !== undefined,
    tls_ocsp: false, tls: os.opensslVersion !== undefined, cached_builtins: false, require_module: true, typescript: 'strip',
  },
  config: Object.freeze({ target_defaults: Object.freeze({}), variables: Object.freeze({ v8_enable_i18n_support: 1 }) }),
  report: undefined,
  allowedNodeEnvironmentFlags: new Set(),
});

// The word that the program was started with.
Object.defineProperty(self, 'argv0', {
  enumerable: true, configurable: true,
  get() {
    const words = os.readText('/proc/self/cmdline');
    const value = typeof words === 'string' ? words.slice(0, words.indexOf('\0')) : execPath;
    Object.defineProperty(self, 'argv0', { value, enumerable: true, configurable: true, writable: true });
    return value;
  },
  set(value) { Object.defineProperty(self, 'argv0', { value, enumerable: true, configurable: true, writable: true }); },
});

Object.defineProperty(self, Symbol.toStringTag, { value: 'process', configurable: true });

// ---- environment --------------------------------------------------------------------------------------------------

let warnedOfValue = false;
function deprecatedValue() {
  if (warnedOfValue) return;
  warnedOfValue = true;
  self.emitWarning('Assigning any value other than a string, number, or boolean to a process.env property is deprecated. ' +
    'Please make sure to convert the value to a string before setting process.env with it.', 'DeprecationWarning', 'DEP0104');
}
self.env = new Proxy({}, {
  get: (target, key) => (typeof key === 'string' ? os.envGet(key) : undefined) ?? Reflect.get(target, key),
  set(target, key, value) {
    if (typeof key === 'symbol') throw new TypeError('Cannot convert a Symbol value to a string');
    if (binding.pendingDeprecation && !['string', 'number', 'boolean'].includes(typeof value)) deprecatedValue();
    os.envSet(key, `${value}`);
    return true;
  },
  has: (target, key) => typeof key === 'string' && os.envGet(key) !== undefined,
  deleteProperty(target, key) {
    if (typeof key === 'string') os.envSet(key, undefined);
    return true;
  },
  ownKeys: () => os.envKeys(),
  defineProperty(target, key, descriptor) {
    if ('get' in descriptor || 'set' in descriptor) {
      throw new codes.ERR_INVALID_OBJECT_DEFINE_PROPERTY("'process.env' does not accept an accessor(getter/setter) descriptor");
    }
    if (!('value' in descriptor && descriptor.configurable && descriptor.writable && descriptor.enumerable)) {
      throw new codes.ERR_INVALID_OBJECT_DEFINE_PROPERTY("'process.env' only accepts a configurable, writable, and enumerable data descriptor");
    }
    os.envSet(key, `${descriptor.value}`);
    return true;
  },
  getOwnPropertyDescriptor(target, key) {
    const value = typeof key === 'string' ? os.envGet(key) : undefined;
    return value === undefined ? undefined : { value, writable: true, enumerable: true, configurable: true };
  },
});

self.getBuiltinModule = (id) => {
  load('errors').validateString(id, 'id');
  const inner = load('modules')[Symbol.for('vigil.host')];
  return inner.isBuiltin(id) ? inner.builtin(id) : undefined;
};
self.loadEnvFile = (file = '.env') => {
  const text = load('fs').readFileSync(file, 'utf8');
  const found = load('util_env').parseEnv(text);
  for (const key of Object.keys(found)) if (os.envGet(key) === undefined) os.envSet(key, found[key]);
};

// ---- time, memory, place ------------------------------------------------------------------------------------------

let cwd; // as long as nobody calls chdir from C, it does not change behind our back
self.cwd = function () {
  cwd = os.cwd();
  if (typeof cwd !== 'string') throw load('fserrors').make(cwd, 'uv_cwd');
  return cwd;
};
self.chdir = function chdir(directory) {
  validateString(directory, 'directory');
  const result = os.chdir(directory);
  if (result < 0) throw load('fserrors').make(result, 'chdir', self.cwd(), directory);
};
self.umask = function umask(mask) {
  if (mask === undefined) return os.umask(-1);
  if (typeof mask === 'string') {
    if (!/^[0-7]+$/.test(mask)) throw new codes.ERR_INVALID_ARG_VALUE('mask', mask, 'must be a 32-bit unsigned integer or an octal string');
    mask = parseInt(mask, 8);
  }
  validateInteger(mask, 'mask', 0, 4294967295);
  return os.umask(mask);
};

self.hrtime = function hrtime(since) {
  const now = os.hrtime();
  const seconds = now[0];
  const rest = now[1];
  if (since === undefined) return [seconds, rest];
  if (!Array.isArray(since)) throw new codes.ERR_INVALID_ARG_TYPE('time', 'Array', since);
  if (since.length !== 2) throw new codes.ERR_OUT_OF_RANGE('time', 2, since.length);
  let s = seconds - since[0];
  let n = rest - since[1];
  if (n < 0) {
    s--;
    n += 1e9;
  }
  return [s, n];
};
self.hrtime.bigint = function () {
  const now = os.hrtime();
  return BigInt(now[0]) * 1000000000n + BigInt(now[1]);
};
// Node's one value that is wrong as a range and not as a type.
function rangeError(name, value) {
  const { message } = new codes.ERR_INVALID_ARG_VALUE(name, value);
  const error = new RangeError(message);
  error.code = 'ERR_INVALID_ARG_VALUE';
  return error;
}
self.uptime = () => os.uptime();
self.memoryUsage = () => os.memoryUsage();
self.memoryUsage.rss = () => os.memoryUsage().rss;
self.constrainedMemory = () => 0;
self.availableMemory = () => load('os').freemem();
self.cpuUsage = function cpuUsage(before) {
  if (before) {
    validateObject(before, 'prevValue');
    for (const name of ['user', 'system']) {
      if (typeof before[name] !== 'number') throw new codes.ERR_INVALID_ARG_TYPE(`prevValue.${name}`, 'number', before[name]);
      if (!(before[name] >= 0 && before[name] <= Number.MAX_SAFE_INTEGER)) {
        throw rangeError(`prevValue.${name}`, before[name]);
      }
    }
  }
  const now = os.cpuUsage();
  return before ? { user: now.user - before.user, system: now.system - before.system } : now;
};
self.resourceUsage = () => os.resourceUsage();
for (const name of ['getuid', 'geteuid', 'getgid', 'getegid']) self[name] = () => os[name]();
['setuid', 'seteuid', 'setgid', 'setegid', 'getgroups', 'setgroups', 'initgroups'].forEach((name) => {
  self[name] = { [name](...args) { return load('process_ids')[name](...args); } }[name];
});
let warnedOfAssert = false;
self.assert = function assert(value, message) {
  if (!warnedOfAssert) {
    warnedOfAssert = true;
    self.emitWarning('process.assert() is deprecated. Please use the `assert` module instead.', 'DeprecationWarning', 'DEP0100');
  }
  if (!value) throw Object.assign(new Error(message || 'assertion error'), { code: 'ERR_ASSERTION' });
};
self.openStdin = function openStdin() {
  self.stdin.resume();
  return self.stdin;
};
self._rawDebug = function _rawDebug(...args) {
  os.write(2, `${load('inspect').format(...args)}\n`);
};
self.nextTick = sched.nextTick;
self.binding = function binding(name) {
  throw new Error(`No such module: ${name}. process.binding is not part of this host`);
};
self.dlopen = (module, file) => {
  const error = new Error(`${file}: native addons are not supported here; expose C functions with vigil_js_function instead`);
  error.code = 'ERR_DLOPEN_FAILED';
  throw error;
};
self.getActiveResourcesInfo = () => {
  const immediates = os.state[load('constants').state.IMMEDIATE_REFS];
  return [...os.keepers(), ...Array(load('sched_timers').count()).fill('Timeout'), ...Array(immediates).fill('Immediate')];
};

// ---- warnings -----------------------------------------------------------------------------------------------------

self.emitWarning = function emitWarning(warning, type, code, ctor) {
  let detail;
  if (type !== null && typeof type === 'object' && !Array.isArray(type)) {
    ctor = type.ctor;
    code = type.code;
    if (typeof type.detail === 'string') detail = type.detail;
    type = type.type || 'Warning';
  } else if (typeof type === 'function') {
    ctor = type;
    code = '';
    type = 'Warning';
  }
  if (type !== undefined && type !== null) validateString(type, 'type');
  if (typeof code === 'function') {
    ctor = code;
    code = '';
  } else if (code !== undefined && code !== null) {
    validateString(code, 'code');
  }
  if (typeof warning === 'string') {
    const error = new Error(warning);
    error.name = String(type || 'Warning');
    if (code !== undefined && code !== '') error.code = code;
    if (detail !== undefined) error.detail = detail;
    warning = error;
  } else if (!(warning instanceof Error)) {
    throw new codes.ERR_INVALID_ARG_TYPE('warning', ['Error', 'string'], warning);
  }
  if (warning.name === 'DeprecationWarning') {
    if (self.noDeprecation) return;
    if (self.throwDeprecation) {
      sched.nextTick(() => {
        throw warning;
      });
      return;
    }
  }
  sched.nextTick(() => self.emit('warning', warning));
};
self.on('warning', (warning) => {
  if (!(warning instanceof native.Error) || os.noWarnings) return;
  const deprecation = warning.name === 'DeprecationWarning';
  if (deprecation && self.noDeprecation) return;
  const code = warning.code ? `[${warning.code}] ` : '';
  let text = `(vigil:${self.pid}) ${code}${warning.name}: ${warning.message}\n`;
  if ((self.traceWarnings || (deprecation && self.traceDeprecation)) && warning.stack) text = `(vigil:${self.pid}) ${code}${warning.stack}\n`;
  if (typeof warning.detail === 'string') text += `${warning.detail}\n`;
  os.write(2, text);
});

// ---- the end ------------------------------------------------------------------------------------------------------

let exiting = false;
Object.defineProperty(self, '_exiting', { get: () => exiting, set(value) { exiting = value; } });

function checkCode(code) {
  if (code === undefined || code === null) return undefined;
  if (typeof code === 'number' && Number.isInteger(code)) return code;
  if (typeof code === 'string' && /^[+-]?\d+$/.test(code.trim())) return +code;
  if (typeof code === 'number') throw new codes.ERR_OUT_OF_RANGE('code', 'an integer', code);
  throw new codes.ERR_INVALID_ARG_TYPE('code', 'number', code);
}
let exitCode;
Object.defineProperty(self, 'exitCode', {
  enumerable: true, configurable: false,
  get: () => exitCode,
  set(value) {
    checkCode(value);
    exitCode = value;
  },
});

self.exit = function exit(code) {
  const checked = checkCode(code);
  if (checked !== undefined) exitCode = checked;
  if (!exiting) {
    exiting = true;
    binding.exiting = true;
    self.emit('exit', Number(exitCode) || 0);
  }
  self.reallyExit(Number(exitCode) || 0);
};
// Ends what runs, from the outside: nothing in the program can catch that.
self.reallyExit = function reallyExit(code) {
  os.exit(Number(code) || 0);
  for (;;);
};
self.abort = { abort() { os.abort(); } }.abort;

// Options of the command line that change how this process behaves (lib/run_options.js).
Object.defineProperty(self, Symbol.for('vigil.options'), {
  value: { rejections(wanted) { mode = wanted; }, noWarnings() { os.noWarnings = true; } },
});

function fatal(error, code) {
  let text;
  try {
    text = fatalText(error);
  } catch {
    text = 'Uncaught: an error that cannot be shown\n';
  }
  if (binding.tellParent === undefined) os.write(2, text);
  else binding.tellParent(error);
  os.exit(code);
  for (;;);
}

let captureCallback = null;
self.setUncaughtExceptionCaptureCallback = function (callback) {
  if (callback === null) {
    captureCallback = null;
    return;
  }
  if (typeof callback !== 'function') throw new codes.ERR_INVALID_ARG_TYPE('fn', ['Function', 'null'], callback);
  if (captureCallback !== null) throw new codes.ERR_UNCAUGHT_EXCEPTION_CAPTURE_ALREADY_SET();
  captureCallback = callback;
};
self.hasUncaughtExceptionCaptureCallback = () => captureCallback !== null;

function uncaught(error, origin) {
  let handled = true;
  try {
    self.emit('uncaughtExceptionMonitor', error, origin);
    if (captureCallback !== null) captureCallback(error);
    else handled = self.emit('uncaughtException', error, origin);
  } catch (second) {
    // The handler itself threw: there is nobody left to ask, not even the listeners of `exit`.
    exiting = true;
    fatal(second, 7);
  }
  if (handled) {
    // The ticks that the failed callback left behind need a later callback to follow.
    sched.setImmediate(() => {});
    return;
  }
  endWith(1);
  // A listener of `exit` may have said otherwise, also with 0.
  fatal(error, exitCode === undefined || exitCode === null ? 1 : Number(exitCode));
}
function endWith(code) {
  if (exiting) return;
  exiting = true;
  binding.exiting = true;
  exitCode = code;
  try {
    self.emit('exit', code);
  } catch {
    // The first error is the one to show.
  }
}

// ---- rejections ---------------------------------------------------------------------------------------------------

let mode = 'throw';
let rejections = 0;
const numbers = new WeakMap(); // promise -> the number of its rejection, in warnings
function reasonText(reason) {
  try {
    if (typeof reason === 'object' && reason !== null && !(reason instanceof native.Error)) {
      return reason.constructor?.name ? `#<${reason.constructor.name}>` : '[object Object]';
    }
    return String(reason);
  } catch {
    return '<Object>';
  }
}
const HOW = `This error originated either by throwing inside of an async function without a catch block, or by rejecting a promise which was not handled with .${'catch'}(). ` +
  'To terminate the node process on unhandled promise rejection, use the CLI flag `--unhandled-rejections=strict` ' +
  '(see https://nodejs.org/api/cli.html#cli_unhandled_rejections_mode).';
function warnOf(promise, reason) {
  let text;
  try {
    text = reason instanceof native.Error ? String(reason.stack) : typeof reason === 'object' && reason !== null ? load('inspect').inspect(reason) : String(reason);
  } catch {
    text = '<Object>';
  }
  self.emitWarning(text, 'UnhandledPromiseRejectionWarning');
  const warning = new Error(`Unhandled promise rejection. ${HOW} (rejection id: ${numbers.get(promise)})`);
  warning.name = 'UnhandledPromiseRejectionWarning';
  if (reason instanceof native.Error) {
    try {
      warning.stack = reason.stack;
    } catch {
      // Then it keeps its own.
    }
  }
  self.emitWarning(warning);
}
function rejection(promise, reason) {
  const throwIt = () => {
    let error = reason;
    if (!(reason instanceof native.Error)) {
      error = new codes.ERR_UNHANDLED_REJECTION(reasonText(reason));
      error.stack = error.stack.replace(/^Error \[ERR_UNHANDLED_REJECTION\]/, 'UnhandledPromiseRejection');
      delete error.toString;
      Object.defineProperty(error, 'name', { value: 'UnhandledPromiseRejection', writable: true, configurable: true, enumerable: false });
    }
    uncaught(error, 'unhandledRejection');
  };
  numbers.set(promise, ++rejections);
  const warn = () => warnOf(promise, reason);
  switch (mode) {
    case 'none':
      self.emit('unhandledRejection', reason, promise);
      break;
    case 'warn':
      self.emit('unhandledRejection', reason, promise);
      warn();
      break;
    case 'warn-with-error-code':
      if (!self.emit('unhandledRejection', reason, promise)) {
        warn();
        exitCode = 1;
      }
      break;
    case 'strict':
      throwIt();
      if (!self.emit('unhandledRejection', reason, promise)) warn();
      break;
    default:
      if (!self.emit('unhandledRejection', reason, promise)) throwIt();
  }
}
function handledLate(promise) {
  if (!self.emit('rejectionHandled', promise)) {
    self.emitWarning(`Promise rejection was handled asynchronously (rejection id: ${numbers.get(promise)})`, 'PromiseRejectionHandledWarning');
  }
}
sched.hooks(uncaught, rejection, handledLate);

// ---- signals ------------------------------------------------------------------------------------------------------

const signals = os.signals;
const watched = new Map(); // name -> listeners
self.on('newListener', (name) => {
  if (typeof name !== 'string' || !Object.hasOwn(signals, name)) return;
  if (!watched.has(name)) {
    const result = os.signalWatch(signals[name]);
    if (result < 0) throw load('fserrors').make(result, 'sigaction');
    watched.set(name, true);
  }
});
self.on('removeListener', (name) => {
  if (watched.has(name) && self.listenerCount(name) === 0) {
    os.signalUnwatch(signals[name]);
    watched.delete(name);
  }
});
self._kill = (pid, signal) => os.kill(pid, signal);
self.kill = function kill(pid, signal) {
  if (pid != (pid | 0)) throw new codes.ERR_INVALID_ARG_TYPE('pid', 'number', pid);
  let number = signal;
  if (typeof signal !== 'number') {
    number = signals[signal || 'SIGTERM'];
    if (number === undefined) throw new codes.ERR_UNKNOWN_SIGNAL(signal);
  }
  const result = self._kill(pid | 0, number);
  if (result < 0) {
    const error = load('fserrors').make(result, 'kill');
    error.message = `kill ${error.code}`;
    throw error;
  }
  return true;
};

// ---- standard streams ---------------------------------------------------------------------------------------------

function lazy(name, make) {
  Object.defineProperty(self, name, {
    configurable: true, enumerable: true,
    get() {
      const value = make();
      Object.defineProperty(self, name, { value, configurable: true, enumerable: true, writable: true });
      return value;
    },
    set(value) {
      Object.defineProperty(self, name, { value, configurable: true, enumerable: true, writable: true });
    },
  });
}
lazy('stdout', () => new (load('stdio').Output)(1));
lazy('stderr', () => new (load('stdio').Output)(2));
lazy('stdin', () => new (load('stdin').Input)(0));

// ---- what C calls -------------------------------------------------------------------------------------------------

self[Symbol.for('vigil.host')] = {
  uncaught,
  signal(number) {
    const names = Object.keys(signals);
    for (let i = 0; i < names.length; i++) {
      const name = names[i];
      if (signals[name] === number && watched.has(name)) sched.inScope(self.emit, self, [name, name, number]);
    }
  },
  beforeExit() {
    if (!exiting) self.emit('beforeExit', Number(exitCode) || 0);
  },
  exit() {
    if (!exiting) {
      exiting = true;
      binding.exiting = true;
      // The main module awaits something that nothing will ever settle.
      const stuck = os.modulesPending?.();
      const code = Number(exitCode) || 0;
      if (stuck && exitCode === undefined) {
        exitCode = 13;
        os.write(2, `Warning: Detected unsettled top-level await at ${stuck}\n`);
      }
      self.emit('exit', code); // as in Node, with the code from before
    }
    return Number(exitCode) || 0;
  },
};
Object.defineProperty(self, Symbol.for('vigil.host'), { enumerable: false });
