// SPDX-License-Identifier: MIT
// node:fs: the synchronous calls run here, the others on the pool. Every asynchronous call takes two options more than Node's:
// priority ('critical', 'high', 'normal', 'low', 'idle') and signal. A call that is aborted before it started never starts;
// readFile, writeFile and copyFile also stop between two pieces of a megabyte.
'use strict';

const { codes, AbortError, validateFunction, validateInteger, validateBoolean, validateAbortSignal } = load('errors');
const { make: systemError } = load('fserrors');
const { fsNow, fsLater, fsCancel } = binding;
const { name: nameNow } = load('sched');
const path = load('path');

const { fsOp: OP, priority: PRIORITY } = load('constants');
const constants = { ...binding.fsConstants(), COPYFILE_EXCL: 1, COPYFILE_FICLONE: 2, COPYFILE_FICLONE_FORCE: 4 };
const FLAGS = flagTable(constants);
function flagTable({ O_RDONLY, O_WRONLY, O_RDWR, O_CREAT, O_EXCL, O_TRUNC, O_APPEND, O_SYNC }) {
  const w = O_WRONLY | O_CREAT | O_TRUNC;
  const rw = O_RDWR | O_CREAT | O_TRUNC;
  const a = O_WRONLY | O_CREAT | O_APPEND;
  const ra = O_RDWR | O_CREAT | O_APPEND;
  return {
    r: O_RDONLY, rs: O_RDONLY | O_SYNC, sr: O_RDONLY | O_SYNC, 'r+': O_RDWR, 'rs+': O_RDWR | O_SYNC, 'sr+': O_RDWR | O_SYNC,
    w, wx: w | O_EXCL, xw: w | O_EXCL, 'w+': rw, 'wx+': rw | O_EXCL, 'xw+': rw | O_EXCL,
    a, ax: a | O_EXCL, xa: a | O_EXCL, as: a | O_SYNC, sa: a | O_SYNC,
    'a+': ra, 'ax+': ra | O_EXCL, 'xa+': ra | O_EXCL, 'as+': ra | O_SYNC, 'sa+': ra | O_SYNC,
  };
}

// ---- arguments ----------------------------------------------------------------------------------------------------

function toPath(value, name = 'path') {
  if (value instanceof Uint8Array) {
    if (value.includes(0)) throw new codes.ERR_INVALID_ARG_VALUE(name, value, 'must be a string, Uint8Array, or URL without null bytes');
    // Names need not be UTF-8: then they stay bytes.
    return binding.utf8Valid(value) ? binding.utf8Decode(value) : asBuffer(value.slice());
  }
  if (typeof value === 'object' && value !== null && value.href !== undefined && value.protocol !== undefined) {
    value = load('url').fileURLToPath(value);
  }
  if (typeof value !== 'string') throw new codes.ERR_INVALID_ARG_TYPE(name, ['string', 'Buffer', 'URL'], value);
  if (value.includes('\0')) {
    throw new codes.ERR_INVALID_ARG_VALUE(name, value, 'must be a string, Uint8Array, or URL without null bytes');
  }
  return value;
}
function toFd(fd, name = 'fd') {
  validateInteger(fd, name, 0, 2147483647);
  return fd;
}
const isFd = (value) => typeof value === 'number' && (value | 0) === value && value >= 0;
function toFlags(flags, fallback) {
  if (flags === undefined || flags === null) return fallback;
  if (typeof flags === 'number') return flags;
  if (!Object.hasOwn(FLAGS, flags)) throw new codes.ERR_INVALID_ARG_VALUE('flags', flags);
  return FLAGS[flags];
}
function toMode(mode, fallback, name = 'mode') {
  if (mode === undefined || mode === null) mode = fallback;
  if (typeof mode === 'string') {
    if (!/^[0-7]+$/.test(mode)) {
      throw new codes.ERR_INVALID_ARG_VALUE(name, mode, 'must be a 32-bit unsigned integer or an octal string');
    }
    return parseInt(mode, 8);
  }
  validateInteger(mode, name, 0, 4294967295);
  return mode;
}
function toSeconds(value, name = 'time') {
  if (typeof value === 'string' && +value == value) return +value;
  if (Number.isFinite(value)) return value < 0 ? Date.now() / 1000 : value;
  if (value instanceof Date) return value.getTime() / 1000;
  throw new codes.ERR_INVALID_ARG_TYPE(name, ['Date', 'Time in seconds'], value);
}
function toOwner(id, name) {
  validateInteger(id, name, -1, 4294967295);
  return id;
}
function flushes(options) {
  const flush = options.flush ?? false;
  validateBoolean(flush, 'options.flush');
  return flush;
}
function toOptions(options, defaults) {
  if (options === undefined || options === null || typeof options === 'function') return { __proto__: null, ...defaults };
  if (typeof options === 'string') options = { encoding: options };
  else if (typeof options !== 'object') throw new codes.ERR_INVALID_ARG_TYPE('options', ['string', 'Object'], options);
  if (options.encoding != null && options.encoding !== 'buffer' && !load('buffer').Buffer.isEncoding(options.encoding)) {
    throw new codes.ERR_INVALID_ARG_VALUE('encoding', options.encoding, 'is invalid encoding');
  }
  return { __proto__: null, ...defaults, ...options };
}
function isUtf8(encoding) {
  return encoding === 'utf8' || encoding === 'utf-8';
}
function asBuffer(bytes) {
  return load('buffer').fromBytes(bytes);
}
// What is to be written: bytes, or a text that C encodes on its way.
function toBytes(data, encoding) {
  if (typeof data === 'string') {
    if (typeof encoding !== 'string' || isUtf8(encoding)) return data;
    return load('buffer').Buffer.from(data, encoding);
  }
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  throw new codes.ERR_INVALID_ARG_TYPE('data', ['string', 'Buffer', 'TypedArray', 'DataView'], data);
}

