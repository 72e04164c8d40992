// SPDX-License-Identifier: MIT
// util.inspect and util.format: Node's own, from the npm package node-inspect-extracted, with what the engine knows.
'use strict';

const lib = load('npm:node-inspect-extracted');
const { stackOf, native } = load('errors');
const custom = Symbol.for('nodejs.util.inspect.custom');

// Errors that the engine threw get their Node form when they are shown.
Object.defineProperty(native.Error.prototype, custom, {
  configurable: true, writable: true, enumerable: false,
  value: function () {
    try {
      stackOf(this);
    } catch {
      // Then it is shown as it is.
    }
    return this;
  },
});

function wrapLines(open, body, options) {
  const one = `${open} ${body} }`;
  const width = options.breakLength === undefined ? 80 : options.breakLength;
  if (options.compact !== false && !body.includes('\n') && one.length <= Math.min(width, 76)) return one;
  return `${open}\n  ${body.replace(/\n/g, '\n  ')}\n}`;
}

Object.defineProperty(Promise.prototype, custom, {
  configurable: true, writable: true, enumerable: false,
  value: function (depth, options, inspect) {
    const look = binding.promiseState(this);
    if (look === undefined) return this;
    const name = this.constructor?.name || 'Promise';
    if (depth < 0) return options.stylize(`[${name}]`, 'special');
    let body;
    if (look[0] === 'pending') {
      body = options.stylize('<pending>', 'special');
    } else {
      const inner = { ...options, depth: options.depth === null ? null : options.depth - 1 };
      const shown = inspect(look[1], inner);
      body = look[0] === 'rejected' ? `${options.stylize('<rejected>', 'special')} ${shown}` : shown;
    }
    const open = name === 'Promise' ? 'Promise {' : `${name} [Promise] {`;
    const keys = Object.keys(this);
    for (const key of keys) body += `, ${key}: ${inspect(this[key], options)}`;
    return wrapLines(open, body, options);
  },
});

lib.inspect.custom = custom;
module.exports = lib;
