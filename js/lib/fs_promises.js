// SPDX-License-Identifier: MIT
// node:fs/promises, and the FileHandle.
'use strict';

const fs = load('fs');
const EventEmitter = load('events');
const { AbortError, codes, validateObject, validateString } = load('errors');
const { plans, run, readPlan, writePlan, more } = fs[Symbol.for('vigil.host')];

function later(it) {
  return new Promise((resolve, reject) => {
    run(it, (error, value) => {
      if (error) reject(error);
      else resolve(value);
    });
  });
}

function closed(syscall) {
  const error = new Error('file closed');
  error.code = 'EBADF';
  error.errno = -9;
  error.syscall = syscall;
  return error;
}

const isChunks = (data) => data !== null && typeof data === 'object' && !ArrayBuffer.isView(data) &&
  (typeof data[Symbol.asyncIterator] === 'function' || typeof data[Symbol.iterator] === 'function');
async function writeChunks(handle, chunks, options) {
  const { signal } = options ?? {};
  const encoding = typeof options === 'string' ? options : options?.encoding;
  for await (const chunk of chunks) {
    if (signal?.aborted) throw new AbortError(undefined, { cause: signal.reason });
    let bytes = typeof chunk === 'string' ? load('buffer').Buffer.from(chunk, encoding ?? 'utf8') : chunk;
    if (!ArrayBuffer.isView(bytes)) throw new codes.ERR_INVALID_ARG_TYPE('data', ['string', 'Buffer', 'TypedArray', 'DataView'], chunk);
    bytes = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    while (bytes.length > 0) bytes = bytes.subarray((await handle.write(bytes)).bytesWritten);
  }
}