// ---- results ------------------------------------------------------------------------------------------------------

// Stats, BigIntStats, StatFs and Dirent; a program that only reads files has no use for them.
const results = () => load('fs_results');
function statsOf(v, options) {
  return options?.bigint ? results().bigStats(v) : results().stats(v);
}

// Pairs of name and type, by name.
function inOrder(flat) {
  const order = [];
  for (let i = 0; i < flat.length; i += 2) order.push([flat[i], flat[i + 1]]);
  return order.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0)).flat();
}
// A name as C gives it (rawNames) in the encoding that was asked for.
function rawNames(options) {
  return options.encoding === undefined || options.encoding === null || isUtf8(options.encoding) ? 0 : 1;
}
function nameIn(options, text) {
  if (typeof text !== 'string' || rawNames(options) === 0) return text;
  const bytes = load('buffer').Buffer.from(text, 'latin1');
  return options.encoding === 'buffer' ? bytes : bytes.toString(options.encoding);
}
function entriesOf(flat, options, folder) {
  const list = [];
  flat = inOrder(flat);
  for (let i = 0; i < flat.length; i += 2) {
    const name = nameIn(options, flat[i]);
    list.push(options.withFileTypes ? new (results().Dirent)(name, flat[i + 1], folder) : name);
  }
  return list;
}

// ---- running ------------------------------------------------------------------------------------------------------

