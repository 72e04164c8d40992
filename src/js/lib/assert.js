// SPDX-License-Identifier: MIT
// node:assert
'use strict';

const { codes, native } = load('errors');
const { equal } = load('equal');
const { inspect } = load('inspect');

const show = (value) => inspect(value, { compact: false, customInspect: false, depth: 1000, maxArrayLength: Infinity, sorted: true });
const texts = {
  deepStrictEqual: 'Expected values to be strictly deep-equal:',
  strictEqual: 'Expected values to be strictly equal:',
  deepEqual: 'Expected values to be loosely deep-equal:',
  notDeepStrictEqual: 'Expected "actual" not to be strictly deep-equal to:',
  notStrictEqual: 'Expected "actual" to be strictly unequal to:',
  notDeepEqual: 'Expected "actual" not to be loosely deep-equal to:',
};

// Lines that are only in one of two texts, marked; the longest common subsequence for texts of moderate length.
function difference(actual, expected) {
  const a = actual.split('\n');
  const b = expected.split('\n');
  if (a.length * b.length > 1e6) return [...a.map((line) => `+ ${line}`), ...b.map((line) => `- ${line}`)].join('\n');
  const table = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      table[i][j] = a[i] === b[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
    }
  }
  const lines = [];
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push(`  ${a[i]}`);
      i++;
      j++;
    } else if (i < a.length && (j >= b.length || table[i + 1][j] >= table[i][j + 1])) {
      lines.push(`+ ${a[i++]}`);
    } else {
      lines.push(`- ${b[j++]}`);
    }
  }
  return lines.join('\n');
}

function describe(operator, actual, expected) {
  if (operator === 'notStrictEqual' || operator.startsWith('notDeep')) {
    const shown = show(actual);
    return `${texts[operator]}${shown.includes('\n') || shown.length > 50 ? '\n\n' : ' '}${shown}${shown.includes('\n') ? '\n' : ''}`;
  }
  if (operator === '==' || operator === '!=') return `${inspect(actual)} ${operator} ${inspect(expected)}`;
  const a = show(actual);
  const b = show(expected);
  const primitive = (value) => value === null || (typeof value !== 'object' && typeof value !== 'function');
  if (operator === 'strictEqual' && primitive(actual) && primitive(expected) && !a.includes('\n') && !b.includes('\n')) {
    return `${texts[operator]}\n\n${a} !== ${b}\n`;
  }
  if (a === b) return `Values have same structure but are not reference-equal:\n\n${a}\n`;
  return `${texts[operator] ?? 'Expected values to be equal:'}\n+ actual - expected\n\n${difference(a, b)}`;
}

class AssertionError extends Error {
  constructor(options) {
    if (options === null || typeof options !== 'object') throw new codes.ERR_INVALID_ARG_TYPE('options', 'Object', options);
    const { message, operator, actual, expected } = options;
    super(message === undefined ? describe(operator ?? 'fail', actual, expected) : `${message}`);
    this.generatedMessage = message === undefined;
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

function fail(message, operator, actual, expected) {
  if (message instanceof native.Error) throw message;
  throw new AssertionError({ message, operator, actual, expected });
}

function ok(...args) {
  if (args[0]) return;
  let [value, message] = args;
  let generated = false;
  if (args.length === 0) {
    message = 'No value argument passed to `assert.ok()`';
    generated = true;
  } else if (message === undefined) {
    message = 'The expression evaluated to a falsy value';
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

function matches(error, expected, message, name) {
  if (expected === undefined) return;
  if (typeof expected === 'function') {
    if (expected.prototype !== undefined && error instanceof expected) return;
    if (expected === native.Error || Object.prototype.isPrototypeOf.call(native.Error, expected) ||
        expected.prototype instanceof native.Error || expected === Error) {
      if (expected === Error && error instanceof native.Error) return;
      throw error;
    }
    if (Reflect.apply(expected, {}, [error]) === true) return;
    fail(message ?? `The ${expected.name ? `"${expected.name}" ` : ''}validation function is expected to return "true".`, name, error, expected);
  }
  if (expected instanceof RegExp) {
    if (expected.test(`${error}`)) return;
    fail(message ?? `The input did not match the regular expression ${inspect(expected)}. Input:\n\n${inspect(`${error}`)}\n`, name, error, expected);
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
    const pick = (from) => Object.fromEntries(keys.filter((one) => from && one in from).map((one) => [one, from[one]]));
    fail(message ?? describe('deepStrictEqual', pick(error), pick(expected)), name, error, expected);
  }
}
function split(expected, message) {
  return typeof expected === 'string' ? [undefined, expected] : [expected, message];
}

Object.assign(assert, {
  AssertionError, ok,
  fail(message = 'Failed') {
    if (message instanceof native.Error) throw message;
    throw new AssertionError({ message, operator: 'fail' });
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
      fail(`Missing expected exception${expected?.name ? ` (${expected.name})` : ''}${message ? `: ${message}` : '.'}`, 'throws', undefined, expected);
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
    try {
      await (typeof promise === 'function' ? promise() : promise);
    } catch (error) {
      thrown = { error };
    }
    if (thrown === undefined) {
      fail(`Missing expected rejection${expected?.name ? ` (${expected.name})` : ''}${message ? `: ${message}` : '.'}`, 'rejects', undefined, expected);
    }
    matches(thrown.error, expected, message, 'rejects');
  },
  async doesNotReject(promise, ...rest) {
    const [expected, message] = split(...rest);
    try {
      await (typeof promise === 'function' ? promise() : promise);
    } catch (error) {
      fail(`Got unwanted rejection${message ? `: ${message}` : '.'}\nActual message: "${error?.message}"`, 'doesNotReject', error, expected);
    }
  },
  ifError(value) {
    if (value === null || value === undefined) return;
    const text = typeof value === 'object' && typeof value.message === 'string' ? value.message : inspect(value);
    throw new AssertionError({ message: `ifError got unwanted exception: ${text}`, operator: 'ifError', actual: value, expected: null });
  },
  match(text, pattern, message) {
    if (!(pattern instanceof RegExp)) throw new codes.ERR_INVALID_ARG_TYPE('regexp', 'RegExp', pattern);
    if (typeof text !== 'string' || !pattern.test(text)) {
      fail(message ?? (typeof text === 'string'
        ? `The input did not match the regular expression ${inspect(pattern)}. Input:\n\n${inspect(text)}\n`
        : `The "string" argument must be of type string. Received type ${typeof text} (${inspect(text)})`), 'match', text, pattern);
    }
  },
  doesNotMatch(text, pattern, message) {
    if (!(pattern instanceof RegExp)) throw new codes.ERR_INVALID_ARG_TYPE('regexp', 'RegExp', pattern);
    if (typeof text !== 'string' || pattern.test(text)) {
      fail(message ?? `The input was expected to not match the regular expression ${inspect(pattern)}. Input:\n\n${inspect(text)}\n`,
           'doesNotMatch', text, pattern);
    }
  },
});
assert.strict = Object.assign((...args) => ok(...args), assert, {
  equal: assert.strictEqual, notEqual: assert.notStrictEqual, deepEqual: assert.deepStrictEqual, notDeepEqual: assert.notDeepStrictEqual,
});
assert.strict.strict = assert.strict;
