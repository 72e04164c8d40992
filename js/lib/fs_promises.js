// SPDX-License-Identifier: MIT
// node:fs/promises, and the FileHandle.
'use strict';

const fs = load('fs');
const EventEmitter = load('events');
const { plans, run, readPlan, writePlan, more } = fs[Symbol.for('vigil.host')];

function later(it) {
  return new Promise((resolve, reject) => {
    run(it, (error, value) => {
      if (error) reject(error);
      else resolve(value);
    });
  });
}

function closed() {
  const error = new Error('file closed');
  error.code = 'EBADF';
  error.errno = -9;
  error.syscall = 'FileHandle';
  return error;
}

class FileHandle extends EventEmitter {
  #fd;
  constructor(fd) {
    super();
    this.#fd = fd;
  }
  get fd() { return this.#fd; }
  #open() {
    if (this.#fd < 0) throw closed();
    return this.#fd;
  }
  async close() {
    if (this.#fd < 0) return;
    const fd = this.#fd;
    this.#fd = -1;
    await later(plans.close(fd));
    this.emit('close');
  }
  async [Symbol.asyncDispose]() { return this.close(); }
  async read(buffer, offset, length, position) {
    if (!ArrayBuffer.isView(buffer)) {
      const options = buffer ?? {};
      buffer = options.buffer ?? load('buffer').Buffer.alloc(16384);
      ({ offset, length, position } = options);
    }
    return { __proto__: null, bytesRead: await later(readPlan(this.#open(), buffer, offset, length, position)), buffer };
  }
  async write(data, ...args) {
    return { __proto__: null, bytesWritten: await later(writePlan(this.#open(), data, ...args)), buffer: data };
  }
  async readFile(options) { return later(plans.readFile(this.#open(), options)); }
  async writeFile(data, options) { return later(plans.writeFile(this.#open(), data, options)); }
  async appendFile(data, options) { return later(plans.writeFile(this.#open(), data, options)); }
  async stat(options) { return later(plans.fstat(this.#open(), options)); }
  async truncate(length) { return later(plans.ftruncate(this.#open(), length)); }
  async sync() { return later(plans.fsync(this.#open())); }
  async datasync() { return later(plans.fdatasync(this.#open())); }
  async chmod(mode) { return later(plans.fchmod(this.#open(), mode)); }
  async utimes(atime, mtime) { return later(plans.futimes(this.#open(), atime, mtime)); }
  createReadStream(options = undefined) {
    this.#open();
    return new (load('fs_streams').ReadStream)(undefined, { ...options, fd: this });
  }
  createWriteStream(options = undefined) {
    this.#open();
    return new (load('fs_streams').WriteStream)(undefined, { ...options, fd: this });
  }
}

const api = { constants: fs.constants };
for (const name of ['stat', 'lstat', 'mkdir', 'rmdir', 'rm', 'unlink', 'rename', 'readdir', 'realpath', 'readlink', 'symlink', 'link',
                    'chmod', 'chown', 'utimes', 'access', 'truncate', 'copyFile', 'mkdtemp']) {
  const make = plans[name];
  api[name] = async (...args) => later(make(...args));
  Object.defineProperty(api[name], 'name', { value: name });
}
const target = (file) => (file instanceof FileHandle ? file.fd : file);
api.open = async function open(file, flags = 'r', mode = 0o666) {
  return new FileHandle(await later(plans.open(file, flags, mode)));
};
api.readFile = async function readFile(file, options) {
  return later(plans.readFile(target(file), options));
};
api.writeFile = async function writeFile(file, data, options) {
  return later(plans.writeFile(target(file), data, options));
};
api.appendFile = async function appendFile(file, data, options) {
  return later(plans.writeFile(target(file), data, options, 'a'));
};
api.opendir = more.opendir;
api.cp = more.cp;
api.watch = (file, options) => load('fs_watch').iterate(file, options);
const { readdir } = api;
api.readdir = async (folder, options) => (options?.recursive ? more.deep(folder, options) : readdir(folder, options));
module.exports = api;
