// SPDX-License-Identifier: MIT
// The first thing that runs: the inner loader, the globals, and `dispatch`, through which C enters.
//
// Evaluates to a function of the binding (what C offers) that returns dispatch(kind, a, b, c).
(function (binding) {
'use strict';

// The engine does not have these yet; Node does.
for (const name of ['dispose', 'asyncDispose']) {
  if (Symbol[name] === undefined) Object.defineProperty(Symbol, name, { value: Symbol(`Symbol.${name}`) });
}

const cache = Object.create(null);
// The library's own files are programs that see `module`, `binding` and `load` (tool/embed.c writes that around them); the npm files among
// them are plain CommonJS.
function load(name) {
  const known = cache[name];
  if (known !== undefined) return known.exports;
  const module = cache[name] = { exports: {} };
  if (name.startsWith('npm:')) return loadPackage(name.slice(4), module);
  if (!binding.part(name, { module, binding, load })) throw new Error(`the host has no part called '${name}'`);
  return module.exports;
}

// A class that nobody has loaded has no instances.
binding.isLoaded = (name) => cache[name] !== undefined;

// Tell a channel of node:diagnostics_channel, if somebody has loaded that and listens.
binding.publish = (name, message) => {
  if (cache.diagnostics_channel === undefined) return;
  const channel = cache.diagnostics_channel.exports.channel(name);
  if (channel.hasSubscribers) channel.publish(message);
};

// The formatter asks of every object whether it is a URL: as long as nobody has loaded that class, none is.
class StandIn {
  static [Symbol.hasInstance](value) {
    return cache.url !== undefined && value instanceof cache.url.exports.URL;
  }
}

// The formatter remembers proxies that it made itself; the engine knows them all. (It does not tell the handler.)
class Proxies {
  get(value) {
    const target = binding.proxyTarget(value);
    return target === undefined ? undefined : [target, {}];
  }
  set() {}
}

const OURS = { buffer: 'buffer', events: 'events', 'process/': 'process', 'string_decoder/': 'string_decoder' };
// The engine has no shared memory. Packages that look for it find a class without instances.
class SharedArrayBuffer {
  get byteLength() { throw new TypeError('not shared'); }
  get growable() { throw new TypeError('not shared'); }
}
// Parts of ours that stand in for a package of which little is needed.
const INSTEAD = { '@exodus/bytes/encoding.js': 'url_percent', '@exodus/bytes/whatwg.js': 'url_percent' };

// "whatwg-url" or "whatwg-url/lib/x.js": a file of an npm package that was built in.
function loadPackage(name, module) {
  let file = name;
  let text = binding.source(`npm/${file}`);
  if (text === undefined) {
    const main = binding.packageMains[name];
    if (main === undefined) throw new Error(`this build has no '${name}'; run scripts/setup js and build again`);
    file = `${name}/${main}`;
    const known = cache[`npm:${file}`];
    if (known !== undefined) return known.exports;
    cache[`npm:${file}`] = module;
    text = binding.source(`npm/${file}`);
  }
  if (file.endsWith('.json')) {
    module.exports = JSON.parse(text);
    return module.exports;
  }
  const home = file.slice(0, file.lastIndexOf('/'));
  const require = (wanted) => {
    // Node's streams work on this host's events, buffers and ticks, and not on copies of Node's.
    if (file.startsWith('readable-stream/') && Object.hasOwn(OURS, wanted)) return load(OURS[wanted]);
    if (file.startsWith('amaro/') && (wanted === 'util' || wanted === 'node:buffer')) return load(wanted.replace('node:', ''));
    if (Object.hasOwn(INSTEAD, wanted)) return load(INSTEAD[wanted]);
    if (!wanted.startsWith('.')) return load(`npm:${wanted.replace(/\/$/, '')}`);
    const parts = home.split('/');
    const steps = wanted.split('/');
    for (let i = 0; i < steps.length; i++) {
      const part = steps[i];
      if (part === '..') parts.pop();
      else if (part !== '.') parts.push(part);
    }
    const path = parts.join('/');
    return load(`npm:${binding.source(`npm/${path}`) === undefined ? `${path}.js` : path}`);
  };
  // Long lists are not searched for other properties.
  if (file.startsWith('node-inspect')) text = text.replace(/getOwnNonIndexProperties:function\((\w+)\)\{/, '$&if($safe.plainList($1))return[];');
  if (file.startsWith('node-inspect')) text = text.replace(/(\w+)\((\w+),"constructor"\)/g, '($safe.maker($2)||$1($2,"constructor"))');
  // It tries all methods of Map and Set; those that a program has added may answer anything.
  if (file.startsWith('node-inspect')) text = text.replaceAll('Symbol.iterator in(', 'Symbol.iterator in Object(');
  // Buffer as a function, and with `new`: lib/buffer.js knows how Node does that.
  if (file === 'buffer/index.js') text = text.replace('function Buffer (arg, encodingOrOffset, length) {', '$&\n  if (!(arg instanceof ArrayBuffer)) return Buffer["vigil:old"](arg, encodingOrOffset, length)');
  // Between the two ticks a write would overtake those that wait for the stream to be open. Node 20 has one.
  if (file === 'readable-stream/lib/internal/streams/destroy.js') text = text.replace('process.nextTick(emitConstructNT, stream)', 'emitConstructNT(stream)');
  let shadow = '';
  let given = [];
  if (file.startsWith('node-inspect')) {
    const short = load('inspect_short');
    text = short.into(text);
    shadow = ', $safe, URL, WeakMap, $short';
    given = [binding.safe, StandIn, Proxies, short];
  } else if (file.startsWith('whatwg-url') || file.startsWith('webidl')) {
    shadow = ', SharedArrayBuffer';
    given = [SharedArrayBuffer];
  }
  binding.compile(`(function (module, exports, require${shadow}) {${text}\n})`, `vigil:npm/${file}`, 1)
    .call(module.exports, module, module.exports, require, ...given);
  return module.exports;
}

// ---- globals ------------------------------------------------------------------------------------------------------

function define(name, value, enumerable = false) {
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable });
}
function lazily(names, part, pick = (exports, name) => exports[name], enumerable = false) {
  for (const name of names) {
    Object.defineProperty(globalThis, name, {
      configurable: true, enumerable,
      get() {
        const value = pick(load(part), name);
        define(name, value, enumerable);
        return value;
      },
      set(value) {
        define(name, value, enumerable);
      },
    });
  }
}

load('errors').install();
define('global', globalThis);
const sched = load('sched');
for (const name of ['clearImmediate', 'setImmediate', 'clearInterval', 'clearTimeout', 'setInterval', 'setTimeout', 'queueMicrotask']) {
  define(name, sched[name], true);
}
// The promise forms, without loading them before somebody asks.
for (const name of ['setTimeout', 'setImmediate']) {
  Object.defineProperty(sched[name], Symbol.for('nodejs.util.promisify.custom'), {
    enumerable: true,
    get: () => load('timers_promises')[name],
  });
}
const process = load('process');
Object.defineProperty(globalThis, 'process', { value: process, writable: true, configurable: true, enumerable: false });
lazily(['console'], 'console', (exports) => exports);
binding.wasm = globalThis.WebAssembly;
if (binding.wasm !== undefined) lazily(['WebAssembly'], 'wasm');
for (const [part, names] of Object.entries(binding.globals)) {
  lazily(names.split(' '), part, undefined, part === 'clone' || part === 'perf');
}
Object.defineProperty(globalThis, Symbol.toStringTag, { value: 'global', configurable: true });

binding.onRejection(sched.onRejection);
binding.onStorm(sched.wakeStorm);

// ---- what C enters through ----------------------------------------------------------------------------------------

const host = process[Symbol.for('vigil.host')];
const context = load('context');
const completions = []; // what waits for C: functions by number
const free = [];
binding.expect = (callback) => {
  const at = free.length > 0 ? free.pop() : completions.length;
  completions[at] = context.active ? context.bound(callback, 'FSREQCALLBACK') : callback;
  return at;
};
// C could not begin it after all.
binding.finishNow = (at, result) => {
  const callback = completions[at];
  completions[at] = undefined;
  free.push(at);
  callback(result);
};
function complete(at, a, b) {
  const callback = completions[at];
  completions[at] = undefined;
  free.push(at);
  return sched.inScope(callback, undefined, [a, b]);
}

// A function that C calls while no JavaScript is on the stack: the call and its checkpoint are one crossing. If that ends the program, C
// finds the result here. After an error C makes the checkpoint.
const entered = { returned: false, value: undefined };
binding.entered = entered;
binding.enter = (callback, self, ...args) => {
  const value = Reflect.apply(callback, self, args);
  entered.value = value;
  entered.returned = true;
  sched.close();
  entered.returned = false;
  entered.value = undefined;
  return value;
};

// What C waits for, and the modules that the program gives to its scripts.
const { apply } = Reflect;
const { resolve, prototype: { then } } = Promise;
binding.awaitFor = (value, onFulfilled, onRejected) => {
  apply(then, apply(resolve, Promise, [value]), [onFulfilled, onRejected]);
};
binding.modules = { __proto__: null };
binding.getTime = Date.prototype.getTime;

const KIND = load('constants').dispatch;
function main(run) {
  try {
    if (binding.worker.number() !== 0) load('worker_threads')[Symbol.for('vigil.host')].begin();
    else if (binding.envGet('NODE_CHANNEL_FD') !== undefined) load('child_channel').begin();
    run();
  } catch (error) {
    // Unlike after other callbacks, the ticks follow at once.
    host.uncaught(error, 'uncaughtException');
  }
  return sched.close();
}
return function dispatch(kind, a, b, c) {
  switch (kind) {
    case KIND.CLOSE:
      return sched.closeInSteps();
    case KIND.TIMERS:
      return sched.timersPhase();
    case KIND.IMMEDIATES:
      return sched.immediatesPhase();
    case KIND.COMPLETE:
      return complete(a, b, c);
    case KIND.CALL:
      return sched.inScope(a, b, c);
    case KIND.EVENT:
      return sched.inScope(a, undefined, [b, c]);
    case KIND.UNWOUND:
      sched.unwound();
      return 0;
    case KIND.CHECKPOINT:
      return sched.close();
    case KIND.SIGNAL:
      host.signal(a);
      return 0;
    case KIND.SHUTDOWN:
      return sched.inScope(host.closeServers, undefined, []);
    case KIND.BEFORE_EXIT:
      return sched.inScope(host.beforeExit, undefined, []);
    case KIND.EXIT:
      try {
        return host.exit();
      } catch (error) {
        host.uncaught(error, 'uncaughtException');
        return 0;
      }
    case KIND.FILE:
      return main(() => load('modules')[Symbol.for('vigil.host')].runMain(a));
    case KIND.TEXT:
      return main(() => load('modules')[Symbol.for('vigil.host')].runText(a, b));
    default:
      throw new Error(`dispatch: there is no kind ${kind}`);
  }
};
})
