// SPDX-License-Identifier: MIT
// node:readline/promises: questions whose answers are promises, and a cursor whose moves are written together.
'use strict';

const { Interface: Lines, sequences, checkPlace, ask, forget } = load('readline')[Symbol.for('vigil.host')];
const { codes, validateAbortSignal, AbortError } = load('errors');

class Interface extends Lines {
  question(query, options = {}) {
    return new Promise((resolve, reject) => {
      const { signal } = options ?? {};
      let done = resolve;
      if (signal) {
        validateAbortSignal(signal, 'options.signal');
        const why = () => new AbortError(undefined, { cause: signal.reason });
        if (signal.aborted) {
          reject(why());
          return;
        }
        const onAbort = () => {
          forget(this);
          reject(why());
        };
        signal.addEventListener('abort', onAbort, { once: true });
        done = (text) => {
          signal.removeEventListener('abort', onAbort);
          resolve(text);
        };
      }
      ask(this, query, done);
    });
  }
}

class Readline {
  #stream;
  #todo = [];
  #autoCommit;
  constructor(stream, options = undefined) {
    if (typeof stream?.write !== 'function') throw new codes.ERR_INVALID_ARG_TYPE('stream', 'Writable', stream);
    this.#stream = stream;
    if (options?.autoCommit !== undefined && typeof options.autoCommit !== 'boolean') {
      throw new codes.ERR_INVALID_ARG_TYPE('options.autoCommit', 'boolean', options.autoCommit);
    }
    this.#autoCommit = !!options?.autoCommit;
  }
  #add(text) {
    if (this.#autoCommit) process.nextTick(() => this.#stream.write(text));
    else this.#todo.push(text);
    return this;
  }
  cursorTo(x, y = undefined) {
    checkPlace(x, y);
    return this.#add(sequences.cursorTo(x, y));
  }
  moveCursor(dx, dy) { return dx || dy ? this.#add(sequences.moveCursor(dx, dy)) : this; }
  clearLine(direction) { return this.#add(sequences.clearLine(direction)); }
  clearScreenDown() { return this.#add(sequences.clearScreenDown()); }
  commit() {
    return new Promise((resolve) => {
      this.#stream.write(this.#todo.splice(0).join(''), resolve);
    });
  }
  rollback() {
    this.#todo = [];
    return this;
  }
}

module.exports = {
  Interface, Readline,
  createInterface: (...args) => new Interface(...args),
};
