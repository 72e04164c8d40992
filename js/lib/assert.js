// SPDX-License-Identifier: MIT
// node:assert
'use strict';

const { codes, native } = load('errors');
const { equal } = load('equal');
const { inspect } = load('inspect');

const { describe } = load('assert_text');

class AssertionError extends Error {
  constructor(options) {
    if (options === null || typeof options !== 'object') throw new codes.ERR_INVALID_ARG_TYPE('options', 'Object', options);
    const { message, operator, actual, expected } = options;
    const own = message !== undefined && message !== null;
    // Where two values are shown side by side, a text of the program's own stands above them.
    if (!own) super(describe(operator ?? 'fail', actual, expected));
    else if (operator === 'strictEqual' || operator === 'deepStrictEqual') super(describe(operator, actual, expected, `${message}`));
    else super(`${message}`);
    this.generatedMessage = !own;
    this.code = 'ERR_ASSERTION';
    this.actual = actual;
    this.expected = expected;
    this.operator = operator;
    Object.defineProperty(this, 'name', { value: 'AssertionError', enumerable: false, writable: true, configurable: true });
    const stack = this.stack;
    Object.defineProperty(this, 'stack', {
      value: stack.replace(/^[^:\n]*/, 'AssertionError [ERR_ASSERTION]'), enumerable: false, writable: true, configurable: true,
    });
  }
  toString() { return `${this.name} [${this.code}]: ${this.message}`; }
}

// `text` is what is said when the program has no message of its own.
function fail(message, operator, actual, expected, text = undefined) {
  if (message instanceof native.Error) throw message;
  const error = new AssertionError({ message: message ?? text, operator, actual, expected });
  error.generatedMessage = message === undefined || message === null;
  throw error;
}
// Nothing is said where a program leads with its own text.
function lead(what, expected, message) {
  return `${what}${expected?.name ? ` (${expected.name})` : ''}${message ? `: ${message}` : '.'}`;
}

function ok(...args) {
  if (args[0]) return;
  let [value, message] = args;
  let generated = false;
  if (args.length === 0) {
    message = 'No value argument passed to `assert.ok()`';
    generated = true;
  } else if (message === undefined) {
    const code = load('assert_text').callText();
    message = `The expression evaluated to a falsy value${code === undefined ? '' : `:\n\n  ${code}\n`}`;
    generated = true;
  }
  if (message instanceof native.Error) throw message;
  const error = new AssertionError({ message, operator: '==', actual: value, expected: true });
  error.generatedMessage = generated;
  throw error;
}
const assert = module.exports = function assert(...args) {
  ok(...args);
};

function two(name, test) {
  const method = function (actual, expected, message) {
    if (arguments.length < 2) throw new codes.ERR_MISSING_ARGS('actual', 'expected');
    if (!test(actual, expected)) fail(message, name === 'equal' ? '==' : name === 'notEqual' ? '!=' : name, actual, expected);
  };
  Object.defineProperty(method, 'name', { value: name });
  assert[name] = method;
}
two('equal', (a, b) => a == b || (Number.isNaN(a) && Number.isNaN(b)));
two('notEqual', (a, b) => !(a == b || (Number.isNaN(a) && Number.isNaN(b))));
two('strictEqual', Object.is);
two('notStrictEqual', (a, b) => !Object.is(a, b));
two('deepEqual', (a, b) => equal(a, b, false));
two('notDeepEqual', (a, b) => !equal(a, b, false));
two('deepStrictEqual', (a, b) => equal(a, b, true));
two('notDeepStrictEqual', (a, b) => !equal(a, b, true));

class Comparison {
  constructor(from, keys) {
    for (const key of keys) if (from !== null && typeof from === 'object' && key in from) this[key] = from[key];
  }
}
function matches(error, expected, message, name) {
  if (expected === undefined) return;
  if (typeof expected === 'function') {
    if (expected.prototype !== undefined && error instanceof expected) return;
    if (expected === native.Error || Object.prototype.isPrototypeOf.call(native.Error, expected) ||
        expected.prototype instanceof native.Error || expected === Error) {
      if (expected === Error && error instanceof native.Error) return;
      throw error;
    }
    const answer = Reflect.apply(expected, {}, [error]);
    if (answer === true) return;
    fail(message, name, error, expected,
         `The ${expected.name ? `"${expected.name}" ` : ''}validation function is expected to return "true". Received ${inspect(answer)}` +
         (error instanceof native.Error ? `\n\nCaught error:\n\n${error}` : ''));
  }
  if (expected instanceof RegExp) {
    if (expected.test(`${error}`)) return;
    fail(message, name, error, expected,
         `The input did not match the regular expression ${inspect(expected)}. Input:\n\n${inspect(`${error}`)}\n`);
  }
  if (typeof expected !== 'object' || expected === null) {
    throw new codes.ERR_INVALID_ARG_TYPE('expected', ['Function', 'Error', 'RegExp', 'Object'], expected);
  }
  const keys = Object.keys(expected);
  if (expected instanceof native.Error) keys.push('name', 'message');
  else if (keys.length === 0) throw new codes.ERR_INVALID_ARG_VALUE('error', expected, 'may not be an empty object');
  for (const key of keys) {
    if (expected[key] instanceof RegExp && typeof error?.[key] === 'string' && expected[key].test(error[key])) continue;
    if (error !== null && typeof error === 'object' && key in error && equal(error[key], expected[key], true)) continue;
    fail(message, name, error, expected, describe('deepStrictEqual', new Comparison(error, keys), new Comparison(expected, keys)));
  }
}
const isPromise = (value) => value !== null && typeof value === 'object' && typeof value.then === 'function' && typeof value.catch === 'function';
function promiseOf(value) {
  if (typeof value === 'function') {
    const made = value();
    if (!isPromise(made)) throw new codes.ERR_INVALID_RETURN_VALUE('instance of Promise', 'promiseFn', made);
    return made;
  }
  if (!isPromise(value)) throw new codes.ERR_INVALID_ARG_TYPE('promiseFn', ['Function', 'Promise'], value);
  return value;
}
function split(expected, message) {
  return typeof expected === 'string' ? [undefined, expected] : [expected, message];
}

