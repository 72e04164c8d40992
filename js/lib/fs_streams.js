// SPDX-License-Identifier: MIT
// fs.createReadStream and fs.createWriteStream: Node's streams over files; reads and writes are made on the pool.
'use strict';

const fs = load('fs');
const { Readable, Writable, finished } = load('stream');
const { codes, validateInteger, validateFunction, validateBoolean } = load('errors');
const { Buffer } = load('buffer');
const { toPath, readNew, read: ownRead } = fs[Symbol.for('vigil.host')];

function optionsOf(options, defaults) {
  if (options === undefined || options === null) return { ...defaults };
  if (typeof options === 'string') options = { encoding: options };
  if (typeof options !== 'object') throw new codes.ERR_INVALID_ARG_TYPE('options', ['string', 'Object'], options);
  const all = { ...defaults };
  for (const name in options) all[name] = options[name]; // inherited ones, too
  if (all.encoding && !Buffer.isEncoding(all.encoding) && all.encoding !== 'buffer') {
    throw new codes.ERR_INVALID_ARG_VALUE('encoding', all.encoding, 'is invalid encoding');
  }
  return all;
}
function checkPlace(value, name) {
  validateInteger(value, name, 0, Number.MAX_SAFE_INTEGER);
  return value;
}

// A descriptor of the program, or one that is opened here. A FileHandle lends its own, and is closed through it.
function adopt(stream, file, options, needed) {
  const handle = options.fd !== null && typeof options.fd === 'object' ? options.fd : undefined;
  stream.path = options.fd === undefined || options.fd === null ? toPath(file) : undefined;
  stream.fd = handle === undefined ? options.fd ?? null : handle.fd;
  stream.flags = options.flags;
  stream.mode = options.mode;
  stream.autoClose = options.autoClose !== false;
  if (options.signal !== undefined) checkSignal(options.signal);
  let calls = options.fs ?? fs; // looked up at each use: programs replace them
  if (options.fs !== undefined && options.fs !== null) {
    if (handle !== undefined) throw new codes.ERR_METHOD_NOT_IMPLEMENTED('FileHandle with fs');
    needed(calls);
  }
  if (handle !== undefined) calls = callsOf(handle, stream);
  Object.defineProperty(stream, kCalls, { value: calls });
  if (stream.fd !== null && handle === undefined) validateInteger(stream.fd, 'fd', 0, 2147483647);
}
function checkSignal(signal) {
  if (signal === null || typeof signal !== 'object' || !('aborted' in signal)) {
    throw new codes.ERR_INVALID_ARG_TYPE('options.signal', 'AbortSignal', signal);
  }
}
function callsOf(handle, stream) {
  handle.on('close', () => stream.close());
  return {
    read: (fd, buffer, offset, length, place, done) =>
      handle.read(buffer, offset, length, place).then(({ bytesRead }) => done(null, bytesRead, buffer), done),
    write: (fd, buffer, offset, length, place, done) =>
      handle.write(buffer, offset, length, place).then(({ bytesWritten }) => done(null, bytesWritten, buffer), done),
    writev: (fd, buffers, place, done) => handle.writev(buffers, place).then(({ bytesWritten }) => done(null, bytesWritten, buffers), done),
    fsync: (fd, done) => handle.sync().then(() => done(null), done),
    close: (fd, done) => handle.close().then(() => done(null), done),
  };
}
const kCalls = Symbol('calls');
const kBusy = Symbol('busy'); // a read or write is on the pool: the descriptor stays open until it is back
const kAfter = Symbol('after');

