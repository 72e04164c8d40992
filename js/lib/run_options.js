// SPDX-License-Identifier: MIT
// Options of `vigil run` that Node has too, and that are carried out in JavaScript. Loaded only if there is one.
'use strict';

const options = process[Symbol.for('vigil.options')];
const MODES = ['none', 'warn', 'strict', 'throw', 'warn-with-error-code'];

const simple = {
  'no-warnings': () => options.noWarnings(),
  'no-deprecation'() { process.noDeprecation = true; },
  'throw-deprecation'() { process.throwDeprecation = true; },
  'trace-deprecation'() { process.traceDeprecation = true; },
  'trace-warnings'() { process.traceWarnings = true; },
  'pending-deprecation'() { binding.pendingDeprecation = true; },
  'expose-gc'() {
    Object.defineProperty(globalThis, 'gc', { value: () => binding.collect(), writable: true, configurable: true, enumerable: false });
  },
};
const valued = {
  'unhandled-rejections'(mode) {
    if (!MODES.includes(mode)) return `--unhandled-rejections must be one of ${MODES.join(', ')}`;
    options.rejections(mode);
    return undefined;
  },
  title(text) { process.title = text; },
};

// ["--name", "--name=value", ...]: carried out in order. The text of an error, if there is one.
function apply(list) {
  for (const word of list) {
    const at = word.indexOf('=');
    const name = word.slice(2, at < 0 ? undefined : at).replaceAll('_', '-');
    const wrong = at < 0 ? simple[name]() : valued[name](word.slice(at + 1));
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}
// What runs before the program: files and packages, named as from the working directory.
function preload(names) {
  const require = load('modules').createRequire(load('path').join(process.cwd(), '[preload]'));
  for (const name of names) require(name);
}

// All words before the program; those of them that are for apply; what to load first; --input-type, and whether a text's value is printed.
function begin(words, list, first, inputType, printText) {
  process.execArgv = words;
  const host = load('modules')[Symbol.for('vigil.host')];
  if (inputType !== '' && inputType !== 'module' && inputType !== 'commonjs') return '--input-type must be module or commonjs';
  host.inputType = inputType || undefined;
  host.printText = printText;
  const wrong = apply(list);
  if (wrong === undefined) preload(first);
  return wrong;
}

module.exports = { begin };
