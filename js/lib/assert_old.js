// SPDX-License-Identifier: MIT
// Parts of node:assert that Node has deprecated: CallTracker, and assert.fail with more than a message.
'use strict';

const { codes, validateInteger, native, frames, visible, frameText } = load('errors');
const inspect = (value) => load('inspect').inspect(value);

let warned = false;
function failWith(assert, actual, expected, message, operator) {
  if (!warned) {
    warned = true;
    process.emitWarning('assert.fail() with more than one argument is deprecated. Please use assert.strictEqual() instead or only pass a message.',
                        'DeprecationWarning', 'DEP0094');
  }
  if (message instanceof native.Error) throw message;
  if (operator === undefined) operator = message === undefined ? '!=' : 'fail';
  const error = new assert.AssertionError({ message: message ?? `${inspect(actual)} ${operator} ${inspect(expected)}`, operator, actual, expected });
  error.generatedMessage = message === undefined;
  throw error;
}

// How often functions are called, with what, and whether that is as often as was said.
class CallTracker {
  #calls = new Map(); // the function that was given out -> what is known of it
  #of(fn) {
    const known = this.#calls.get(fn);
    if (known === undefined) throw new codes.ERR_INVALID_ARG_VALUE('fn', fn, 'is not a tracked function');
    return known;
  }
  calls(fn, expected = 1) {
    if (process._exiting) throw new codes.ERR_UNAVAILABLE_DURING_EXIT();
    if (typeof fn === 'number') [fn, expected] = [() => {}, fn];
    else if (fn === undefined) fn = () => {};
    validateInteger(expected, 'expected', 1, 4294967295);
    const known = { expected, name: fn.name || 'calls', calls: [], place: new native.Error('Message').stack };
    const tracked = new Proxy(fn, {
      apply(target, self, args) {
        known.calls.push(Object.freeze({ thisArg: self, arguments: Object.freeze([...args]) }));
        return Reflect.apply(target, self, args);
      },
    });
    this.#calls.set(tracked, known);
    return tracked;
  }
  getCalls(fn) {
    return Object.freeze([...this.#of(fn).calls]);
  }
  reset(fn) {
    if (fn === undefined) this.#calls.forEach((known) => { known.calls = []; });
    else this.#of(fn).calls = [];
  }
  report() {
    const found = [];
    this.#calls.forEach(({ expected, name, calls, place }) => {
      if (calls.length === expected) return;
      found.push({
        message: `Expected the ${name} function to be executed ${expected} time(s) but was executed ${calls.length} time(s).`,
        actual: calls.length, expected, operator: name,
        stack: ['Error', ...visible(frames(place)).map(frameText)].join('\n'),
      });
    });
    return found;
  }
  verify() {
    const [first, ...others] = this.report();
    if (first === undefined) return;
    const { AssertionError } = load('assert');
    throw new AssertionError({
      message: others.length === 0 ? first.message : 'Functions were not called the expected number of times', details: [first, ...others],
    });
  }
}

module.exports = { failWith, CallTracker };
