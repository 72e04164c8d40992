// SPDX-License-Identifier: MIT
// process.stdout and stderr: writes are made at once and complete before they return, to files, pipes and terminals alike.
// process.stdin is in stdin.js.
'use strict';

const EventEmitter = load('events');
const { codes } = load('errors');

class Output extends EventEmitter {
  constructor(fd) {
    super();
    this.fd = fd;
    this.writable = true;
    this.isTTY = binding.isTTY(fd) || undefined;
    this.writableLength = 0;
    this.writableHighWaterMark = 16384;
    this._isStdio = true;
    this._silent = false; // while a console writes, whose errors nobody hears of
    if (this.isTTY) {
      const size = binding.windowSize(fd);
      if (size !== undefined) [this.columns, this.rows] = size;
    }
  }

  write(chunk, encoding, callback) {
    if (typeof encoding === 'function') callback = encoding;
    if (typeof chunk !== 'string' && !ArrayBuffer.isView(chunk)) {
      throw new codes.ERR_INVALID_ARG_TYPE('chunk', ['string', 'Buffer', 'Uint8Array'], chunk);
    }
    if (typeof chunk === 'string' && typeof encoding === 'string' && !/^utf-?8$/i.test(encoding)) {
      chunk = load('buffer').Buffer.from(chunk, encoding);
    }
    const result = binding.write(this.fd, chunk);
    if (result < 0 && this._silent) return false;
    if (result < 0) {
      const error = load('fserrors').make(result, 'write');
      process.nextTick(() => {
        callback?.(error);
        this.emit('error', error);
      });
      return false;
    }
    if (typeof callback === 'function') process.nextTick(callback);
    return true;
  }

  end(chunk, encoding, callback) {
    if (typeof chunk === 'function') {
      callback = chunk;
      chunk = undefined;
    }
    if (chunk !== undefined && chunk !== null) this.write(chunk, encoding);
    this.writable = false;
    process.nextTick(() => {
      this.emit('finish');
      callback?.();
    });
    return this;
  }
  cork() {}
  uncork() {}
  destroy() { return this; }
  getColorDepth() { return this.isTTY && process.env.NO_COLOR === undefined ? 8 : 1; }
  hasColors(count = 16) { return this.isTTY === true && 2 ** this.getColorDepth() >= count; }
  getWindowSize() { return [this.columns, this.rows]; }
}

module.exports = { Output };
