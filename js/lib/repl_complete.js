// SPDX-License-Identifier: MIT
// Completion for the REPL: commands, names of modules and files inside require and import, globals, and properties.
'use strict';

const fs = load('fs');
const path = load('path');

const KEYWORDS = ('async await break case catch class const continue debugger default delete do else export extends false finally for ' +
  'function if import in instanceof let new null return super switch this throw true try typeof undefined var void while with yield').split(' ');
const IDENTIFIER = /^[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*$/u;

function properties(value) {
  const names = new Set();
  for (let object = Object(value), depth = 0; object !== null && depth < 8; object = Object.getPrototypeOf(object), depth++) {
    for (const name of Object.getOwnPropertyNames(object)) {
      if (IDENTIFIER.test(name)) names.add(name);
    }
  }
  return names;
}

// The value of "a.b.c" without calling a getter of the program's.
function valueOf(chain, context) {
  const [first, ...rest] = chain;
  let value;
  if (first === 'this') value = globalThis;
  else if (first in globalThis) value = globalThis[first];
  else if (context.names.has(first)) value = binding.compile(first, 'vigil:repl', 1);
  else return undefined;
  for (const name of rest) {
    if (value === undefined || value === null) return undefined;
    let object = Object(value);
    let found;
    while (object !== null && (found = Object.getOwnPropertyDescriptor(object, name)) === undefined) object = Object.getPrototypeOf(object);
    if (found === undefined || found.get !== undefined) return undefined;
    value = found.value;
  }
  return value;
}

function files(stem) {
  const folder = stem.endsWith('/') ? stem : `${path.dirname(stem)}/`;
  const head = stem.slice(0, stem.lastIndexOf('/') + 1);
  try {
    return fs.readdirSync(folder, { withFileTypes: true })
      .filter((one) => one.isDirectory() || /\.(c?js|mjs|json)$/.test(one.name))
      .map((one) => `${head}${one.name}${one.isDirectory() ? '/' : ''}`);
  } catch {
    return [];
  }
}
function packages() {
  const names = [];
  for (const folder of load('modules')._nodeModulePaths(process.cwd())) {
    try {
      for (const name of fs.readdirSync(folder)) {
        if (name.startsWith('@')) names.push(...fs.readdirSync(`${folder}/${name}`).map((one) => `${name}/${one}`));
        else if (!name.startsWith('.')) names.push(name);
      }
    } catch {
      // There is no such folder.
    }
  }
  return names;
}
function modules(stem) {
  if (/^\.{0,2}\//.test(stem)) return files(stem);
  const builtins = Object.keys(binding.builtins);
  return [...builtins, ...builtins.filter((name) => !name.startsWith('vigil:')).map((name) => `node:${name}`), ...packages()];
}

// The candidates for the end of `line`, and how many characters of it they replace.
function complete(line, context) {
  let stem = '';
  let all = [];
  const command = /^\s*\.([a-z]*)$/.exec(line);
  const quoted = /\b(?:require|import)\s*\(\s*(['"`])([^'"`]*)$/.exec(line);
  if (command !== null) {
    stem = command[1];
    all = context.commands;
  } else if (quoted !== null) {
    stem = quoted[2];
    all = modules(stem);
  } else {
    const [chain] = /(?:[\p{ID_Continue}$]+\??\.)*[\p{ID_Continue}$]*$/u.exec(line);
    const before = line.slice(0, line.length - chain.length);
    if (/[)\]'"`.]$/.test(before) && chain.startsWith('.')) return { matches: [], length: 0 };
    const parts = chain.split(/\??\./);
    stem = parts.pop();
    const head = chain.slice(0, chain.length - stem.length);
    if (parts.length === 0) {
      if (stem === '' && before.trim() !== '') return { matches: [], length: 0 };
      all = [...properties(globalThis), ...context.names, ...KEYWORDS];
    } else {
      let value;
      try {
        value = valueOf(parts, context);
        if (value !== undefined && value !== null) all = [...properties(value)].map((name) => head + name);
      } catch {
        all = [];
      }
      stem = chain;
    }
  }
  // What begins with "__" or "$" is the host's own or rarely meant.
  const matches = [...new Set(all)].filter((name) => name.startsWith(stem) && (stem !== '' || !/^(__|\$)/.test(name))).sort();
  return { matches, length: stem.length };
}

module.exports = { complete };