// A plan says what to do: [operation, path, path2, n1, n2, n3, bytes], what it is called in errors, and what its result is.
function plan(name, args, finish, options, from, to) {
  return { name, args, finish, options, from, to };
}
function errorOf(it, number) {
  if (number === -125) return new AbortError(undefined, { cause: it.options?.signal?.reason });
  // A folder can be opened; what fails is the read.
  if (it.reading && number === -21) return systemError(number, 'read');
  if (it.name === 'rm' && number === -21) {
    const error = new codes.ERR_FS_EISDIR(`Path is a directory: rm returned EISDIR (is a directory) ${it.from}`);
    error.name = 'SystemError';
    return Object.assign(error, { errno: 21, syscall: 'rm', path: it.from });
  }
  // Node looks first.
  if ((it.name === 'rm' || it.name === 'realpath') && number === -2) return systemError(number, 'lstat', it.from);
  return systemError(number, it.name, it.from, it.to);
}
function runSync(it) {
  const result = Reflect.apply(fsNow, undefined, it.args);
  if (typeof result === 'number' && result < 0) throw errorOf(it, result);
  return it.finish ? it.finish(result) : undefined;
}
function priorityOf(options) {
  const wanted = options?.priority;
  if (wanted === undefined) return PRIORITY.normal;
  if (!Object.hasOwn(PRIORITY, wanted)) {
    throw new codes.ERR_INVALID_ARG_VALUE('options.priority', wanted, `must be one of ${Object.keys(PRIORITY).join(', ')}`);
  }
  return PRIORITY[wanted];
}
function conclude(it, result, callback) {
  nameNow(callback);
  if (typeof result === 'number' && result < 0) {
    callback(errorOf(it, result));
    return;
  }
  if (it.finish === undefined) {
    callback(null);
    return;
  }
  let value;
  try {
    value = it.finish(result);
  } catch (error) {
    callback(error);
    return;
  }
  callback(null, value);
}
function begin(it, priority, id) {
  const { args } = it;
  const begun = it.reading ? fsLater(id, priority, args[0], args[1], args[2], args[3], args[4], args[5])
    : Reflect.apply(fsLater, undefined, [id, priority].concat(args));
  if (begun === 0) return true;
  process.nextTick(() => binding.finishNow(id, begun));
  return false;
}
function run(it, callback) {
  const signal = it.options?.signal;
  const priority = priorityOf(it.options);
  if (signal === undefined) begin(it, priority, binding.expect((result) => conclude(it, result, callback)));
  else runUntil(it, callback, signal, priority);
}
function runUntil(it, callback, signal, priority) {
  validateAbortSignal(signal, 'options.signal');
  if (signal.aborted) {
    process.nextTick(() => callback(errorOf(it, -125)));
    return;
  }
  const onAbort = () => fsCancel(id);
  const id = binding.expect((result) => {
    signal.removeEventListener('abort', onAbort);
    // Aborted after it was done, but before anybody heard of it: still aborted.
    conclude(it, signal.aborted ? -125 : result, callback);
  });
  if (begin(it, priority, id)) signal.addEventListener('abort', onAbort, { once: true });
}

// ---- the plans ----------------------------------------------------------------------------------------------------

const READ_WHOLE = { __proto__: null, encoding: null, flag: 'r' };
const LINK_ITSELF = 1; // of chown and utimes: a symbolic link is not followed
let warnedOfX = false;
let warnedOfRecursive = false;
let warnedOfTruncate = false;
function rmdirDeep(file, options) {
  if (!warnedOfRecursive) {
    warnedOfRecursive = true;
    process.emitWarning('In future versions of Node.js, fs.rmdir(path, { recursive: true }) will be removed. ' +
                        'Use fs.rm(path, { recursive: true }) instead', 'DeprecationWarning', 'DEP0147');
  }
  const found = fs.lstatSync(file, { throwIfNoEntry: false });
  return found?.isDirectory() ? plans.rm(file, { ...options, recursive: true }) : plan('rmdir', [OP.rmdir, file], undefined, options, file);
}

