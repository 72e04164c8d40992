// SPDX-License-Identifier: MIT
// What fs builds out of its other calls: folders read deeply or entry by entry, copies of whole trees, lists of buffers.
'use strict';

const path = load('path');
const { codes, validateFunction, validateInteger, validateBoolean, validateObject } = load('errors');

// ---- deep ---------------------------------------------------------------------------------------------------------

// Relative names, a folder's own entries before those of its folders, as Node gives them.
function relative(root, entry) {
  return path.join(path.relative(root, entry.parentPath), entry.name);
}
function deepSync(fs, folder, options) {
  const found = [];
  const queue = [folder];
  while (queue.length > 0) {
    for (const entry of fs.readdirSync(queue.shift(), { withFileTypes: true })) {
      found.push(options.withFileTypes ? entry : relative(folder, entry));
      if (entry.isDirectory()) queue.push(path.join(entry.parentPath, entry.name));
    }
  }
  return found;
}
async function deep(fs, folder, options) {
  const found = [];
  const queue = [folder];
  while (queue.length > 0) {
    for (const entry of await fs.promises.readdir(queue.shift(), { ...options, recursive: false, withFileTypes: true })) {
      found.push(options.withFileTypes ? entry : relative(folder, entry));
      if (entry.isDirectory()) queue.push(path.join(entry.parentPath, entry.name));
    }
  }
  return found;
}

// ---- entry by entry -----------------------------------------------------------------------------------------------

