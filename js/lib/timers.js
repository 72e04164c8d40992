// SPDX-License-Identifier: MIT
// node:timers
'use strict';

const { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate } = load('sched');
const { codes } = load('errors');

// The old interface, in which any object is a timer: enroll gives it a time, active starts it, its _onTimeout is called.
const kTimer = Symbol('timer');
const warned = new Set();
function warn(name, code) {
  if (warned.has(name)) return;
  warned.add(name);
  process.emitWarning(`timers.${name}() is deprecated. Please use ${name.endsWith('nroll') ? (name === 'enroll' ? 'setTimeout' : 'clearTimeout') : 'timeout.refresh'}() instead.`,
                      'DeprecationWarning', code);
}
function enroll(item, after) {
  warn('enroll', 'DEP0095');
  if (typeof after !== 'number') throw new codes.ERR_INVALID_ARG_TYPE('msecs', 'number', after);
  if (!(after >= 0 && Number.isFinite(after))) throw new codes.ERR_OUT_OF_RANGE('msecs', 'a non-negative finite number', after);
  if (item[kTimer] !== undefined) unenroll(item);
  if (after > 2147483647) {
    process.emitWarning(`${after} does not fit into a 32-bit signed integer.\nTimer duration was truncated to 2147483647.`, 'TimeoutOverflowWarning');
    after = 2147483647;
  }
  item._idleTimeout = Math.trunc(after);
}
function unenroll(item) {
  warn('unenroll', 'DEP0096');
  if (item[kTimer] !== undefined) clearTimeout(item[kTimer]);
  item[kTimer] = undefined;
  item._idleTimeout = -1;
}
function start(item, ref) {
  if (!(item._idleTimeout >= 0)) return;
  if (item[kTimer] !== undefined) clearTimeout(item[kTimer]);
  Object.defineProperty(item, kTimer, {
    configurable: true, writable: true, enumerable: false,
    value: setTimeout(() => {
      item[kTimer] = undefined;
      item._onTimeout?.();
    }, item._idleTimeout),
  });
  if (!ref) item[kTimer].unref();
}
function active(item) {
  warn('active', 'DEP0126');
  start(item, true);
}
function _unrefActive(item) {
  warn('_unrefActive', 'DEP0127');
  start(item, false);
}

module.exports = {
  enroll, unenroll, active, _unrefActive,
  setTimeout, clearTimeout, setImmediate, clearImmediate, setInterval, clearInterval,
  get promises() { return load('timers_promises'); },
};
