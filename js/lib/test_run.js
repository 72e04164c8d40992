// SPDX-License-Identifier: MIT
// vigil:test: what `vigil run --test` is made of. It finds files of tests, runs each in a process of its own, some at a time, and reports what
// they did in the order of their names. A file's own output comes before its results.
'use strict';

const fs = load('fs');
const path = load('path');
const { choose, output, reporter, sendTo } = load('test_report');

// ---- files --------------------------------------------------------------------------------------------------------

const NAMED = /(^|\/)(test|test-[^/]*|[^/]*[._-]test)\.[cm]?[jt]s$/;
const IN_TEST = /(^|\/)test\/(.*\/)?[^/]*\.[cm]?[jt]s$/;

// Files below a folder, relative to it, in the order of their names. node_modules and hidden folders have no tests of the program.
function walk(folder, prefix, found) {
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    const name = `${prefix}${entry.name}`;
    if (entry.isDirectory()) {
      if (entry.name !== 'node_modules' && !entry.name.startsWith('.')) walk(`${folder}/${entry.name}`, `${name}/`, found);
    } else if (entry.isFile()) {
      found.push(name);
    }
  }
  return found;
}

// A pattern as Node has them: ** * ? [a-z] {a,b} ?(a|b) *(a|b) +(a|b) @(a|b)
function toRegExp(pattern) {
  let text = '';
  const open = []; // what ends each group
  for (let i = 0; i < pattern.length; i++) {
    const letter = pattern[i];
    const next = pattern[i + 1];
    if (next === '(' && '?*+@'.includes(letter)) {
      text += '(?:';
      open.push(letter === '@' ? ')' : `)${letter}`);
      i++;
    } else if (letter === ')' && open.length > 0 && open.at(-1) !== '}') {
      text += open.pop();
    } else if (letter === '|' && open.length > 0) {
      text += '|';
    } else if (letter === '{' && pattern.includes('}', i)) {
      text += '(?:';
      open.push('}');
    } else if (letter === '}' && open.at(-1) === '}') {
      text += ')';
      open.pop();
    } else if (letter === ',' && open.at(-1) === '}') {
      text += '|';
    } else if (letter === '*' && next === '*') {
      i++;
      if (pattern[i + 1] === '/') {
        text += '(?:.*/)?';
        i++;
      } else {
        text += '.*';
      }
    } else if (letter === '*') {
      text += '[^/]*';
    } else if (letter === '?') {
      text += '[^/]';
    } else if (letter === '[' && pattern.includes(']', i)) {
      const end = pattern.indexOf(']', i);
      text += `[${pattern.slice(i + 1, end).replace(/^!/, '^').replaceAll('\\', '\\\\')}]`;
      i = end;
    } else {
      text += letter.replace(/[\\^$.*+?()[\]{}|/]/, '\\$&');
    }
  }
  return new RegExp(`^${text}$`);
}

