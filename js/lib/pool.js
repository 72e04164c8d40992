// SPDX-License-Identifier: MIT
// vigil:pool: work that is worth a thread, on the pool, in a class of the program's choice. See docs/js.md.
//
// Every function returns a promise and takes options last: priority ('critical', 'high', 'normal', 'low', 'idle'), signal
// (an AbortSignal) and timeout (milliseconds). Aborted before it has started, the work never runs; aborted while it runs,
// its result is dropped. The promise is rejected with the signal's reason at once in both cases.
'use strict';

const { codes, validateAbortSignal, validateInteger, validateString } = load('errors');
const { make: systemError } = load('fserrors');
const native = binding.pool();

const { work: KIND, priority } = load('constants');
const priorities = Object.freeze(Object.keys(priority));
const MAX_OUTPUT = 2 ** 31 - 1;

// ---- arguments ----------------------------------------------------------------------------------------------------

function toData(value, name) {
  if (typeof value === 'string') return value;
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  throw new codes.ERR_INVALID_ARG_TYPE(name, ['string', 'ArrayBuffer', 'Buffer', 'TypedArray', 'DataView'], value);
}
function toDigest(name) {
  validateString(name, 'algorithm');
  const plain = name.toLowerCase();
  if (native.digestLength(plain) === 0) {
    throw new codes.ERR_INVALID_ARG_VALUE('algorithm', name, `must be one of ${native.digests.join(', ')}`);
  }
  return plain;
}
function toOptions(options) {
  if (options === undefined || options === null) return {};
  if (typeof options !== 'object') throw new codes.ERR_INVALID_ARG_TYPE('options', 'Object', options);
  validateAbortSignal(options.signal, 'options.signal');
  if (options.priority !== undefined && !priorities.includes(options.priority)) {
    throw new codes.ERR_INVALID_ARG_VALUE('options.priority', options.priority, `must be one of ${priorities.join(', ')}`);
  }
  if (options.timeout !== undefined) validateInteger(options.timeout, 'options.timeout', 0, 2 ** 31 - 1);
  if (options.encoding !== undefined && !load('buffer').Buffer.isEncoding(options.encoding)) {
    throw new codes.ERR_INVALID_ARG_VALUE('options.encoding', options.encoding, 'is invalid encoding');
  }
  return options;
}

// ---- running ------------------------------------------------------------------------------------------------------

function failure(what, status, message, from) {
  if (message === '') return systemError(status, what, from);
  const [code] = binding.errorName(-status);
  return Object.assign(new Error(`${what}: ${message}`), { errno: status, code });
}
function bytes(value, { encoding }) {
  const buffer = load('buffer').fromBytes(value);
  return encoding === undefined ? buffer : buffer.toString(encoding);
}

// Hand it over; `args` are copied before this returns.
function submit(what, kind, task, args, options, finish, from) {
  const { signal, timeout, priority = 'normal' } = options;
  if (signal?.aborted) return Promise.reject(signal.reason);
  return new Promise((resolve, reject) => {
    let settled = false;
    let timer;
    const settle = (how, value) => {
      if (settled) return;
      settled = true;
      if (timer !== undefined) clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      how(value);
    };
    const onAbort = () => {
      native.cancel(id);
      settle(reject, signal.reason);
    };
    const id = binding.expect((value, message) => {
      if (settled) return;
      if (message !== undefined) {
        settle(reject, failure(what, value, message, from));
        return;
      }
      try {
        settle(resolve, finish === undefined ? value : finish(value, options));
      } catch (error) {
        settle(reject, error);
      }
    });
    const begun = native.later(id, priorities.indexOf(priority), kind, task, ...args);
    if (begun < 0) {
      process.nextTick(() => binding.finishNow(id, begun, ''));
      return;
    }
    signal?.addEventListener('abort', onAbort, { once: true });
    if (timeout !== undefined) {
      timer = setTimeout(() => {
        native.cancel(id);
        settle(reject, new DOMException('The operation was aborted due to timeout', 'TimeoutError'));
      }, timeout);
      timer.unref(); // the work itself keeps the loop alive
    }
  });
}
// Wrong arguments reject, as everything else that goes wrong does.
function guarded(name, body) {
  return { async [name](...args) { return body(...args); } }[name];
}
function absent(name, library) {
  return guarded(name, () => {
    const error = new Error(`vigil:pool's ${name} is not in this build, because ${library} was missing; install it and build again`);
    error.code = 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM';
    throw error;
  });
}

// ---- digests and keys ---------------------------------------------------------------------------------------------