function construct(callback) {
  if (this.fd !== null) {
    callback();
    return;
  }
  if (this.open !== ownOpen.read && this.open !== ownOpen.write) {
    openOldStyle(this, callback);
    return;
  }
  this[kCalls].open(this.path, this.flags, this.mode, (error, fd) => {
    if (error) {
      callback(error);
      return;
    }
    this.fd = fd;
    callback();
    this.emit('open', fd);
    this.emit('ready');
  });
}
// A program that has an open() of its own says by events how it went.
function openOldStyle(stream, callback) {
  const { emit } = stream;
  stream.emit = function (name, ...args) {
    if (name === 'open') {
      this.emit = emit;
      callback();
      return Reflect.apply(emit, this, [name, ...args]);
    }
    if (name === 'error') {
      this.emit = emit;
      callback(args[0]);
      return true;
    }
    return Reflect.apply(emit, this, [name, ...args]);
  };
  stream.open();
}
// The stream opens itself; these are for those who replace them.
function opener(name) {
  return function open() {
    process.emitWarning(`${name}.prototype.open() is deprecated`, 'DeprecationWarning', 'DEP0135');
  };
}

const ownOpen = { read: opener('ReadStream'), write: opener('WriteStream') };
function close(stream, error, callback) {
  if (stream.fd === null || !stream.autoClose) {
    callback(error);
    return;
  }
  const { fd } = stream;
  const shut = () => {
    stream[kCalls].close(fd, (failed) => callback(error ?? failed));
    stream.fd = null;
  };
  if (stream.flush === true && !error && stream[kCalls].fsync) stream[kCalls].fsync(fd, (failed) => (error = failed ?? error, shut()));
  else shut();
}
function destroy(error, callback) {
  if (this[kBusy]) this[kAfter] = (failed) => close(this, failed ?? error, callback);
  else close(this, error, callback);
}
function back(stream, error) {
  stream[kBusy] = false;
  const after = stream[kAfter];
  if (after === undefined) return false;
  stream[kAfter] = undefined;
  after(error);
  return true;
}
function closeMethod(callback) {
  if (callback !== undefined) {
    validateFunction(callback, 'callback');
    finished(this, (error) => callback(error?.code === 'ERR_STREAM_PREMATURE_CLOSE' ? null : error));
  }
  this.autoClose = true;
  if (this.end !== undefined && this.writableFinished !== undefined && !this.destroyed) this.end();
  else this.destroy();
}

// ---- reading ------------------------------------------------------------------------------------------------------

function ReadStream(file, options = undefined) {
  if (!(this instanceof ReadStream)) return new ReadStream(file, options);
  options = optionsOf(options, { flags: 'r', mode: 0o666, highWaterMark: 65536, emitClose: true });
  options.autoDestroy = options.autoClose !== false;
  adopt(this, file, options, (calls) => {
    for (const name of ['open', 'read', 'close']) validateFunction(calls[name], `options.fs.${name}`);
  });
  this.start = options.start === undefined ? undefined : checkPlace(options.start, 'start');
  this.end = options.end === undefined || options.end === Infinity ? Infinity : checkPlace(options.end, 'end');
  if (this.start !== undefined && this.start > this.end) {
    throw new codes.ERR_OUT_OF_RANGE('start', `<= "end" (here: ${this.end})`, this.start);
  }
  this.pos = this.start;
  this.bytesRead = 0;
  Reflect.apply(Readable, this, [options]);
}
Object.setPrototypeOf(ReadStream.prototype, Readable.prototype);
Object.setPrototypeOf(ReadStream, Readable);
ReadStream.prototype._construct = construct;
ReadStream.prototype._destroy = destroy;
ReadStream.prototype._read = function (wanted) {
  const room = this.end === Infinity ? wanted : Math.min(wanted, this.end - (this.pos ?? this.bytesRead) + 1);
  if (room <= 0) {
    this.push(null);
    return;
  }
  this[kBusy] = true;
  const done = (error, count, buffer) => {
    if (back(this, error)) return;
    if (error) {
      this.destroy(error);
      return;
    }
    if (this.pos !== undefined) this.pos += count;
    this.bytesRead += count;
    this.push(count === 0 ? null : count === buffer.length ? buffer : buffer.subarray(0, count));
  };
  if (this[kCalls] === fs && fs.read === ownRead) {
    readNew(this.fd, room, this.pos ?? -1, (error, data) => done(error, data ? data.length : 0, data));
    return;
  }
  const buffer = Buffer.allocUnsafeSlow(room);
  this[kCalls].read(this.fd, buffer, 0, room, this.pos ?? null, (error, count) => done(error, count, buffer));
};
ReadStream.prototype.close = closeMethod;

