// SPDX-License-Identifier: MIT
// stream.duplexPair: two streams, of which each reads what the other writes.
'use strict';

const { Duplex } = load('stream');

class Side extends Duplex {
  #other = null;
  #waiting = null; // the callback of a write that the other side has not asked for yet
  join(other) { this.#other = other; }
  _read() {
    const done = this.#waiting;
    if (done === null) return;
    this.#waiting = null;
    done();
  }
  _write(chunk, encoding, callback) {
    if (chunk.length === 0) {
      process.nextTick(callback);
      return;
    }
    this.#other.push(chunk);
    this.#other.#waiting = callback;
  }
  _final(callback) {
    this.#other.on('end', callback);
    this.#other.push(null);
  }
}

function duplexPair(options) {
  const pair = [new Side(options), new Side(options)];
  pair[0].join(pair[1]);
  pair[1].join(pair[0]);
  return pair;
}

module.exports = { duplexPair };
