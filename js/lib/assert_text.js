// SPDX-License-Identifier: MIT
// What a failed assertion says: two values side by side, or the text of the call.
'use strict';

const { sources } = load('errors');
const { inspect } = load('inspect');

const show = (value) => inspect(value, { compact: false, customInspect: false, depth: 1000, maxArrayLength: Infinity, sorted: true });
const texts = {
  deepStrictEqual: 'Expected values to be strictly deep-equal:',
  strictEqual: 'Expected values to be strictly equal:',
  deepEqual: 'Expected values to be loosely deep-equal:',
  notDeepStrictEqual: 'Expected "actual" not to be strictly deep-equal to:',
  notStrictEqual: 'Expected "actual" to be strictly unequal to:',
  notDeepEqual: 'Expected "actual" not to be loosely deep-equal to:',
};

// ---- two values ---------------------------------------------------------------------------------------------------

// Lines that are only in one of two texts, marked; the longest common subsequence for texts of moderate length.
function difference(a, b) {
  if (a.length * b.length > 1e6) return [...a.map((line) => `+ ${line}`), ...b.map((line) => `- ${line}`)];
  const table = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      table[i][j] = a[i] === b[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
    }
  }
  const lines = [];
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push(`  ${a[i]}`);
      i++;
      j++;
    } else if (i < a.length && (j >= b.length || table[i + 1][j] >= table[i][j + 1])) {
      lines.push(`+ ${a[i++]}`);
    } else {
      lines.push(`- ${b[j++]}`);
    }
  }
  return lines;
}
// Of a long run of lines that are the same only its ends are shown.
const RUN = 5;
function shorten(lines) {
  const kept = [];
  let skipped = false;
  for (let i = 0; i < lines.length;) {
    let end = i;
    while (end < lines.length && lines[end].startsWith('  ')) end++;
    if (end - i > RUN) {
      kept.push(lines[i], lines[i + 1], '...', lines[end - 2], lines[end - 1]);
      skipped = true;
    } else {
      kept.push(...lines.slice(i, end));
    }
    if (end < lines.length) kept.push(lines[end++]);
    i = end;
  }
  return { lines: kept, skipped };
}

const isPrimitive = (value) => value === null || (typeof value !== 'object' && typeof value !== 'function');
const SHORT = 12;

function sideBySide(operator, actual, expected, head) {
  const a = show(actual);
  const b = show(expected);
  if (a === b) return `${head === texts[operator] ? 'Values have same structure but are not reference-equal:' : head}\n\n${a}\n`;
  const oneLine = !a.includes('\n') && !b.includes('\n');
  if (oneLine && isPrimitive(actual) && isPrimitive(expected)) {
    const length = a.length + b.length - (typeof actual === 'string' ? 2 : 0) - (typeof expected === 'string' ? 2 : 0);
    if (length <= SHORT && (actual !== 0 || expected !== 0)) return `${head}\n\n${a} !== ${b}\n`;
  }
  let mark = '';
  if (oneLine) {
    let at = 0;
    while (a[at] === b[at]) at++;
    if (at > 3 && a.length < 78) mark = `\n${' '.repeat(at + 2)}^`;
  }
  const { lines, skipped } = shorten(difference(a.split('\n'), b.split('\n')));
  return `${head}\n+ actual - expected${skipped ? ' ... Lines skipped' : ''}\n\n${lines.join('\n')}${mark}`;
}

function describe(operator, actual, expected, head = texts[operator]) {
  switch (operator) {
    case 'notStrictEqual': case 'notDeepStrictEqual': case 'notDeepEqual': {
      const shown = show(actual);
      return `${head}${shown.includes('\n') || shown.length > 50 ? '\n\n' : ' '}${shown}${shown.includes('\n') ? '\n' : ''}`;
    }
    case '==': case '!=':
      return `${inspect(actual)} ${operator} ${inspect(expected)}`;
    case 'deepEqual':
      return `${head}\n\n${show(actual)}\n\nshould loosely deep-equal\n\n${show(expected)}`;
    case 'strictEqual': case 'deepStrictEqual':
      return sideBySide(operator, actual, expected, head);
    default:
      return `${inspect(actual)} ${operator} ${inspect(expected)}`;
  }
}

// ---- the call -----------------------------------------------------------------------------------------------------

// The text of the call that has brought us here, from the program's source; undefined if it cannot be had.
function callText() {
  const match = /^ {4}at (?:.*\()?(.*?):(\d+):(\d+)\)?$/m.exec(new Error().stack);
  if (match === null) return undefined;
  const [, file, row, column] = match;
  const text = sources.get(file) ?? (file.startsWith('/') ? binding.readText(file) : undefined);
  if (typeof text !== 'string') return undefined;
  const lines = text.split('\n');
  let offset = +column - 1;
  for (let i = 0; i < +row - 1; i++) offset += lines[i].length + 1;
  let tree;
  for (const sourceType of ['script', 'module']) {
    try {
      tree = load('npm:acorn').parse(text, { ecmaVersion: 'latest', sourceType, allowHashBang: true, allowReturnOutsideFunction: true,
                                             allowAwaitOutsideFunction: true });
      break;
    } catch {
      // The other kind, or none.
    }
  }
  // The smallest call around the place: the engine points at its callee, its parenthesis or its end.
  let best;
  const visit = (node) => {
    if (node === null || typeof node !== 'object') return;
    if (Array.isArray(node)) {
      node.forEach(visit);
      return;
    }
    if (typeof node.type !== 'string' || node.start > offset || node.end < offset) return;
    if (node.type === 'CallExpression' && (best === undefined || node.end - node.start < best.end - best.start)) best = node;
    for (const key of Object.keys(node)) if (key !== 'type') visit(node[key]);
  };
  visit(tree);
  return best === undefined ? undefined : text.slice(best.start, best.end).replace(/\n\s*/g, '\n  ');
}

module.exports = { describe, callText };
