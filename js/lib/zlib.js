// SPDX-License-Identifier: MIT
// node:zlib: gzip, deflate and raw deflate, at once, as callbacks and as streams. Work that is not "Sync" is done on the pool.
// Brotli is there if the build has it; Zstandard is not.
'use strict';

const { Transform, finished } = load('stream');
const { codes, validateFunction } = load('errors');
const { Buffer, kMaxLength } = load('buffer');
const { zipOpen, zipNow, zipLater, zipReset, zipParams, zipCrc32 } = binding;

const constants = {
  Z_NO_FLUSH: 0, Z_PARTIAL_FLUSH: 1, Z_SYNC_FLUSH: 2, Z_FULL_FLUSH: 3, Z_FINISH: 4, Z_BLOCK: 5,
  Z_OK: 0, Z_STREAM_END: 1, Z_NEED_DICT: 2, Z_ERRNO: -1, Z_STREAM_ERROR: -2, Z_DATA_ERROR: -3, Z_MEM_ERROR: -4, Z_BUF_ERROR: -5,
  Z_VERSION_ERROR: -6,
  Z_NO_COMPRESSION: 0, Z_BEST_SPEED: 1, Z_BEST_COMPRESSION: 9, Z_DEFAULT_COMPRESSION: -1,
  Z_FILTERED: 1, Z_HUFFMAN_ONLY: 2, Z_RLE: 3, Z_FIXED: 4, Z_DEFAULT_STRATEGY: 0,
  DEFLATE: 1, INFLATE: 2, GZIP: 3, GUNZIP: 4, DEFLATERAW: 5, INFLATERAW: 6, UNZIP: 7,
  Z_MIN_WINDOWBITS: 8, Z_MAX_WINDOWBITS: 15, Z_DEFAULT_WINDOWBITS: 15,
  Z_MIN_CHUNK: 64, Z_MAX_CHUNK: Infinity, Z_DEFAULT_CHUNK: 16384,
  BROTLI_DECODE: 8, BROTLI_ENCODE: 9,
  BROTLI_OPERATION_PROCESS: 0, BROTLI_OPERATION_FLUSH: 1, BROTLI_OPERATION_FINISH: 2, BROTLI_OPERATION_EMIT_METADATA: 3,
  BROTLI_PARAM_MODE: 0, BROTLI_MODE_GENERIC: 0, BROTLI_MODE_TEXT: 1, BROTLI_MODE_FONT: 2, BROTLI_DEFAULT_MODE: 0,
  BROTLI_PARAM_QUALITY: 1, BROTLI_MIN_QUALITY: 0, BROTLI_MAX_QUALITY: 11, BROTLI_DEFAULT_QUALITY: 11,
  BROTLI_PARAM_LGWIN: 2, BROTLI_MIN_WINDOW_BITS: 10, BROTLI_MAX_WINDOW_BITS: 24, BROTLI_DEFAULT_WINDOW: 22,
  BROTLI_DECODER_NO_ERROR: 0, BROTLI_DECODER_SUCCESS: 1, BROTLI_DECODER_NEEDS_MORE_INPUT: 2, BROTLI_DECODER_NEEDS_MORE_OUTPUT: 3, BROTLI_DECODER_ERROR: 0,
  Z_MIN_MEMLEVEL: 1, Z_MAX_MEMLEVEL: 9, Z_DEFAULT_MEMLEVEL: 8, Z_MIN_LEVEL: -1, Z_MAX_LEVEL: 9, Z_DEFAULT_LEVEL: -1,
};
const results = {};
for (const name of ['Z_OK', 'Z_STREAM_END', 'Z_NEED_DICT', 'Z_ERRNO', 'Z_STREAM_ERROR', 'Z_DATA_ERROR', 'Z_MEM_ERROR', 'Z_BUF_ERROR',
                    'Z_VERSION_ERROR']) {
  results[name] = constants[name];
  results[constants[name]] = name;
}
const { Z_NO_FLUSH, Z_SYNC_FLUSH, Z_FULL_FLUSH, Z_FINISH, Z_BLOCK, Z_OK, Z_STREAM_END, Z_NEED_DICT, Z_BUF_ERROR } = constants;

