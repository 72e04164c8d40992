// SPDX-License-Identifier: MIT
// node:timers
'use strict';

const { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate } = load('sched');
module.exports = {
  setTimeout, clearTimeout, setImmediate, clearImmediate, setInterval, clearInterval,
  get promises() { return load('timers_promises'); },
};
