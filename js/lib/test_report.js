// SPDX-License-Identifier: MIT
// What node:test prints: TAP, or marks and indents on a terminal. A file that `vigil run --test` has started sends it to test_run.js instead.
'use strict';

const counts = { tests: 0, suites: 0, pass: 0, fail: 0, cancelled: 0, skipped: 0, todo: 0 };
const write = (text) => process.stdout.write(text);

function kindOf(test) {
  if (test.skipped !== undefined) return 'skipped';
  if (test.todo !== undefined) return 'todo';
  if (test.error === null) return 'pass';
  return test.error.failureType === 'cancelledByParent' || test.error.failureType === 'testTimeoutFailure' ? 'cancelled' : 'fail';
}
function count(test) {
  if (test.suite) {
    counts.suites++;
    return;
  }
  counts.tests++;
  counts[kindOf(test)]++;
}
const milliseconds = (value) => +value.toFixed(6);

// ---- TAP ----------------------------------------------------------------------------------------------------------

const quoted = (text) => text.replace(/[\\#]/g, '\\$&');
function yaml(name, value, indent) {
  if (value === undefined) return '';
  if (typeof value === 'string' && value.includes('\n')) {
    return `${indent}${name}: |-\n${value.split('\n').map((line) => `${indent}  ${line}\n`).join('')}`;
  }
  if (value === null && name !== 'expected' && name !== 'actual') return `${indent}${name}: ~\n`;
  if (typeof value === 'string') return `${indent}${name}: '${value.replaceAll("'", "''")}'\n`;
  return `${indent}${name}: ${value !== null && typeof value === 'object' ? load('util').inspect(value, { breakLength: Infinity }) : `${value}`}\n`;
}
function errorLines(test, indent) {
  const { error } = test;
  const cause = error.cause instanceof Error ? error.cause : error;
  let text = yaml('location', test.place, indent) + yaml('failureType', error.failureType, indent);
  if (error.exitCode !== undefined) text += yaml('exitCode', error.exitCode, indent) + yaml('signal', error.signal, indent);
  text += yaml('error', cause.message, indent) + yaml('code', cause.code ?? 'ERR_TEST_FAILURE', indent);
  if (cause.name !== 'Error') text += yaml('name', cause.name, indent);
  if (cause.code === 'ERR_ASSERTION') {
    text += yaml('expected', cause.expected, indent) + yaml('actual', cause.actual, indent) + yaml('operator', cause.operator, indent);
  }
  if (cause === error) return text;
  const frames = `${cause.stack}`.split('\n').filter((line) => line.startsWith('    at ')).map((line) => line.slice(7));
  return frames.length === 0 ? text : text + `${indent}stack: |-\n${frames.map((frame) => `${indent}  ${frame}\n`).join('')}`;
}
const tap = {
  begun: false,
  begin() {
    if (!this.begun) write('TAP version 13\n');
    this.begun = true;
  },
  comment(text) {
    this.begin();
    for (const line of text.split('\n')) if (line !== '') write(`# ${quoted(line)}\n`);
  },
  start(test) {
    this.begin();
    write(`${'    '.repeat(test.depth)}# Subtest: ${quoted(test.name)}\n`);
  },
  end(test) {
    const indent = '    '.repeat(test.depth);
    let text = test.count > 0 ? `${indent}    1..${test.count}\n` : '';
    const mark = (word, why) => (why === undefined ? '' : ` # ${word}${typeof why === 'string' && why !== '' ? ` ${quoted(why)}` : ''}`);
    text += `${indent}${test.error === null ? 'ok' : 'not ok'} ${test.number} - ${quoted(test.name)}${mark('SKIP', test.skipped)}`;
    if (test.skipped === undefined) text += mark('TODO', test.todo);
    text += `\n${indent}  ---\n${indent}  duration_ms: ${milliseconds(test.duration)}\n`;
    if (test.suite) text += `${indent}  type: 'suite'\n`;
    if (test.error !== null) text += errorLines(test, `${indent}  `);
    text += `${indent}  ...\n`;
    for (const line of test.diagnostics) text += `${indent}# ${quoted(line)}\n`;
    write(text);
  },
  close(root, duration) {
    this.begin();
    let text = `1..${root.count}\n`;
    for (const name of Object.keys(counts)) text += `# ${name} ${counts[name]}\n`;
    write(`${text}# duration_ms ${milliseconds(duration)}\n`);
  },
};

// ---- for people ---------------------------------------------------------------------------------------------------

const marks = { pass: '\u2714', fail: '\u2716', cancelled: '\u2716', skipped: '\ufe63', todo: '\u26a0' };
const spec = {
  failed: [],
  open: new Set(), // whose head was written
  start() {},
  head(test) {
    if (test === null || test.depth < 0 || this.open.has(test)) return;
    this.head(test.parent);
    this.open.add(test);
    write(`${'  '.repeat(test.depth)}\u25b6 ${test.name}\n`);
  },
  end(test) {
    this.head(test.parent);
    const kind = kindOf(test);
    const why = [test.skipped, test.todo].find((word) => typeof word === 'string');
    const note = kind === 'skipped' ? ' # SKIP' : kind === 'todo' ? ' # TODO' : '';
    write(`${'  '.repeat(test.depth)}${marks[kind]} ${test.name} (${milliseconds(test.duration)}ms)${note}${why === undefined ? '' : ` ${why}`}\n`);
    for (const line of test.diagnostics) write(`${'  '.repeat(test.depth)}\u2139 ${line}\n`);
    if (kind === 'fail' || kind === 'cancelled') this.failed.push(test);
  },
  close(root, duration) {
    for (const name of Object.keys(counts)) write(`\u2139 ${name} ${counts[name]}\n`);
    write(`\u2139 duration_ms ${milliseconds(duration)}\n`);
    const real = this.failed.filter((test) => test.error.failureType !== 'subtestsFailed');
    if (real.length > 0) write('\n\u2716 failing tests:\n');
    for (const test of real) {
      const shown = test.error.cause instanceof Error ? test.error.cause.stack : test.error.message;
      write(`\ntest at ${test.place}\n\u2716 ${test.name} (${milliseconds(test.duration)}ms)\n  ${`${shown}`.replaceAll('\n', '\n  ')}\n`);
    }
  },
};

// ---- for another process ------------------------------------------------------------------------------------------

// A line of JSON for each event. What was expected and what came is text already, unless it is plain.
const plain = (value) => (value === null || ['string', 'number', 'boolean', 'undefined'].includes(typeof value) ? { value }
  : { text: load('util').inspect(value, { breakLength: Infinity }) });
function errorData(error) {
  const { message, failureType, cause } = error;
  if (!(cause instanceof Error)) return { message, failureType };
  const { name, code, stack, expected, actual, operator } = cause;
  const compared = code === 'ERR_ASSERTION' ? { expected: plain(expected), actual: plain(actual), operator } : {};
  return { message, failureType, cause: { message: cause.message, name, code, stack: `${stack}`, ...compared } };
}
function sender(fd) {
  const numbers = new Map();
  const send = (data) => binding.write(fd, `${JSON.stringify(data)}\n`);
  return {
    start(test) {
      numbers.set(test, numbers.size);
      const { name, depth, suite } = test;
      send({ is: 'start', id: numbers.get(test), parent: numbers.get(test.parent), name, depth, suite });
    },
    end(test) {
      const { number, count: children, skipped, todo, duration, diagnostics, place, error } = test;
      send({ is: 'end', id: numbers.get(test), number, count: children, skipped, todo, duration, diagnostics, place, error: error === null ? null : errorData(error) });
    },
    close() {},
  };
}

let chosen = process.stdout.isTTY ? spec : tap;
module.exports = {
  reporter: {
    start: (test) => chosen.start(test),
    end(test) {
      count(test);
      chosen.end(test);
    },
    close: (root, duration) => chosen.close(root, duration),
  },
  choose(name) {
    if (name !== undefined) chosen = name === 'tap' ? tap : spec;
  },
  sendTo(fd) {
    chosen = sender(fd);
  },
  // What a program has written by itself.
  output(text) {
    if (text === '') return;
    if (chosen === spec) write(text.endsWith('\n') ? text : `${text}\n`);
    else tap.comment(text);
  },
};
