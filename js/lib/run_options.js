// SPDX-License-Identifier: MIT
// Options of `vigil run` that Node has too, and that are carried out in JavaScript. Loaded only if there is one.
'use strict';

const options = process[Symbol.for('vigil.options')];
const MODES = ['none', 'warn', 'strict', 'throw', 'warn-with-error-code'];

// The least of the least versions and the greatest of the greatest, as in Node. lib/tls_context.js reads them.
function tlsVersion(side, version) {
  const given = binding.tlsDefaults ??= {};
  const name = `DEFAULT_${side}_VERSION`;
  if (given[name] === undefined || (side === 'MIN') === (version < given[name])) given[name] = version;
  return given.DEFAULT_MIN_VERSION === 'TLSv1.3' && given.DEFAULT_MAX_VERSION === 'TLSv1.2' ? 'either --tls-min-v1.3 or --tls-max-v1.2 can be used, not both' : undefined;
}
const simple = {
  'no-warnings': () => options.noWarnings(),
  'no-deprecation'() { process.noDeprecation = true; },
  'throw-deprecation'() { process.throwDeprecation = true; },
  'trace-deprecation'() { process.traceDeprecation = true; },
  'trace-warnings'() { process.traceWarnings = true; },
  'tls-min-v1.0': () => tlsVersion('MIN', 'TLSv1'),
  'tls-min-v1.1': () => tlsVersion('MIN', 'TLSv1.1'),
  'tls-min-v1.2': () => tlsVersion('MIN', 'TLSv1.2'),
  'tls-min-v1.3': () => tlsVersion('MIN', 'TLSv1.3'),
  'tls-max-v1.2': () => tlsVersion('MAX', 'TLSv1.2'),
  'tls-max-v1.3': () => tlsVersion('MAX', 'TLSv1.3'),
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
  'tls-cipher-list'(list) { (binding.tlsDefaults ??= {}).DEFAULT_CIPHERS = list; },
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
