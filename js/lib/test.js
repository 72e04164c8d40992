// SPDX-License-Identifier: MIT
// node:test: tests, suites, hooks, mocks (test_mock.js). What is reported, and how, is in test_report.js.
//
// Tests run one after the other, in the order in which they were declared. The body of a suite runs when the suite is declared. The first test
// of a program starts in the tick after its declaration; the account is closed when the loop has nothing left to do.
'use strict';

const { codes, validateAbortSignal, validateFunction } = load('errors');
const { reporter } = load('test_report');
const { MockTracker } = load('test_mock');

const now = () => binding.preciseNow();
let building = null; // the suite whose body runs
let root = null;

function failure(cause, failureType, message = undefined) {
  const text = message ?? (cause instanceof Error ? cause.message : load('util').inspect(cause));
  return Object.assign(new Error(text), { code: 'ERR_TEST_FAILURE', failureType, cause });
}

// ---- context ------------------------------------------------------------------------------------------------------

class TestContext {
  #test;
  constructor(test) {
    this.#test = test;
  }
  get name() { return this.#test.name; }
  get signal() { return this.#test.controller().signal; }
  get assert() { return load('assert'); }
  get mock() { return this.#test.mock ??= new MockTracker(); }
  diagnostic(message) { this.#test.diagnostics.push(`${message}`); }
  skip(message = undefined) { this.#test.skipped = message === undefined ? true : message; }
  todo(message = undefined) { this.#test.todo = message === undefined ? true : message; }
  test(...args) {
    const child = new Test(this.#test, ...parse(args));
    return this.#test.runChild(child);
  }
  before(fn, options) { this.#test.addHook('before', fn, options); }
  after(fn, options) { this.#test.addHook('after', fn, options); }
  beforeEach(fn, options) { this.#test.addHook('beforeEach', fn, options); }
  afterEach(fn, options) { this.#test.addHook('afterEach', fn, options); }
}
class SuiteContext {
  #suite;
  constructor(suite) {
    this.#suite = suite;
  }
  get name() { return this.#suite.name; }
  get signal() { return this.#suite.controller().signal; }
}

// A function that takes one argument more than it is given wants to be called back.
function call(fn, self, args) {
  if (fn.length !== args.length + 1) return fn.apply(self, args);
  return new Promise((resolve, reject) => {
    const done = (error) => (error ? reject(error) : resolve());
    const result = fn.apply(self, [...args, done]);
    if (typeof result?.then === 'function') reject(failure(undefined, 'callbackAndPromisePresent', 'passed a callback but also returned a Promise'));
  });
}

// ---- tests --------------------------------------------------------------------------------------------------------

function parse(args) {
  let [name, options, fn] = args;
  if (typeof name === 'function') [name, options, fn] = [undefined, undefined, name];
  else if (name !== null && typeof name === 'object') [name, options, fn] = [undefined, name, options];
  else if (typeof options === 'function') [options, fn] = [undefined, options];
  return [name, options ?? {}, fn];
}

function checkTimeout(timeout) {
  if (timeout === undefined || timeout === null || timeout === Infinity) return;
  if (typeof timeout !== 'number') throw new codes.ERR_INVALID_ARG_TYPE('options.timeout', 'number', timeout);
  if (!(timeout >= 0 && timeout <= 2 ** 31 - 1)) throw new codes.ERR_OUT_OF_RANGE('options.timeout', `>= 0 && <= ${2 ** 31 - 1}`, timeout);
}
class Test {
  constructor(parent, name, options, fn, suite = false) {
    const { skip, todo, timeout, signal } = options;
    checkTimeout(timeout);
    validateAbortSignal(signal, 'options.signal');
    Object.assign(this, {
      parent, suite, fn: fn ?? (() => {}), name: name || fn?.name || '<anonymous>', timeout, signal,
      skipped: skip !== undefined && skip !== false ? skip : parent?.skipped ? true : undefined, todo: todo !== undefined && todo !== false ? todo : undefined,
      children: [], count: 0, failed: 0, hooks: { before: [], after: [], beforeEach: [], afterEach: [] }, diagnostics: [], error: null, state: 'waiting',
      place: new Error().stack.split('\n').slice(1).map((line) => /\(?([^()\s]+:\d+:\d+)\)?$/.exec(line)?.[1]).find((found) => found !== undefined),
      started: now(), abort: null, mock: null, prepared: false, queue: Promise.resolve(),
    });
    this.depth = parent === null ? -1 : parent.depth + 1;
    this.result = new Promise((resolve) => { this.settle = resolve; });
    this.broken = Promise.withResolvers(); // rejected by an error that nobody caught while it ran
    this.broken.promise.catch(() => {});
  }
  controller() { return this.abort ??= new AbortController(); }
  addHook(kind, fn, options = undefined) {
    validateFunction(fn, 'fn');
    checkTimeout(options?.timeout);
    this.hooks[kind].push({ fn, timeout: options?.timeout });
  }
  async runHooks(kind, self) {
    for (const { fn, timeout } of this.hooks[kind]) {
      try {
        await limited(call(fn, self, [self]), timeout, undefined);
      } catch (error) {
        throw failure(error, 'hookFailed', `failed running ${kind} hook`);
      }
    }
  }
  // Hooks of all around it: the outermost first, and back.
  async around(kind, self) {
    const chain = [];
    for (let at = this.parent; at !== null; at = at.parent) chain.push(at);
    if (kind === 'beforeEach') chain.reverse();
    for (const owner of chain) await owner.runHooks(kind, self);
  }
  async prepare(self) {
    if (this.prepared) return;
    this.prepared = true;
    await this.runHooks('before', self);
  }
  // One after the other.
  runChild(child) {
    this.count++;
    child.number = this.count;
    this.children.push(child);
    const run = this.queue.then(() => child.run());
    this.queue = run;
    return run;
  }
  async body(context) {
    await this.parent.prepare(context);
    if (!this.suite) await this.around('beforeEach', context);
    if (this.suite) {
      await this.prepare(context);
      await this.building;
      for (const child of this.declared) await this.runChild(child);
    } else {
      await call(this.fn, context, [context]);
      for (let seen = -1; seen !== this.count;) {
        seen = this.count;
        await this.queue;
      }
    }
  }
  async run() {
    if (this.state !== 'waiting') return;
    this.state = 'running';
    this.started = now();
    root.running.add(this);
    reporter.start(this);
    const context = this.suite ? new SuiteContext(this) : new TestContext(this);
    if (this.skipped === undefined) {
      let error = this.thrown ?? null;
      const attempt = async (step) => {
        try {
          await step();
        } catch (thrown) {
          error ??= thrown?.failureType === undefined ? failure(thrown, 'testCodeFailure') : thrown;
        }
      };
      if (error === null) await attempt(() => Promise.race([limited(this.body(context), this.timeout, this.signal), this.broken.promise]));
      if (!this.suite) await attempt(() => this.around('afterEach', context));
      await attempt(() => this.runHooks('after', context));
      if (error === null && this.failed > 0) error = failure(undefined, 'subtestsFailed', `${this.failed} subtest${this.failed > 1 ? 's' : ''} failed`);
      this.error ??= error;
    }
    this.finish();
  }
  finish() {
    if (this.state === 'over') return;
    this.state = 'over';
    root.running.delete(this);
    this.mock?.restoreAll();
    this.abort?.abort();
    this.duration = now() - this.started;
    if (this.error !== null && this.todo === undefined && this.parent !== null) this.parent.failed++;
    reporter.end(this);
    this.settle();
  }
}

function limited(promise, timeout, signal) {
  if ((timeout === undefined || timeout === null || timeout === Infinity) && signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const timer = timeout === undefined || timeout === null || timeout === Infinity ? undefined
      : setTimeout(() => reject(failure(undefined, 'testTimeoutFailure', `test timed out after ${timeout}ms`)), timeout);
    const abort = () => reject(failure(signal.reason, 'testAborted', 'This operation was aborted'));
    if (signal?.aborted) abort();
    signal?.addEventListener('abort', abort, { once: true });
    Promise.resolve(promise).then(resolve, reject).finally(() => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    });
  });
}

// ---- the program --------------------------------------------------------------------------------------------------

function rootOf() {
  if (root !== null) return root;
  root = new Test(null, '<root>', {}, undefined, true);
  root.running = new Set();
  root.prepared = false;
  process.once('beforeExit', closeAccount);
  process.on('uncaughtException', uncaught);
  process.on('unhandledRejection', uncaught);
  return root;
}
// It fails the test that runs: the innermost one, because tests run one after the other.
function uncaught(error) {
  const test = [...root.running].at(-1);
  if (test !== undefined) {
    test.broken.reject(failure(error, 'uncaughtException'));
    return;
  }
  root.failed++;
  binding.write(2, `${error instanceof Error ? error.stack : load('util').inspect(error)}\n`);
}
async function closeAccount() {
  // The loop has nothing left to do: what still runs never ends.
  const text = 'Promise resolution is still pending but the event loop has already resolved';
  for (const test of [...root.running].reverse()) {
    test.error = failure(undefined, 'cancelledByParent', text);
    test.finish();
  }
  for (const test of root.children) {
    if (test.state !== 'waiting') continue;
    test.state = 'running';
    reporter.start(test);
    test.error = failure(undefined, 'cancelledByParent', text);
    test.finish();
  }
  try {
    await root.runHooks('after', new SuiteContext(root));
  } catch (error) {
    root.failed++;
    root.error = error;
  }
  reporter.close(root, now() - root.started);
  if (root.failed > 0) process.exitCode = 1;
}

function declare(args, suite, extra = undefined) {
  const [name, options, fn] = parse(args);
  const parent = building ?? rootOf();
  const test = new Test(parent, name, { ...options, ...extra }, fn, suite);
  if (suite) {
    test.declared = [];
    const before = building;
    building = test;
    try {
      if (test.skipped === undefined) test.building = test.fn.call(new SuiteContext(test), new SuiteContext(test));
    } catch (error) {
      test.thrown = failure(error, 'testCodeFailure');
    } finally {
      building = before;
    }
  }
  if (parent === root) parent.runChild(test);
  else parent.declared.push(test);
  return suite ? undefined : test.result;
}
function family(suite) {
  const main = (...args) => declare(args, suite);
  for (const kind of ['skip', 'todo', 'only']) main[kind] = (...args) => declare(args, suite, kind === 'only' ? undefined : { [kind]: true });
  return main;
}
const test = family(false);
const describe = family(true);
Object.defineProperty(test, 'name', { value: 'test' });
const hook = (kind) => (fn, options) => (building ?? rootOf()).addHook(kind, fn, options);

module.exports = Object.assign(test, {
  test, it: test, describe, suite: describe, before: hook('before'), after: hook('after'), beforeEach: hook('beforeEach'), afterEach: hook('afterEach'),
  mock: new MockTracker(), MockTracker,
});