// Class -> does it pack, the window bits of its format from the number that was asked for.
const kinds = {
  Deflate: { pack: true, window: (bits) => bits },
  Inflate: { pack: false, window: (bits) => bits },
  Gzip: { pack: true, window: (bits) => bits + 16 },
  Gunzip: { pack: false, window: (bits) => bits + 16, members: true },
  // zlib has no raw stream of 8 bits.
  DeflateRaw: { pack: true, window: (bits) => -Math.max(bits, 9) },
  InflateRaw: { pack: false, window: (bits) => -bits },
  Unzip: { pack: false, window: (bits) => bits + 32 },
};
if (binding.hasBrotli) {
  kinds.BrotliCompress = { pack: true, brotli: true };
  kinds.BrotliDecompress = { pack: false, brotli: true };
}

// ---- options ------------------------------------------------------------------------------------------------------

function ranged(options, name, least, most, fallback) {
  const value = options?.[name];
  if (value === undefined || Number.isNaN(value)) return fallback;
  if (typeof value !== 'number') throw new codes.ERR_INVALID_ARG_TYPE(`options.${name}`, 'number', value);
  if (!(value >= least && value <= most)) {
    throw new codes.ERR_OUT_OF_RANGE(`options.${name}`, most === Infinity ? `>= ${least}` : `>= ${least} and <= ${most}`, value);
  }
  return value;
}
function bytesOf(data, name = 'buffer') {
  if (typeof data === 'string') return Buffer.from(data);
  if (ArrayBuffer.isView(data)) return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  if (data instanceof ArrayBuffer || (typeof SharedArrayBuffer === 'function' && data instanceof SharedArrayBuffer)) {
    return Buffer.from(data);
  }
  throw new codes.ERR_INVALID_ARG_TYPE(name, ['string', 'Buffer', 'TypedArray', 'DataView', 'ArrayBuffer'], data);
}
// Its parameters are numbered; those that C does not know are refused. Flushes become zlib's.
const FLUSHES = [Z_NO_FLUSH, Z_SYNC_FLUSH, Z_FINISH];
function brotliSettings(kind, options) {
  const { pack } = kinds[kind];
  const found = [constants.BROTLI_DEFAULT_MODE, constants.BROTLI_DEFAULT_QUALITY, constants.BROTLI_DEFAULT_WINDOW];
  for (const key of Object.keys(options?.params ?? {})) {
    const number = +key;
    if (!(Number.isInteger(number) && number >= 0 && number <= 9)) throw new codes.ERR_BROTLI_INVALID_PARAM(key);
    const value = options.params[key];
    if (typeof value !== 'number' && typeof value !== 'boolean') throw new codes.ERR_INVALID_ARG_TYPE('options.params[key]', 'number', value);
    if (number < 3) found[number] = +value;
  }
  if (pack && !(found[1] >= 0 && found[1] <= 11 && found[2] >= 10 && found[2] <= 24)) throw new codes.ERR_ZLIB_INITIALIZATION_FAILED();
  return {
    kind, pack, brotli: true, members: false, bits: found[2], level: found[1], memory: 0, strategy: found[0], dictionary: undefined,
    chunk: ranged(options, 'chunkSize', 64, Infinity, 16384),
    flush: FLUSHES[ranged(options, 'flush', 0, 2, 0)],
    finish: FLUSHES[ranged(options, 'finishFlush', 0, 2, 2)],
    most: ranged(options, 'maxOutputLength', 1, kMaxLength, kMaxLength),
  };
}
function settings(kind, options) {
  if (kinds[kind].brotli) return brotliSettings(kind, options);
  const { pack, window } = kinds[kind];
  // For unpacking 0 means: as the data says.
  let bits = !pack && (options?.windowBits === undefined || options.windowBits === null || options.windowBits === 0) ? 15
    : ranged(options, 'windowBits', kind === 'Gzip' ? 9 : 8, 15, 15);
  bits = window(bits);
  const dictionary = options?.dictionary;
  return {
    kind, pack, bits, members: kinds[kind].members === true,
    level: ranged(options, 'level', -1, 9, -1),
    memory: ranged(options, 'memLevel', 1, 9, 8),
    strategy: ranged(options, 'strategy', 0, 4, 0),
    chunk: ranged(options, 'chunkSize', 64, Infinity, 16384),
    flush: ranged(options, 'flush', 0, Z_BLOCK, Z_NO_FLUSH),
    finish: ranged(options, 'finishFlush', 0, Z_BLOCK, Z_FINISH),
    most: ranged(options, 'maxOutputLength', 1, kMaxLength, kMaxLength),
    dictionary: dictionary === undefined ? undefined : bytesOf(dictionary, 'options.dictionary'),
  };
}
const open = (set) => zipOpen(set.pack, set.bits, set.level, set.memory, set.strategy, set.dictionary, set.brotli === true);

