// SPDX-License-Identifier: MIT
// node:timers/promises
'use strict';

const sched = load('sched');
const { codes, AbortError, validateAbortSignal } = load('errors');

function check(options) {
  if (options === null || typeof options !== 'object') throw new codes.ERR_INVALID_ARG_TYPE('options', 'Object', options);
  validateAbortSignal(options.signal, 'options.signal');
  if (options.ref !== undefined && typeof options.ref !== 'boolean') {
    throw new codes.ERR_INVALID_ARG_TYPE('options.ref', 'boolean', options.ref);
  }
}
const aborted = (signal) => new AbortError(undefined, { cause: signal.reason });

function waitFor(start, stop, options) {
  try {
    check(options);
  } catch (error) {
    return Promise.reject(error);
  }
  const { signal, ref = true } = options;
  if (signal?.aborted) return Promise.reject(aborted(signal));
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      stop(timer);
      reject(aborted(signal));
    };
    const timer = start((value) => {
      signal?.removeEventListener('abort', onAbort);
      resolve(value);
    });
    if (!ref) timer.unref();
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

function setTimeout(after, value, options = {}) {
  if (after !== undefined && typeof after !== 'number') {
    return Promise.reject(new codes.ERR_INVALID_ARG_TYPE('delay', 'number', after));
  }
  return waitFor((done) => sched.setTimeout(done, after, value), sched.clearTimeout, options);
}
function setImmediate(value, options = {}) {
  return waitFor((done) => sched.setImmediate(done, value), sched.clearImmediate, options);
}
async function* setInterval(after, value, options = {}) {
  check(options);
  const { signal, ref = true } = options;
  if (signal?.aborted) throw aborted(signal);
  let missed = 0;
  let wake = null;
  const notify = () => {
    wake?.();
    wake = null;
  };
  const timer = sched.setInterval(() => {
    missed++;
    notify();
  }, after);
  if (!ref) timer.unref();
  signal?.addEventListener('abort', notify, { once: true });
  try {
    for (;;) {
      if (signal?.aborted) throw aborted(signal);
      if (missed === 0) {
        await new Promise((resolve) => {
          wake = resolve;
        });
        continue;
      }
      for (; missed > 0; missed--) yield value;
    }
  } finally {
    sched.clearInterval(timer);
    signal?.removeEventListener('abort', notify);
  }
}

class Scheduler {
  constructor() { throw new codes.ERR_ILLEGAL_CONSTRUCTOR(); }
  yield() {
    if (!(this instanceof Scheduler)) throw new codes.ERR_INVALID_THIS('Scheduler');
    return setImmediate();
  }
  wait(after, options) {
    if (!(this instanceof Scheduler)) throw new codes.ERR_INVALID_THIS('Scheduler');
    return setTimeout(after, undefined, options);
  }
}

module.exports = {
  setTimeout, setImmediate, setInterval,
  scheduler: Object.create(Scheduler.prototype),
};