class FileHandle extends EventEmitter {
  #fd;
  #closing;
  #lent = false; // to a web stream
  constructor(fd) {
    super();
    this.#fd = fd;
  }
  get fd() { return this.#fd; }
  getAsyncId() { return 0; }
  #open(syscall) {
    if (this.#fd < 0) throw closed(syscall);
    return this.#fd;
  }
  close() {
    if (this.#fd < 0) return this.#closing ?? Promise.resolve();
    const fd = this.#fd;
    this.#fd = -1;
    this.#closing = later(plans.close(fd));
    this.emit('close');
    return this.#closing;
  }
  async [Symbol.asyncDispose]() { return this.close(); }
  async read(buffer, offset, length, position) {
    const fd = this.#open('read');
    if (!ArrayBuffer.isView(buffer)) {
      if (arguments.length > 1 || (buffer !== undefined && buffer !== null && typeof buffer !== 'object')) {
        throw new codes.ERR_INVALID_ARG_TYPE('buffer', ['Buffer', 'TypedArray', 'DataView'], buffer);
      }
      ({ buffer = load('buffer').Buffer.alloc(16384), offset, length, position } = buffer ?? {});
    } else if (offset !== null && typeof offset === 'object') {
      ({ offset = 0, length, position = null } = offset);
    }
    if (length === 0) return { __proto__: null, bytesRead: 0, buffer };
    return { __proto__: null, bytesRead: await later(readPlan(fd, buffer, offset, length, position)), buffer };
  }
  async readv(buffers, position) {
    const bytesRead = (await vectors('readv', this.#open('readv'), buffers, position)).bytesRead;
    return { __proto__: null, bytesRead, buffers };
  }
  async write(data, ...args) {
    const fd = this.#open('write');
    if (ArrayBuffer.isView(data) && data.byteLength === 0) return { __proto__: null, bytesWritten: 0, buffer: data };
    return { __proto__: null, bytesWritten: await later(writePlan(fd, data, ...args)), buffer: data };
  }
  async writev(buffers, position) {
    const bytesWritten = (await vectors('writev', this.#open('writev'), buffers, position)).bytesWritten;
    return { __proto__: null, bytesWritten, buffers };
  }
  async readFile(options) { return later(plans.readFile(this.#open('read'), options)); }
  async writeFile(data, options) {
    const fd = this.#open('write');
    if (isChunks(data)) await writeChunks(this, data, options);
    else await later(plans.writeFile(fd, data, options));
  }
  async appendFile(data, options) { return this.writeFile(data, options); }
  async stat(options) { return later(plans.fstat(this.#open('fstat'), options)); }
  async truncate(length) { return later(plans.ftruncate(this.#open('ftruncate'), length)); }
  async sync() { return later(plans.fsync(this.#open('fsync'))); }
  async datasync() { return later(plans.fdatasync(this.#open('fdatasync'))); }
  async chmod(mode) { return later(plans.fchmod(this.#open('fchmod'), mode)); }
  async chown(uid, gid) { return later(plans.fchown(this.#open('fchown'), uid, gid)); }
  async utimes(atime, mtime) { return later(plans.futimes(this.#open('futimes'), atime, mtime)); }
  readLines(options = undefined) {
    return load('readline').createInterface({ input: this.createReadStream(options), crlfDelay: Infinity });
  }
  createReadStream(options = undefined) {
    return new (load('fs_streams').ReadStream)(undefined, { ...options, fd: this });
  }
  createWriteStream(options = undefined) {
    return new (load('fs_streams').WriteStream)(undefined, { ...options, fd: this });
  }
  readableWebStream(options = undefined) {
    if (this.#fd < 0) throw new codes.ERR_INVALID_STATE('The FileHandle is closed');
    if (this.#lent) throw new codes.ERR_INVALID_STATE('The FileHandle is locked');
    if (options !== undefined) validateObject(options, 'options');
    const { type } = options ?? {};
    if (type !== undefined) validateString(type, 'type');
    this.#lent = true;
    const read = (size) => this.read(load('buffer').Buffer.allocUnsafeSlow(size), 0, size);
    return new ReadableStream({
      type: type === 'bytes' ? 'bytes' : undefined,
      autoAllocateChunkSize: type === 'bytes' ? 16384 : undefined,
      pull: async (controller) => {
        const view = controller.byobRequest?.view;
        if (view !== undefined && view !== null) {
          const { bytesRead } = await this.read(view, view.byteOffset, view.byteLength);
          if (bytesRead === 0) controller.close();
          controller.byobRequest.respond(bytesRead);
          return;
        }
        const { bytesRead, buffer } = await read(16384);
        if (bytesRead === 0) controller.close();
        else controller.enqueue(type === 'bytes' ? new Uint8Array(buffer.buffer, 0, bytesRead) : buffer.buffer.slice(0, bytesRead));
      },
    });
  }
}
const vectors = (name, ...args) => fs[name][Symbol.for('nodejs.util.promisify.custom')](...args);

const api = { constants: fs.constants };
for (const name of ['stat', 'lstat', 'mkdir', 'rmdir', 'rm', 'unlink', 'rename', 'readdir', 'realpath', 'readlink', 'symlink', 'link',
                    'chmod', 'chown', 'lchown', 'utimes', 'lutimes', 'access', 'truncate', 'copyFile', 'mkdtemp', 'statfs']) {
  const make = plans[name];
  api[name] = async (...args) => later(make(...args));
  Object.defineProperty(api[name], 'name', { value: name });
}
// A handle, or a file of any other name.
function target(file, syscall) {
  if (!(file instanceof FileHandle)) return file;
  if (file.fd < 0) throw closed(syscall);
  return file.fd;
}
async function writeWhole(file, data, options, flag) {
  if (file instanceof FileHandle) return file.writeFile(data, options);
  if (!isChunks(data)) {
    const it = plans.writeFile(file, data, options, flag);
    return it.flush ? new Promise((resolve, reject) => more.flushed(it, (error) => (error ? reject(error) : resolve()))) : later(it);
  }
  const { signal } = options ?? {};
  if (signal?.aborted) throw new AbortError(undefined, { cause: signal.reason });
  const handle = await api.open(file, options?.flag ?? flag, options?.mode);
  try {
    await writeChunks(handle, data, options);
  } finally {
    await handle.close();
  }
  return undefined;
}
api.open = async function open(file, flags = 'r', mode = 0o666) {
  return new FileHandle(await later(plans.open(file, flags, mode)));
};
api.readFile = function readFile(file, options) {
  try {
    return later(plans.readFile(target(file, 'read'), options));
  } catch (error) {
    return Promise.reject(error);
  }
};
api.writeFile = async function writeFile(file, data, options) {
  return writeWhole(file, data, options, 'w');
};
api.appendFile = async function appendFile(file, data, options) {
  return writeWhole(file, data, options, 'a');
};
api.opendir = more.opendir;
api.cp = more.cp;
api.watch = (file, options) => load('fs_watch').iterate(file, options);
const { readdir } = api;
api.readdir = async (folder, options) => (options?.recursive ? more.deep(folder, options) : readdir(folder, options));
module.exports = api;