// For mkdir: `a/../b` makes a, too, because nobody else would find b by that name.
const whole = (file) => (/(^|\/)\.\.(\/|$)/.test(file) ? (path.isAbsolute(file) ? file : `${process.cwd()}/${file}`) : path.resolve(file));
const plans = {
  open(file, flags, mode) {
    file = toPath(file);
    return plan('open', [OP.open, file, undefined, toFlags(flags, 0), toMode(mode, 0o666)], (fd) => fd, undefined, file);
  },
  close: (fd) => plan('close', [OP.close, undefined, undefined, toFd(fd)]),
  stat(file, options) {
    file = toPath(file);
    return plan('stat', [OP.stat, file], (v) => statsOf(v, options), options, file);
  },
  lstat(file, options) {
    file = toPath(file);
    return plan('lstat', [OP.lstat, file], (v) => statsOf(v, options), options, file);
  },
  fstat: (fd, options) => plan('fstat', [OP.fstat, undefined, undefined, toFd(fd)], (v) => statsOf(v, options), options),
  readFile(file, options) {
    options = options === undefined ? READ_WHOLE : toOptions(options, READ_WHOLE);
    const byFd = isFd(file);
    if (!byFd) file = toPath(file);
    const { encoding } = options;
    const text = isUtf8(encoding);
    const args = [OP.readFile, byFd ? undefined : file, undefined, byFd ? file : 0, toFlags(options.flag, 0), text ? 1 : 0];
    const finish = text ? (data) => data : encoding && encoding !== 'buffer' ? (data) => asBuffer(data).toString(encoding) : asBuffer;
    const it = plan('open', args, finish, options, byFd ? undefined : file);
    it.reading = true;
    return it;
  },
  writeFile(file, data, options, flag = 'w') {
    options = toOptions(options, { encoding: 'utf8', mode: 0o666, flag });
    const flush = flushes(options);
    const byFd = isFd(file);
    if (!byFd) file = toPath(file);
    const it = plan('open', [OP.writeFile, byFd ? undefined : file, undefined, byFd ? file : 0, toFlags(options.flag ?? flag, FLAGS.w),
                             toMode(options.mode, 0o666), toBytes(data, options.encoding)], undefined, options, byFd ? undefined : file);
    it.flush = flush;
    return it;
  },
  mkdir(file, options) {
    if (typeof options === 'number' || typeof options === 'string') options = { mode: options };
    file = toPath(file);
    const recursive = options?.recursive ?? false;
    validateBoolean(recursive, 'options.recursive');
    return plan('mkdir', [OP.mkdir, recursive ? whole(file) : file, undefined, toMode(options?.mode, 0o777), recursive ? 1 : 0],
                (made) => (recursive && made !== 0 ? made : undefined), options, file);
  },
  rmdir(file, options) {
    file = toPath(file);
    if (options?.recursive) return rmdirDeep(file, options);
    return plan('rmdir', [OP.rmdir, file], undefined, options, file);
  },
  rm(file, options) {
    file = toPath(file);
    return plan('rm', [OP.rm, file, undefined, options?.recursive ? 1 : 0, options?.force ? 1 : 0], undefined, options, file);
  },
  unlink(file) {
    file = toPath(file);
    return plan('unlink', [OP.unlink, file], undefined, undefined, file);
  },
  rename(from, to) {
    from = toPath(from, 'oldPath');
    to = toPath(to, 'newPath');
    return plan('rename', [OP.rename, from, to], undefined, undefined, from, to);
  },
  readdir(file, options) {
    options = toOptions(options, { encoding: 'utf8', withFileTypes: false });
    file = toPath(file);
    return plan('scandir', [OP.readdir, file, undefined, 0, 0, rawNames(options)], (flat) => entriesOf(flat, options, file), options, file);
  },
  realpath(file, options) {
    file = toPath(file);
    options = toOptions(options, { encoding: 'utf8' });
    return plan('realpath', [OP.realpath, file, undefined, 0, 0, rawNames(options)], (text) => nameIn(options, text), options, file);
  },
  readlink(file, options) {
    file = toPath(file);
    options = toOptions(options, { encoding: 'utf8' });
    return plan('readlink', [OP.readlink, file, undefined, 0, 0, rawNames(options)], (text) => nameIn(options, text), options, file);
  },
  symlink(target, file, type) {
    if (type !== undefined && type !== null && !['dir', 'file', 'junction'].includes(type)) throw new codes.ERR_FS_INVALID_SYMLINK_TYPE(type);
    target = toPath(target, 'target');
    file = toPath(file);
    return plan('symlink', [OP.symlink, target, file], undefined, undefined, target, file);
  },
  link(from, to) {
    from = toPath(from, 'existingPath');
    to = toPath(to, 'newPath');
    return plan('link', [OP.link, from, to], undefined, undefined, from, to);
  },
  chmod(file, mode) {
    file = toPath(file);
    return plan('chmod', [OP.chmod, file, undefined, toMode(mode)], undefined, undefined, file);
  },
  fchmod(fd, mode) {
    toFd(fd);
    return plan('fchmod', [OP.chmod, undefined, undefined, toMode(mode), fd]);
  },
  chown(file, uid, gid) {
    file = toPath(file);
    return plan('chown', [OP.chown, file, undefined, toOwner(uid, 'uid'), toOwner(gid, 'gid')], undefined, undefined, file);
  },
  lchown(file, uid, gid) {
    file = toPath(file);
    return plan('lchown', [OP.chown, file, undefined, toOwner(uid, 'uid'), toOwner(gid, 'gid'), LINK_ITSELF], undefined, undefined, file);
  },
  fchown(fd, uid, gid) {
    toFd(fd);
    return plan('fchown', [OP.chown, undefined, undefined, toOwner(uid, 'uid'), toOwner(gid, 'gid'), fd]);
  },
  statfs(file, options) {
    file = toPath(file);
    return plan('statfs', [OP.statfs, file], (v) => results().statFs(v, options), options, file);
  },
  utimes(file, atime, mtime) {
    file = toPath(file);
    return plan('utime', [OP.utimes, file, undefined, toSeconds(atime), toSeconds(mtime)], undefined, undefined, file);
  },
  lutimes(file, atime, mtime) {
    file = toPath(file);
    return plan('lutime', [OP.utimes, file, undefined, toSeconds(atime), toSeconds(mtime), LINK_ITSELF], undefined, undefined, file);
  },
  futimes(fd, atime, mtime) {
    toFd(fd);
    return plan('futime', [OP.utimes, undefined, undefined, toSeconds(atime), toSeconds(mtime), fd]);
  },
  access(file, mode = 0) {
    file = toPath(file);
    validateInteger(mode, 'mode', 0, 7);
    return plan('access', [OP.access, file, undefined, mode], undefined, undefined, file);
  },
  truncate(file, length = 0) {
    if (typeof file === 'number') {
      if (!warnedOfTruncate) {
        warnedOfTruncate = true;
        process.emitWarning('Using fs.truncate with a file descriptor is deprecated. Please use fs.ftruncate with a file descriptor instead.',
                            'DeprecationWarning', 'DEP0081');
      }
      return plans.ftruncate(file, length ?? 0);
    }
    file = toPath(file);
    validateInteger(length, 'len');
    return plan('open', [OP.truncate, file, undefined, Math.max(0, length)], undefined, undefined, file);
  },
  ftruncate(fd, length = 0) {
    toFd(fd);
    validateInteger(length, 'len');
    return plan('ftruncate', [OP.ftruncate, undefined, undefined, fd, Math.max(0, length)]);
  },
  fsync: (fd) => plan('fsync', [OP.fsync, undefined, undefined, toFd(fd), 0]),
  fdatasync: (fd) => plan('fdatasync', [OP.fsync, undefined, undefined, toFd(fd), 1]),
  copyFile(from, to, mode = 0, options = undefined) {
    from = toPath(from, 'src');
    to = toPath(to, 'dest');
    validateInteger(mode, 'mode', 0, 7);
    return plan('copyfile', [OP.copyFile, from, to, mode], undefined, options, from, to);
  },
  mkdtemp(prefix, options) {
    options = toOptions(options, { encoding: 'utf8' });
    prefix = toPath(prefix, 'prefix');
    if (prefix.endsWith('X') && !warnedOfX) {
      warnedOfX = true;
      process.emitWarning('mkdtemp() templates ending with X are not portable. For details see: https://nodejs.org/api/fs.html');
    }
    return plan('mkdtemp', [OP.mkdtemp, prefix, undefined, 0, 0, rawNames(options)], (text) => nameIn(options, text), options, `${prefix}XXXXXX`);
  },
};

