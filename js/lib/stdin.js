// SPDX-License-Identifier: MIT
// process.stdin: a stream that is read on the pool, chunk by chunk, while somebody listens.
'use strict';

const { ReadStream } = load('fs_streams');

class Input extends ReadStream {
  constructor(fd) {
    super(undefined, { fd, autoClose: false, highWaterMark: 65536 });
    this.isTTY = binding.isTTY(fd) || undefined;
  }
  ref() { return this; }
  unref() { return this; }
}

module.exports = { Input };
