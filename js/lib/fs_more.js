// SPDX-License-Identifier: MIT
// What fs builds out of its other calls: folders read deeply or entry by entry, copies of whole trees, lists of buffers.
'use strict';

const path = load('path');
const { codes, validateFunction } = load('errors');

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

// ---- lists of buffers ---------------------------------------------------------------------------------------------

function eachBuffer(fs, verb, fd, buffers, position) {
  let total = 0;
  for (const buffer of buffers) {
    const done = fs[verb](fd, buffer, 0, buffer.byteLength, typeof position === 'number' ? position + total : null);
    total += done;
    if (done < buffer.byteLength) break;
  }
  return total;
}

function install(fs, toPath) {
  const callbackForm = (run) => function (...args) {
    const callback = args.pop();
    validateFunction(callback, 'cb');
    run(...args).then((value) => process.nextTick(callback, null, value), (error) => process.nextTick(callback, error));
  };
  const later = {
    opendir: async (folder, options) => new Dir(toPath(folder), await fs.promises.readdir(folder, { ...options, withFileTypes: true })),
    cp: async (from, to, options) => cp(fs, toPath(from, 'src'), toPath(to, 'dest'), options),
  };
  for (const name of Object.keys(later)) fs[name] = callbackForm(later[name]);
  fs.opendirSync = (folder, options) => {
    try {
      return new Dir(toPath(folder), fs.readdirSync(folder, { ...options, withFileTypes: true }));
    } catch (error) {
      if (error.syscall === 'scandir') {
        error.syscall = 'opendir';
        error.message = error.message.replace('scandir', 'opendir');
      }
      throw error;
    }
  };
  fs.cpSync = (from, to, options) => cpSync(fs, toPath(from, 'src'), toPath(to, 'dest'), options);
  fs.readvSync = (fd, buffers, position) => eachBuffer(fs, 'readSync', fd, buffers, position);
  fs.writevSync = (fd, buffers, position) => eachBuffer(fs, 'writeSync', fd, buffers, position);
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
  return { ...later, deep: (folder, options) => deep(fs, toPath(folder), options) };
}

module.exports = { install, Dir };