// read(fd, buffer, offset, length, position) and write, with their many forms.
function span(buffer, offset, length) {
  if (!ArrayBuffer.isView(buffer)) throw new codes.ERR_INVALID_ARG_TYPE('buffer', ['Buffer', 'TypedArray', 'DataView'], buffer);
  offset ??= 0;
  validateInteger(offset, 'offset', 0);
  length ??= buffer.byteLength - offset;
  validateInteger(length, 'length');
  if (offset > buffer.byteLength) throw new codes.ERR_OUT_OF_RANGE('offset', `<= ${buffer.byteLength}`, offset);
  if (length < 0) throw new codes.ERR_OUT_OF_RANGE('length', '>= 0', length);
  if (offset + length > buffer.byteLength) throw new codes.ERR_OUT_OF_RANGE('length', `<= ${buffer.byteLength - offset}`, length);
  return new Uint8Array(buffer.buffer, buffer.byteOffset + offset, length);
}
function place(position, length = 0) {
  if (position === undefined || position === null) return -1;
  if (typeof position === 'bigint') {
    const most = 2n ** 63n - 1n - BigInt(length);
    if (position < -1n || position > most) throw new codes.ERR_OUT_OF_RANGE('position', `>= -1 && <= ${most}`, position);
    return Math.min(Number(position), 2 ** 62);
  }
  if (typeof position !== 'number') throw new codes.ERR_INVALID_ARG_TYPE('position', ['integer', 'bigint'], position);
  validateInteger(position, 'position', -1);
  return position;
}
function readPlan(fd, buffer, offset, length, position) {
  toFd(fd);
  if (offset !== null && typeof offset === 'object') ({ offset = 0, length, position = null } = offset);
  if (ArrayBuffer.isView(buffer) && buffer.byteLength === 0 && length !== 0) throw new codes.ERR_INVALID_ARG_VALUE('buffer', buffer, 'is empty and cannot be written');
  const bytes = span(buffer, offset, length);
  return plan('read', [OP.read, undefined, undefined, fd, 0, place(position, bytes.length), bytes], (n) => n);
}
// Up to `length` bytes as a Buffer of their own, which nobody has to clear or to copy; 0 at the end of the file.
function readNew(fd, length, position, callback) {
  run(plan('read', [OP.readNew, undefined, undefined, fd, length, position], (data) => (data === 0 ? 0 : asBuffer(data))), callback);
}
function writePlan(fd, data, offset, length, position) {
  toFd(fd);
  if (typeof data !== 'string' && !ArrayBuffer.isView(data)) {
    throw new codes.ERR_INVALID_ARG_TYPE('buffer', ['string', 'Buffer', 'TypedArray', 'DataView'], data);
  }
  if (typeof data === 'string') {
    return plan('write', [OP.write, undefined, undefined, toFd(fd), 0, place(offset), toBytes(data, length)], (n) => n);
  }
  if (offset !== null && typeof offset === 'object') ({ offset = 0, length, position = null } = offset);
  return plan('write', [OP.write, undefined, undefined, toFd(fd), 0, place(position), span(data, offset, length)], (n) => n);
}