function withKey(options) {
  return options.key === undefined ? undefined : toData(options.key, 'options.key');
}
const crypto = {
  hash(data, algorithm = 'sha256', options) {
    options = toOptions(options);
    return submit('hash', KIND.hash, 0, [toDigest(algorithm), toData(data, 'data'), withKey(options)], options, bytes);
  },
  hashFile(path, algorithm = 'sha256', options) {
    options = toOptions(options);
    path = load('fs')[Symbol.for('vigil.host')].toPath(path);
    return submit('open', KIND.hashFile, 0, [toDigest(algorithm), path, withKey(options)], options, bytes, path);
  },
  hmac(data, key, algorithm = 'sha256', options) {
    options = toOptions(options);
    return submit('hmac', KIND.hash, 0, [toDigest(algorithm), toData(data, 'data'), toData(key, 'key')], options, bytes);
  },
  pbkdf2(password, salt, iterations, length, algorithm = 'sha256', options) {
    options = toOptions(options);
    validateInteger(iterations, 'iterations', 1, 2 ** 31 - 1);
    validateInteger(length, 'length', 1, 2 ** 20);
    return submit('pbkdf2', KIND.pbkdf2, 0,
                  [toDigest(algorithm), toData(password, 'password'), toData(salt, 'salt'), iterations, length], options, bytes);
  },
  scrypt(password, salt, length, options) {
    options = toOptions(options);
    const { cost = 16384, parallelization = 1 } = options;
    validateInteger(length, 'length', 1, 2 ** 20);
    validateInteger(cost, 'options.cost', 2, 2 ** 24);
    validateInteger(parallelization, 'options.parallelization', 1, 2 ** 10);
    if ((cost & (cost - 1)) !== 0) throw new codes.ERR_INVALID_ARG_VALUE('options.cost', cost, 'must be a power of two');
    toDigest('sha256');
    return submit('scrypt', KIND.scrypt, 0,
                  [toData(password, 'password'), toData(salt, 'salt'), cost, parallelization, length], options, bytes);
  },
};

// ---- packing ------------------------------------------------------------------------------------------------------

// zlib's window bits: 15, +16 for gzip's format, +32 to take either, negative for neither.
function packer(name, bits) {
  return (data, options) => {
    options = toOptions(options);
    const { level = 6 } = options;
    validateInteger(level, 'options.level', -1, 9);
    return submit(name, KIND.deflate, 0, [toData(data, 'data'), level, bits], options, bytes);
  };
}
function unpacker(name, bits) {
  return (data, options) => {
    options = toOptions(options);
    const { maxOutputLength = MAX_OUTPUT } = options;
    validateInteger(maxOutputLength, 'options.maxOutputLength', 1, MAX_OUTPUT);
    return submit(name, KIND.inflate, 0, [toData(data, 'data'), bits, maxOutputLength], options, bytes);
  };
}
const zip = {
  gzip: packer('gzip', 31), gunzip: unpacker('gunzip', 31), deflate: packer('deflate', 15), inflate: unpacker('inflate', 15),
  deflateRaw: packer('deflateRaw', -15), inflateRaw: unpacker('inflateRaw', -15), unzip: unpacker('unzip', 47),
};

// ---- the embedder's tasks -----------------------------------------------------------------------------------------

function toDatum(value, i) {
  if (value === undefined || value === null || typeof value === 'boolean' || typeof value === 'number') return value;
  return toData(value, `arguments[${i}]`);
}
const run = guarded('run', (name, args = [], options = undefined) => {
  validateString(name, 'name');
  const known = native.tasks();
  if (!Object.hasOwn(known, name)) {
    const names = Object.keys(known);
    throw new codes.ERR_INVALID_ARG_VALUE('name', name, names.length === 0 ? 'has no meaning: this program has exposed no task'
      : `must be one of ${names.join(', ')}`);
  }
  if (!Array.isArray(args)) throw new codes.ERR_INVALID_ARG_TYPE('arguments', 'Array', args);
  options = toOptions(options);
  return submit(name, KIND.exposed, known[name], args.map(toDatum), options,
                (value) => value instanceof Uint8Array ? bytes(value, options) : value);
});
const tasks = new Proxy(Object.create(null), {
  has: (target, name) => Object.hasOwn(native.tasks(), name),
  ownKeys: () => Object.keys(native.tasks()),
  getOwnPropertyDescriptor: (target, name) => Object.hasOwn(native.tasks(), name)
    ? { value: tasks[name], enumerable: true, configurable: true } : undefined,
  get: (target, name) => typeof name === 'string' && Object.hasOwn(native.tasks(), name)
    ? (...args) => run(name, args) : undefined,
});

// ---- the pool -----------------------------------------------------------------------------------------------------

module.exports = {
  run, tasks, priorities,
  algorithms: () => [...native.digests],
  stats: () => native.stats(),
  resize(workers) {
    validateInteger(workers, 'workers', 1, 1024);
    const status = native.resize(workers);
    if (status < 0) throw systemError(status, 'resize');
  },
};
for (const name of Object.keys(crypto)) {
  module.exports[name] = native.digests.length > 0 ? guarded(name, crypto[name]) : absent(name, 'libgcrypt');
}
for (const name of Object.keys(zip)) module.exports[name] = native.hasZip ? guarded(name, zip[name]) : absent(name, 'zlib');
Object.defineProperty(module.exports, 'workers', { enumerable: true, get: () => native.workers() });
// For lib/crypto_native.js.
Object.defineProperty(module.exports, Symbol.for('vigil.host'), { value: { submit } });