class Dir {
  #entries;
  #closed = false;
  constructor(folder, entries) {
    if (folder === undefined) throw new codes.ERR_MISSING_ARGS('handle');
    Object.defineProperty(this, 'path', { value: folder, enumerable: true });
    this.#entries = entries;
  }
  #check() {
    if (this.#closed) throw new codes.ERR_DIR_CLOSED();
  }
  readSync() {
    this.#check();
    return this.#entries.shift() ?? null;
  }
  read(callback) {
    if (callback === undefined) return new Promise((resolve) => resolve(this.readSync()));
    validateFunction(callback, 'callback');
    this.#check();
    process.nextTick(callback, null, this.readSync());
    return undefined;
  }
  closeSync() {
    this.#check();
    this.#closed = true;
  }
  close(callback) {
    if (callback === undefined) return new Promise((resolve) => resolve(this.closeSync()));
    validateFunction(callback, 'callback');
    this.closeSync();
    process.nextTick(callback, null);
    return undefined;
  }
  async* entries() {
    try {
      for (let entry; (entry = this.readSync()) !== null;) yield entry;
    } finally {
      if (!this.#closed) this.closeSync();
    }
  }
  [Symbol.asyncIterator]() { return this.entries(); }
}

// ---- trees --------------------------------------------------------------------------------------------------------

function copyError(code, message) {
  const error = new Error(message);
  error.code = code;
  return error;
}
// The steps of a copy, which both faces take: yields [call, arguments], and is given the results.
function* copySteps(from, to, options) {
  if (options.filter !== undefined && !(yield ['filter', from, to])) return;
  const source = yield [options.dereference ? 'stat' : 'lstat', from];
  const target = yield ['lookup', to];
  if (source.isDirectory()) {
    if (!options.recursive) {
      throw copyError('ERR_FS_EISDIR', `Recursive option not enabled, cannot copy a directory: ${from}`);
    }
    if (target !== undefined && !target.isDirectory()) {
      throw copyError('ERR_FS_CP_DIR_TO_NON_DIR', `Cannot overwrite non-directory with directory: ${to}`);
    }
    if (target === undefined) yield ['mkdir', to, { recursive: true }];
    for (const name of yield ['readdir', from]) yield* copySteps(path.join(from, name), path.join(to, name), options);
    return;
  }
  if (target?.isDirectory()) {
    throw copyError('ERR_FS_CP_NON_DIR_TO_DIR', `Cannot overwrite directory with non-directory: ${to}`);
  }
  if (target !== undefined) {
    if (options.errorOnExist && options.force === false) throw copyError('ERR_FS_CP_EEXIST', `Target already exists: ${to}`);
    if (options.force === false) return;
    yield ['unlink', to];
  } else {
    yield ['mkdir', path.dirname(to), { recursive: true }];
  }
  if (source.isSymbolicLink()) yield ['symlink', yield ['readlink', from], to];
  else yield ['copyFile', from, to, options.mode ?? 0];
  if (options.preserveTimestamps) yield ['utimes', to, source.atime, source.mtime];
}
function checkTree(from, to) {
  if (path.resolve(to).startsWith(`${path.resolve(from)}/`) || path.resolve(from) === path.resolve(to)) {
    throw copyError('ERR_FS_CP_EINVAL', `Cannot copy ${from} to a subdirectory of self ${to}`);
  }
}
function copyOptions(options = {}) {
  validateObject(options, 'options');
  for (const name of ['dereference', 'errorOnExist', 'force', 'preserveTimestamps', 'recursive', 'verbatimSymlinks']) {
    if (options[name] !== undefined) validateBoolean(options[name], `options.${name}`);
  }
  if (options.dereference === true && options.verbatimSymlinks === true) {
    throw new codes.ERR_INCOMPATIBLE_OPTION_PAIR('dereference', 'verbatimSymlinks');
  }
  if (options.mode !== undefined) validateInteger(options.mode, 'options.mode', 0, 7);
  if (options.filter !== undefined) validateFunction(options.filter, 'options.filter');
  return options;
}
function cpSync(fs, from, to, options = {}) {
  checkTree(from, to);
  const steps = copySteps(from, to, options);
  for (let step = steps.next(); !step.done;) {
    const [call, ...args] = step.value;
    if (call === 'filter') step = steps.next(options.filter(...args));
    else if (call === 'lookup') step = steps.next(fs.lstatSync(args[0], { throwIfNoEntry: false }));
    else step = steps.next(fs[`${call}Sync`](...args));
  }
}
async function cp(fs, from, to, options = {}) {
  checkTree(from, to);
  const steps = copySteps(from, to, options);
  for (let step = steps.next(); !step.done;) {
    const [call, ...args] = step.value;
    if (call === 'filter') {
      step = steps.next(await options.filter(...args));
    } else if (call === 'lookup') {
      step = steps.next(await fs.promises.lstat(args[0]).catch((error) => {
        if (error.code !== 'ENOENT') throw error;
      }));
    } else {
      step = steps.next(await fs.promises[call](...args));
    }
  }
}

// ---- files that are on the disk before the call is over ----------------------------------------------------------------

// The plan of a writeFile, on a descriptor: [operation, path, path2, fd, flags, mode, bytes].
const onto = (it, fd) => ({ ...it, args: [it.args[0], undefined, undefined, fd, ...it.args.slice(4)], from: undefined, name: 'write' });
const ownFile = (it) => it.args[1] !== undefined;

function install(fs, toPath, { run, runSync, toOptions }) {
  const callbackForm = (run) => function (...args) {
    const callback = args.pop();
    validateFunction(callback, 'cb');
    run(...args).then((value) => process.nextTick(callback, null, value), (error) => process.nextTick(callback, error));
  };
  const later = {
    opendir: async (folder, options) => {
      try {
        return new Dir(toPath(folder), await fs.promises.readdir(folder, opendirOptions(options)));
      } catch (error) {
        throw opened(error);
      }
    },
    cp: async (from, to, options) => cp(fs, toPath(from, 'src'), toPath(to, 'dest'), copyOptions(options)),
  };
  fs.opendir = function opendir(folder, options, callback = options) {
    validateFunction(callback, 'callback');
    toPath(folder);
    if (options === callback) options = undefined;
    opendirOptions(options);
    callbackForm(later.opendir)(folder, options, callback);
  };
  fs.cp = function cp(from, to, options, callback = options) {
    validateFunction(callback, 'cb');
    if (options === callback) options = undefined;
    copyOptions(options);
    toPath(from, 'src');
    toPath(to, 'dest');
    callbackForm(later.cp)(from, to, options, callback);
  };
  function opendirOptions(options) {
    const { bufferSize = 32, ...rest } = toOptions(options, { encoding: 'utf8' });
    validateInteger(bufferSize, 'options.bufferSize', 1, 4294967295);
    return { ...rest, withFileTypes: true };
  }
  const opened = (error) => {
    if (error.syscall === 'scandir') {
      error.syscall = 'opendir';
      error.message = error.message.replace('scandir', 'opendir');
    }
    return error;
  };
  fs.opendirSync = function opendirSync(folder, options) {
    try {
      return new Dir(toPath(folder), fs.readdirSync(folder, opendirOptions(options)));
    } catch (error) {
      throw opened(error);
    }
  };
  fs.cpSync = (from, to, options) => cpSync(fs, toPath(from, 'src'), toPath(to, 'dest'), copyOptions(options));
  const readdirSync = fs.readdirSync;
  fs.readdirSync = function (folder, options) {
    return options?.recursive ? deepSync(fs, toPath(folder), options) : readdirSync(folder, options);
  };
  const readdir = fs.readdir;
  fs.readdir = function (folder, options, callback = options) {
    if (options?.recursive) callbackForm((...args) => deep(fs, ...args))(toPath(folder), options, callback);
    else readdir(...arguments);
  };
  fs.Dir = Dir;
  function flushedSync(it) {
    const fd = ownFile(it) ? fs.openSync(it.args[1], it.args[4], it.args[5]) : it.args[3];
    try {
      runSync(onto(it, fd));
      fs.fsyncSync(fd);
    } finally {
      if (ownFile(it)) fs.closeSync(fd);
    }
  }
  function flushed(it, callback) {
    const write = (fd) => run(onto(it, fd), (error) => {
      if (error) finish(fd, error);
      else fs.fsync(fd, (failed) => finish(fd, failed));
    });
    const finish = (fd, error) => {
      if (ownFile(it)) fs.close(fd, (failed) => callback(error ?? failed ?? null));
      else callback(error ?? null);
    };
    if (!ownFile(it)) write(it.args[3]);
    else fs.open(it.args[1], it.args[4], it.args[5], (error, fd) => (error ? callback(error) : write(fd)));
  }
  return { ...later, flushed, flushedSync, deep: (folder, options) => deep(fs, toPath(folder), options) };
}

module.exports = { install, Dir };