// ---- the three faces ----------------------------------------------------------------------------------------------

const fs = module.exports = { constants, F_OK: 0, R_OK: 4, W_OK: 2, X_OK: 1 };
fs._toUnixTimestamp = toSeconds; // packages use it

for (const name of Object.keys(plans)) {
  const make = plans[name];
  fs[`${name}Sync`] = function (...args) {
    const it = Reflect.apply(make, undefined, args);
    if (it.flush) return more.flushedSync(it);
    if (args[1]?.throwIfNoEntry === false) {
      const result = Reflect.apply(fsNow, undefined, it.args);
      if (result === -2) return undefined;
      if (typeof result === 'number' && result < 0) throw errorOf(it, result);
      return it.finish(result);
    }
    return runSync(it);
  };
  fs[name] = function (...args) {
    const callback = args.length > 1 || typeof args[0] === 'function' ? args.pop() : undefined;
    // close() alone may go without: then an error is thrown.
    if (typeof callback !== 'function' && (name !== 'close' || callback !== undefined)) throw new codes.ERR_INVALID_ARG_TYPE('cb', 'Function', callback);
    const it = Reflect.apply(make, undefined, args);
    if (it.flush) more.flushed(it, callback);
    else run(it, callback ?? ((error) => { if (error) throw error; }));
  };
  Object.defineProperty(fs[name], 'name', { value: name });
  Object.defineProperty(fs[`${name}Sync`], 'name', { value: `${name}Sync` });
}
fs.appendFile = function appendFile(file, data, options, callback = options) {
  validateFunction(callback, 'cb');
  const it = plans.writeFile(file, data, typeof options === 'function' ? undefined : options, 'a');
  if (it.flush) more.flushed(it, callback);
  else run(it, callback);
};
fs.appendFileSync = function appendFileSync(file, data, options) {
  const it = plans.writeFile(file, data, options, 'a');
  if (it.flush) more.flushedSync(it);
  else runSync(it);
};
fs.existsSync = (file) => {
  try {
    return fsNow(OP.access, toPath(file), undefined, 0) === 0;
  } catch {
    return false;
  }
};
fs.exists = function exists(file, callback) {
  validateFunction(callback, 'cb');
  try {
    fs.access(file, 0, (error) => callback(!error));
  } catch {
    process.nextTick(callback, false);
  }
};
Object.defineProperty(fs.exists, Symbol.for('nodejs.util.promisify.custom'), {
  value: function exists(file) { return new Promise((resolve) => fs.exists(file, resolve)); },
});
fs.readSync = (fd, buffer, offset, length, position) => runSync(readPlan(fd, buffer, offset, length, position));
fs.writeSync = (fd, data, offset, length, position) => runSync(writePlan(fd, data, offset, length, position));
fs.read = (fd, ...args) => {
  toFd(fd);
  const callback = args.pop();
  validateFunction(callback, 'cb');
  let buffer = args[0];
  let offset = args[1];
  let length = args[2];
  let position = args[3];
  if (args.length < 2 && !ArrayBuffer.isView(buffer)) {
    const options = buffer ?? {};
    if (typeof options !== 'object') throw new codes.ERR_INVALID_ARG_TYPE('options', 'Object', options);
    ({ buffer = load('buffer').Buffer.alloc(16384), offset, length, position } = options);
  } else if (args.length === 2 && offset !== null && typeof offset !== 'object' && offset !== undefined) {
    throw new codes.ERR_INVALID_ARG_TYPE('options', 'Object', offset);
  }
  run(readPlan(fd, buffer, offset, length, position), (error, count) => callback(error, count ?? 0, buffer));
};
fs.write = (fd, data, ...args) => {
  const callback = args.pop();
  validateFunction(callback, 'cb');
  run(writePlan(fd, data, args[0], args[1], args[2]), (error, count) => callback(error, count ?? 0, data));
};
const promisified = Symbol.for('nodejs.util.promisify.custom');
for (const [name, count] of [['read', 'bytesRead'], ['write', 'bytesWritten']]) {
  Object.defineProperty(fs[name], promisified, {
    configurable: true,
    value: (...args) => new Promise((resolve, reject) => {
      fs[name](...args, (error, number, buffer) => (error ? reject(error) : resolve({ [count]: number, buffer })));
    }),
  });
}
fs.realpath.native = fs.realpath;
fs.realpathSync.native = fs.realpathSync;
const more = load('fs_more').install(fs, toPath, { run, runSync, toOptions });
const LAZY = {
  createReadStream: 'fs_streams', createWriteStream: 'fs_streams', ReadStream: 'fs_streams', WriteStream: 'fs_streams',
  FileReadStream: 'fs_streams', FileWriteStream: 'fs_streams',
  watch: 'fs_watch', watchFile: 'fs_watch', unwatchFile: 'fs_watch', Stats: 'fs_results', Dirent: 'fs_results',
  readv: 'fs_vectors', writev: 'fs_vectors', readvSync: 'fs_vectors', writevSync: 'fs_vectors',
};
for (const name of Object.keys(LAZY)) {
  Object.defineProperty(fs, name, {
    enumerable: true, configurable: true,
    get() {
      const value = load(LAZY[name])[name];
      Object.defineProperty(fs, name, { value, enumerable: true, configurable: true, writable: true });
      return value;
    },
    set(value) {
      Object.defineProperty(fs, name, { value, enumerable: true, configurable: true, writable: true });
    },
  });
}
Object.defineProperty(fs, 'promises', { enumerable: true, configurable: true, get: () => load('fs_promises') });
Object.defineProperty(fs, Symbol.for('vigil.host'), { value: { plans, run, runSync, readPlan, writePlan, readNew, read: fs.read, statsOf, plan, place, toFd, toOptions, toFlags, toPath, more } });
