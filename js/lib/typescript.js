// SPDX-License-Identifier: MIT
// TypeScript as Node runs it: types are replaced by blanks (npm: amaro, which is swc as WebAssembly), so that lines and columns stay. What has a
// meaning at run time (enums, namespaces with values, parameter properties) cannot be stripped and is an error. The stripper takes a tenth of a
// second to begin; what it made is kept with the rewritten modules, and it is not loaded when all is there.
'use strict';

const { codes } = load('errors');

function failed(error, file) {
  if (typeof error?.code !== 'string') return error;
  const code = error.code === 'UnsupportedSyntax' ? 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX' : 'ERR_INVALID_TYPESCRIPT_SYNTAX';
  const made = new SyntaxError(error.message);
  made.code = code;
  Object.defineProperty(made, 'stack', {
    value: `SyntaxError [${code}]: ${error.message}\n    at ${file}:${error.startLine}:${error.startColumn + 1}`, writable: true, configurable: true,
  });
  return made;
}

const done = new Map(); // file -> what was made of its last text
// { code, isModule() }
function strip(text, file) {
  let made = done.get(file);
  if (made?.text === text) return made;
  if (file.includes('/node_modules/')) {
    throw Object.assign(new Error(`Stripping types is currently unsupported for files under node_modules, for "${file}"`),
      { code: 'ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING' });
  }
  // An entry: whether it is a module (m, s, or ? as long as nobody asked), and the code.
  const key = `types\0${text}`;
  const kept = binding.keptModule(key);
  let kind = kept?.[0] ?? '?';
  let code = kept?.slice(1);
  if (code === undefined) {
    if (binding.source('npm/amaro/dist/internal.js') === undefined) {
      throw new codes.ERR_FEATURE_UNAVAILABLE_ON_PLATFORM('TypeScript, because this build lacks the npm package amaro,');
    }
    try {
      ({ code } = load('npm:amaro').transformSync(text, { mode: 'strip-only', filename: file }));
    } catch (error) {
      throw failed(error, file);
    }
    binding.keepModule(key, `?${code}`);
  }
  made = {
    text, code,
    isModule() {
      if (kind === '?') {
        kind = load('modules')[Symbol.for('vigil.host')].isModuleText(code) ? 'm' : 's';
        binding.keepModule(key, `${kind}${code}`);
      }
      return kind === 'm';
    },
  };
  done.set(file, made);
  return made;
}

module.exports = { strip };