Object.assign(assert, {
  AssertionError, ok,
  fail(message = 'Failed') {
    if (arguments.length > 1) load('assert_old').failWith(assert, ...arguments);
    if (message instanceof native.Error) throw message;
    const error = new AssertionError({ message, operator: 'fail' });
    error.generatedMessage = arguments.length === 0;
    throw error;
  },
  throws(fn, ...rest) {
    if (typeof fn !== 'function') throw new codes.ERR_INVALID_ARG_TYPE('fn', 'Function', fn);
    const [expected, message] = split(...rest);
    let thrown;
    try {
      fn();
    } catch (error) {
      thrown = { error };
    }
    if (thrown === undefined) {
      fail(lead('Missing expected exception', expected, message), 'throws', undefined, expected);
    }
    matches(thrown.error, expected, message, 'throws');
  },
  doesNotThrow(fn, ...rest) {
    if (typeof fn !== 'function') throw new codes.ERR_INVALID_ARG_TYPE('fn', 'Function', fn);
    const [expected, message] = split(...rest);
    try {
      fn();
    } catch (error) {
      fail(`Got unwanted exception${message ? `: ${message}` : '.'}\nActual message: "${error?.message}"`, 'doesNotThrow', error, expected);
    }
  },
  async rejects(promise, ...rest) {
    const [expected, message] = split(...rest);
    let thrown;
    const waited = promiseOf(promise);
    try {
      await waited;
    } catch (error) {
      thrown = { error };
    }
    if (thrown === undefined) {
      fail(lead('Missing expected rejection', expected, message), 'rejects', undefined, expected);
    }
    matches(thrown.error, expected, message, 'rejects');
  },
  async doesNotReject(promise, ...rest) {
    const [expected, message] = split(...rest);
    const waited = promiseOf(promise);
    try {
      await waited;
    } catch (error) {
      fail(`Got unwanted rejection${message ? `: ${message}` : '.'}\nActual message: "${error?.message}"`, 'doesNotReject', error, expected);
    }
  },
  ifError(value) {
    if (value === null || value === undefined) return;
    let text = typeof value === 'object' && typeof value.message === 'string' ? value.message : inspect(value);
    if (text === '' && typeof value === 'object' && value.constructor) text = value.constructor.name;
    throw new AssertionError({ message: `ifError got unwanted exception: ${text}`, operator: 'ifError', actual: value, expected: null });
  },
  match(text, pattern, message) {
    if (!(pattern instanceof RegExp)) throw new codes.ERR_INVALID_ARG_TYPE('regexp', 'RegExp', pattern);
    if (typeof text !== 'string' || !pattern.test(text)) {
      fail(message, 'match', text, pattern, typeof text === 'string'
        ? `The input did not match the regular expression ${inspect(pattern)}. Input:\n\n${inspect(text)}\n`
        : `The "string" argument must be of type string. Received type ${typeof text} (${inspect(text)})`);
    }
  },
  doesNotMatch(text, pattern, message) {
    if (!(pattern instanceof RegExp)) throw new codes.ERR_INVALID_ARG_TYPE('regexp', 'RegExp', pattern);
    if (typeof text !== 'string' || pattern.test(text)) {
      fail(message, 'doesNotMatch', text, pattern,
           `The input was expected to not match the regular expression ${inspect(pattern)}. Input:\n\n${inspect(text)}\n`);
    }
  },
});
Object.defineProperty(assert, 'CallTracker', { configurable: true, enumerable: true, get: () => load('assert_old').CallTracker });
assert.strict = Object.assign((...args) => ok(...args), assert, {
  equal: assert.strictEqual, notEqual: assert.notStrictEqual, deepEqual: assert.deepStrictEqual, notDeepEqual: assert.notDeepStrictEqual,
});
assert.strict.strict = assert.strict;
