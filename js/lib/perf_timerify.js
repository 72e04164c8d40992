// SPDX-License-Identifier: MIT
// performance.timerify.
'use strict';

const { codes, validateFunction, validateObject } = load('errors');
const { announceCall } = load('perf_timeline');

// Calls of what it returns are entries for those who observe 'function', and values of `histogram` in nanoseconds.
function timerify(fn, options = {}) {
  validateFunction(fn, 'fn');
  validateObject(options, 'options');
  const { histogram } = options;
  if (histogram !== undefined && typeof histogram?.record !== 'function') {
    throw new codes.ERR_INVALID_ARG_TYPE('options.histogram', 'RecordableHistogram', histogram);
  }
  function finish(start, args) {
    const duration = binding.preciseNow() - start;
    histogram?.record(Math.max(1, Math.ceil(duration * 1e6)));
    announceCall(fn.name, start, duration, args);
  }
  function timerified(...args) {
    const start = binding.preciseNow();
    const result = new.target ? Reflect.construct(fn, args, fn) : Reflect.apply(fn, this, args);
    if (!new.target && typeof result?.finally === 'function') return result.finally(() => finish(start, args));
    finish(start, args);
    return result;
  }
  return Object.defineProperties(timerified, {
    length: { configurable: false, enumerable: true, value: fn.length },
    name: { configurable: false, enumerable: true, value: `timerified ${fn.name}` },
  });
}

module.exports = { timerify };