// ---- writing ------------------------------------------------------------------------------------------------------

function WriteStream(file, options = undefined) {
  if (!(this instanceof WriteStream)) return new WriteStream(file, options);
  options = optionsOf(options, { flags: options?.start === undefined ? 'w' : 'r+', mode: 0o666, emitClose: true });
  options.decodeStrings = true;
  options.autoDestroy = options.autoClose !== false;
  adopt(this, file, options, (calls) => {
    validateFunction(calls.open, 'options.fs.open');
    if (!calls.write && !calls.writev) throw new codes.ERR_INVALID_ARG_TYPE('options.fs.write', 'Function', calls.write);
    for (const name of ['write', 'writev', 'fsync']) if (calls[name]) validateFunction(calls[name], `options.fs.${name}`);
    validateFunction(calls.close, 'options.fs.close');
  });
  if (options.flush !== undefined && options.flush !== null) validateBoolean(options.flush, 'options.flush');
  this.flush = options.flush === true;
  if (!this[kCalls].writev) this._writev = null;
  if (!this[kCalls].write) this._write = null;
  this.start = options.start === undefined ? undefined : checkPlace(options.start, 'start');
  this.pos = this.start;
  this.bytesWritten = 0;
  Reflect.apply(Writable, this, [options]);
  if (options.encoding) this.setDefaultEncoding(options.encoding);
}
Object.setPrototypeOf(WriteStream.prototype, Writable.prototype);
Object.setPrototypeOf(WriteStream, Writable);
WriteStream.prototype._construct = construct;
WriteStream.prototype._destroy = destroy;
function writeAll(stream, data, callback) {
  stream[kBusy] = true;
  stream[kCalls].write(stream.fd, data, 0, data.byteLength, stream.pos ?? null, (error, count) => {
    if (error) {
      if (!back(stream, error)) callback(error);
      return;
    }
    stream.bytesWritten += count;
    if (stream.pos !== undefined) stream.pos += count;
    if (count < data.byteLength && stream[kAfter] === undefined) writeAll(stream, data.subarray(count), callback);
    else if (!back(stream, null)) callback();
  });
}
WriteStream.prototype._write = function (data, encoding, callback) {
  writeAll(this, data, callback);
};
// Many small chunks that waited go out as one.
WriteStream.prototype._writev = function (chunks, callback) {
  const buffers = chunks.map(({ chunk }) => chunk);
  this[kBusy] = true;
  this[kCalls].writev(this.fd, buffers, this.pos ?? null, (error, count) => {
    if (error) {
      if (!back(this, error)) callback(error);
      return;
    }
    this.bytesWritten += count;
    if (this.pos !== undefined) this.pos += count;
    const rest = Buffer.concat(buffers).subarray(count);
    if (rest.length > 0 && this[kAfter] === undefined && this[kCalls].write) writeAll(this, rest, callback);
    else if (!back(this, null)) callback();
  });
};
WriteStream.prototype.close = closeMethod;
WriteStream.prototype.destroySoon = WriteStream.prototype.end;

ReadStream.prototype.open = ownOpen.read;
WriteStream.prototype.open = ownOpen.write;
for (const Stream of [ReadStream, WriteStream]) {
  Object.defineProperty(Stream.prototype, 'pending', { configurable: true, get() { return this.fd === null; } });
}
function createReadStream(file, options) {
  return new ReadStream(file, options);
}
function createWriteStream(file, options) {
  return new WriteStream(file, options);
}
module.exports = {
  ReadStream, WriteStream, FileReadStream: ReadStream, FileWriteStream: WriteStream, createReadStream, createWriteStream,
};