function failure(code, message) {
  const name = results[code] ?? 'Z_ERRNO';
  return Object.assign(new Error(message || (code === Z_BUF_ERROR ? 'unexpected end of file' : name)), { errno: code, code: name });
}

// ---- a step -------------------------------------------------------------------------------------------------------

// One run of zlib over the input, which callers repeat while there is more. [bytes, input left, code, more output, message]
function stepLater(native, flush, input, most, callback) {
  const id = binding.expect(callback);
  const begun = zipLater(id, native, flush, input, most);
  if (begun < 0) process.nextTick(() => binding.finishNow(id, [new Uint8Array(0), input.length, constants.Z_MEM_ERROR, false, 'out of memory']));
}

// What a step means: the error, whether the stream has ended, and what is left to feed.
function judge(set, native, input, flush, [, left, code, more, message]) {
  // The first byte tells gzip from deflate.
  if (set.kind === 'Unzip' && set.first === undefined && input.length > 0) {
    set.first = input[0];
    set.members = set.first === 0x1f;
  }
  const rest = left === 0 ? input.subarray(input.length) : input.subarray(input.length - left);
  if (code === Z_NEED_DICT) return { error: failure(Z_NEED_DICT, message) };
  if (code < 0) return { error: failure(code, message) };
  if (code === Z_STREAM_END) {
    // Several packed texts in a row are one, and zeros behind them are padding. Behind deflate's end all is left alone.
    if (!set.pack && set.members && left > 0 && rest[0] !== 0) {
      const reset = zipReset(native);
      return reset < 0 ? { error: failure(reset, '') } : { rest, again: true };
    }
    return { ended: true, rest };
  }
  if (more || left > 0) return { rest, again: true };
  if (!set.pack && flush === Z_FINISH) return { error: failure(Z_BUF_ERROR, 'unexpected end of file') };
  return { rest };
}

// ---- at once ------------------------------------------------------------------------------------------------------

class Collector {
  constructor(kind, data, options) {
    this.set = settings(kind, options);
    this.native = open(this.set);
    this.input = bytesOf(data);
    this.pieces = [];
    this.total = 0;
  }
  // How much a step may give: one more than allowed, so that too much is noticed.
  get room() { return Math.min(1 << 20, this.set.most - this.total + 1); }
  // True: another step. Throws.
  take(result) {
    const { set } = this;
    const verdict = judge(set, this.native, this.input, set.finish, result);
    if (verdict.error) throw verdict.error;
    this.total += result[0].length;
    if (result[0].length > 0) this.pieces.push(result[0]);
    if (this.total > set.most) throw new codes.ERR_BUFFER_TOO_LARGE(set.most);
    this.input = verdict.rest;
    return verdict.again === true;
  }
  get result() {
    const { pieces } = this;
    if (pieces.length !== 1) return Buffer.concat(pieces);
    return Buffer.from(pieces[0].buffer, pieces[0].byteOffset, pieces[0].byteLength);
  }
}

function sync(kind) {
  return (data, options = undefined) => {
    const work = new Collector(kind, data, options);
    while (work.take(zipNow(work.native, work.set.finish, work.input, work.room)));
    return options?.info ? { buffer: work.result, engine: new classes[kind](options) } : work.result;
  };
}
function later(kind) {
  return (data, options, callback) => {
    if (typeof options === 'function') [options, callback] = [undefined, options];
    validateFunction(callback, 'callback');
    const work = new Collector(kind, data, options);
    const next = () => stepLater(work.native, work.set.finish, work.input, work.room, (result) => {
      let again;
      try {
        again = work.take(result);
      } catch (error) {
        callback(error);
        return;
      }
      if (again) next();
      else callback(null, options?.info ? { buffer: work.result, engine: new classes[kind](options) } : work.result);
    });
    next();
  };
}

// ---- streams ------------------------------------------------------------------------------------------------------

const kFlush = Symbol('flush');
// From the weakest to the strongest.
const strength = [Z_NO_FLUSH, Z_BLOCK, constants.Z_PARTIAL_FLUSH, Z_SYNC_FLUSH, Z_FULL_FLUSH, Z_FINISH];
const stronger = (a, b) => strength[Math.max(strength.indexOf(a), strength.indexOf(b))];