// Names as a person would type them: relative to the current folder if they are below it.
function find(words) {
  const here = process.cwd();
  if (words.length === 0) return walk(here, '', []).filter((name) => NAMED.test(name) || IN_TEST.test(name)).sort();
  const files = new Set();
  for (const word of words) {
    const kind = binding.fileKind(path.resolve(word));
    const { FILE, FOLDER } = load('constants').fileKind;
    let found;
    if (kind === FILE) {
      found = [path.resolve(word)];
    } else if (kind === FOLDER) {
      const folder = path.resolve(word);
      found = walk(folder, '', []).map((name) => path.join(folder, name)).filter((name) => {
        const shown = path.relative(here, name);
        return NAMED.test(shown) || IN_TEST.test(shown);
      });
    } else {
      const full = path.resolve(word);
      const folder = path.dirname(full.slice(0, full.search(/[*?[{+@!]|$/) + 1));
      const wanted = toRegExp(full);
      found = binding.fileKind(folder) === FOLDER ? walk(folder, '', []).map((name) => path.join(folder, name)).filter((name) => wanted.test(name)) : [];
    }
    if (found.length === 0 && kind !== FOLDER) return word;
    for (const name of found) files.add(path.relative(here, name));
  }
  return [...files].sort();
}

// ---- one file -----------------------------------------------------------------------------------------------------

function start(file, options) {
  return new Promise((resolve) => {
    const started = binding.preciseNow();
    const child = load('child_process').spawn(process.execPath, [...options, '--test-child', '--', path.resolve(file)], { stdio: ['ignore', 'pipe', 'pipe', 'pipe'] });
    const texts = ['', '', ''];
    for (let i = 1; i <= 3; i++) {
      child.stdio[i].setEncoding('utf8');
      child.stdio[i].on('data', (text) => { texts[i - 1] += text; });
    }
    let failed;
    child.on('error', (error) => { failed = error; });
    child.on('close', (code, signal) => {
      resolve({ file, code, signal, failed, out: texts[0], err: texts[1], events: texts[2], duration: binding.preciseNow() - started });
    });
  });
}

function errorFrom(data) {
  const error = Object.assign(new Error(data.message), { code: 'ERR_TEST_FAILURE', failureType: data.failureType });
  if (data.cause === undefined) return error;
  const { message, name, code, stack, expected, actual, operator } = data.cause;
  const back = (it) => (it?.text === undefined ? it?.value : { [Symbol.for('nodejs.util.inspect.custom')]: () => it.text });
  error.cause = new Error(message);
  for (const [key, value] of Object.entries({ name, code, stack, expected: back(expected), actual: back(actual), operator })) {
    Object.defineProperty(error.cause, key, { value, writable: true, configurable: true });
  }
  return error;
}
function report(root, made) {
  output(made.out);
  output(made.err);
  const tests = new Map();
  const finish = (test) => {
    reporter.end(test);
    if (test.depth === 0 && test.error !== null && test.todo === undefined) root.failed++;
  };
  const failedBefore = root.failed;
  const begin = (data) => {
    const test = { ...data, parent: tests.get(data.parent) ?? root, count: 0, diagnostics: [], error: null, skipped: undefined, todo: undefined };
    if (test.depth === 0) root.count++;
    reporter.start(test);
    return test;
  };
  for (const line of made.events.split('\n')) {
    let data;
    try {
      data = JSON.parse(line);
    } catch {
      continue; // the last one of a program that was killed
    }
    if (data.is === 'start') {
      tests.set(data.id, begin(data));
      continue;
    }
    const test = tests.get(data.id);
    Object.assign(test, data, { over: true, parent: test.parent, error: data.error === null ? null : errorFrom(data.error) });
    if (test.depth === 0) test.number = root.count;
    finish(test);
  }
  // Those that were under way when the program ended.
  for (const test of [...tests.values()].reverse()) {
    if (test.over) continue;
    test.number ??= test.depth === 0 ? root.count : 1;
    test.duration = made.duration;
    test.error = errorFrom({ message: 'the program ended before the test did', failureType: 'cancelledByParent' });
    finish(test);
  }
  // A program without tests is one; so is one that fails without a test that does.
  const bad = made.code !== 0;
  if (!bad && tests.size > 0) return;
  if (bad && root.failed > failedBefore) return;
  const test = begin({ id: -1, depth: 0, name: made.file, suite: false });
  test.number = root.count;
  test.duration = made.duration;
  if (bad) {
    test.place = `${path.resolve(made.file)}:1:1`;
    test.error = errorFrom({ message: made.failed?.message ?? 'test failed', failureType: 'testCodeFailure' });
    Object.assign(test.error, { exitCode: made.signal === null ? made.code : null, signal: made.signal });
  }
  finish(test);
}

// ---- all ----------------------------------------------------------------------------------------------------------

// The words behind the options are in process.argv.
async function main({ options = [], reporter: name, concurrency }) {
  const files = find(process.argv.slice(1));
  if (typeof files === 'string') {
    binding.write(2, `Could not find '${files}'\n`);
    process.exitCode = 1;
    return;
  }
  choose(name);
  const root = { depth: -1, parent: null, count: 0, failed: 0 };
  const started = binding.preciseNow();
  const most = concurrency ?? Math.max(1, load('os').availableParallelism() - 1);
  const running = [];
  for (let next = 0, shown = 0; shown < files.length; shown++) {
    for (; next < files.length && next < shown + most; next++) running.push(start(files[next], options));
    report(root, await running[shown]);
  }
  reporter.close(root, binding.preciseNow() - started);
  if (root.failed > 0) process.exitCode = 1;
}

module.exports = { main, sendTo };