class Zip extends Transform {
  #native;
  #set;
  #done = false; // zlib has said that the stream ends
  #between = false; // a member has ended with the input: another one may follow
  #busy = false;
  #waiting = null; // a step that waits for a reader
  constructor(kind, options) {
    const set = settings(kind, options);
    super({ ...options, autoDestroy: true, decodeStrings: true, objectMode: false });
    this.#set = set;
    this.#native = open(set);
    this.bytesWritten = 0;
    this._level = set.level;
    this._strategy = set.strategy;
    this._chunkSize = set.chunk;
  }
  // What packages reach for that work around the streams (minizlib, which is in tar): the input at once, on this thread.
  _handle = { close() {} }; // zlib's memory goes with the object
  _processChunk(chunk, flush) {
    const set = this.#set;
    const pieces = [];
    let input = chunk;
    for (let again = !this.#done; again;) {
      const result = zipNow(this.#native, flush, input, 1 << 16);
      const verdict = judge(set, this.#native, input, flush, result);
      if (verdict.error) throw verdict.error;
      this.bytesWritten += input.length - verdict.rest.length;
      if (result[0].length > 0) pieces.push(result[0]);
      input = verdict.rest;
      again = verdict.again === true;
      this.#done = verdict.ended === true;
    }
    return Buffer.concat(pieces);
  }
  get _closed() { return this.destroyed; }
  get bytesRead() { return this.bytesWritten; }
  _transform(chunk, encoding, callback) {
    let flush = typeof chunk[kFlush] === 'number' ? chunk[kFlush] : this.#set.flush;
    if (this.writableEnded && this.writableLength === chunk.byteLength) flush = stronger(flush, this.#set.finish);
    this.#feed(chunk, flush, callback);
  }
  _flush(callback) {
    this.#feed(Buffer.alloc(0), this.#set.finish, callback);
  }
  #feed(input, flush, callback) {
    if (this.#between && input.length > 0) {
      // Zeros behind the last member are padding.
      this.#between = false;
      if (input[0] === 0) this.#done = true;
      else zipReset(this.#native);
    }
    if (this.#done || this.#between || this.destroyed) {
      callback();
      return;
    }
    this.#busy = true;
    stepLater(this.#native, flush, input, this.#set.chunk, (result) => {
      this.#busy = false;
      if (this.destroyed) {
        callback();
        return;
      }
      this.bytesWritten += input.length - result[1];
      const verdict = judge(this.#set, this.#native, input, flush, result);
      if (verdict.error) {
        callback(verdict.error);
        return;
      }
      const bytes = result[0];
      const room = bytes.length === 0 || this.push(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
      if (verdict.ended && this.#set.members && verdict.rest.length === 0) {
        this.#between = true;
        callback();
      } else if (verdict.ended) {
        this.#done = true;
        if (!this.#set.pack) this.push(null);
        callback();
      } else if (!verdict.again) {
        callback();
      } else if (room) {
        this.#feed(verdict.rest, flush, callback);
      } else {
        // Nobody has taken the last piece: a small text can become a very large one.
        this.#waiting = () => this.#feed(verdict.rest, flush, callback);
      }
    });
  }
  _read(size) {
    const waiting = this.#waiting;
    if (waiting === null) {
      super._read(size);
      return;
    }
    this.#waiting = null;
    waiting();
  }
  flush(kind, callback) {
    if (typeof kind === 'function' || (kind === undefined && callback === undefined)) [kind, callback] = [undefined, kind];
    kind = this.#set.brotli ? FLUSHES[kind ?? 1] : kind ?? Z_FULL_FLUSH;
    if (this.writableFinished || this.writableEnded) {
      if (callback) process.nextTick(callback);
      return;
    }
    const empty = Buffer.alloc(0);
    empty[kFlush] = kind;
    this.write(empty, '', callback);
  }
  params(level, strategy, callback) {
    if (this.#set.brotli) throw new codes.ERR_METHOD_NOT_IMPLEMENTED('params of a Brotli stream');
    ranged({ level }, 'level', -1, 9);
    ranged({ strategy }, 'strategy', 0, 4);
    const change = () => {
      const code = this.destroyed ? Z_OK : zipParams(this.#native, level, strategy);
      if (code === Z_OK || code === Z_BUF_ERROR) {
        this._level = level;
        this._strategy = strategy;
        callback?.(null);
      } else {
        callback?.(failure(code, 'Failed to set parameters'));
      }
    };
    if (this._level === level && this._strategy === strategy) process.nextTick(() => callback?.(null));
    else this.flush(Z_SYNC_FLUSH, change);
  }
  reset() {
    if (this.destroyed || this.#busy) throw new codes.ERR_INVALID_STATE('zlib binding closed');
    this.#done = this.#between = false;
    const code = zipReset(this.#native);
    if (code < 0) throw failure(code, 'Failed to reset stream');
  }
  close(callback) {
    if (callback) finished(this, () => callback());
    this.destroy();
  }
}

const classes = {};
for (const kind of Object.keys(kinds)) {
  const Kind = classes[kind] = function (options) {
    if (!new.target) return new Kind(options);
    return Reflect.construct(Zip, [kind, options], new.target);
  };
  Object.defineProperty(Kind, 'name', { value: kind });
  Object.setPrototypeOf(Kind.prototype, Zip.prototype);
  Object.setPrototypeOf(Kind, Zip);
}

function crc32(data, start = 0) {
  if (typeof data !== 'string' && !ArrayBuffer.isView(data)) {
    throw new codes.ERR_INVALID_ARG_TYPE('data', ['string', 'Buffer', 'TypedArray', 'DataView'], data);
  }
  load('errors').validateInteger(start, 'value', 0, 0xffffffff);
  return zipCrc32(start, bytesOf(data));
}

// ---- web ----------------------------------------------------------------------------------------------------------

const formats = { deflate: ['Deflate', 'Inflate'], 'deflate-raw': ['DeflateRaw', 'InflateRaw'], gzip: ['Gzip', 'Gunzip'] };
const webBrotli = { brotli: true, members: false, level: -1, bits: -1, strategy: -1 };
if (binding.hasBrotli) formats.brotli = [{ ...webBrotli, pack: true }, { ...webBrotli, pack: false }];
const step = (native, flush, input) => new Promise((resolve) => stepLater(native, flush, input, 1 << 16, resolve));

function webStream(place, name) {
  const Kind = {
    [name]: class {
      #transform;
      constructor(format) {
        if (arguments.length === 0) throw new codes.ERR_MISSING_ARGS('format');
        if (!Object.hasOwn(formats, `${format}`)) throw new codes.ERR_INVALID_ARG_VALUE('format', format, `must be one of ${Object.keys(formats).join(', ')}`);
        const kind = formats[format][place];
        const set = typeof kind === 'string' ? { ...settings(kind, {}), members: false } : kind;
        const native = open(set);
        let done = false;
        const run = async (input, flush, controller) => {
          for (let again = true; again;) {
            if (done) {
              if (input.length > 0) throw new TypeError('there is something behind the end of the compressed data');
              return;
            }
            const result = await step(native, flush, input);
            const verdict = judge(set, native, input, flush, result);
            if (verdict.error) throw Object.assign(new TypeError(verdict.error.message), { code: verdict.error.code, cause: verdict.error });
            if (result[0].length > 0) controller.enqueue(result[0]);
            done = verdict.ended === true;
            input = verdict.rest;
            again = verdict.again === true || (done && input.length > 0);
          }
        };
        this.#transform = new (load('stream_web').TransformStream)({
          transform: (chunk, controller) => {
            if (!ArrayBuffer.isView(chunk) && !(chunk instanceof ArrayBuffer)) {
              throw new TypeError(`${name}: a chunk is neither an ArrayBuffer nor a view of one`);
            }
            return run(bytesOf(chunk), Z_NO_FLUSH, controller);
          },
          flush: (controller) => done ? undefined : run(Buffer.alloc(0), Z_FINISH, controller),
        });
      }
      get readable() { return this.#transform.readable; }
      get writable() { return this.#transform.writable; }
    },
  }[name];
  load('idl').expose(Kind);
  return Kind;
}

module.exports = {
  ...classes, constants, codes: results, crc32,
  CompressionStream: webStream(0, 'CompressionStream'), DecompressionStream: webStream(1, 'DecompressionStream'),
};
Object.freeze(constants);
Object.freeze(results);
for (const kind of Object.keys(kinds)) {
  const name = `${kind[0].toLowerCase()}${kind.slice(1)}`;
  module.exports[name] = later(kind);
  module.exports[`${name}Sync`] = sync(kind);
  module.exports[`create${kind}`] = (options) => new classes[kind](options);
  Object.defineProperty(module.exports[name], 'name', { value: name });
  Object.defineProperty(module.exports[`${name}Sync`], 'name', { value: `${name}Sync` });
}
// The old names of the constants.
for (const name of Object.keys(constants)) {
  if (name.startsWith('Z_')) Object.defineProperty(module.exports, name, { value: constants[name], enumerable: false, configurable: true });
}
