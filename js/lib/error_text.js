// SPDX-License-Identifier: MIT
// The text that is printed when nobody catches an error: where it came from, the error, and who says so.
'use strict';

const { sources, stackOf, native } = load('errors');
const { inspect } = load('inspect');

function sourceLine(file, row) {
  let text = sources.get(file);
  if (text === undefined && file.startsWith('/')) text = binding.readText(file);
  if (typeof text !== 'string') return undefined;
  return text.split('\n')[row - 1];
}

// "file:line", the line, and a caret below the column.
function excerpt(error) {
  if (typeof error !== 'object' || error === null) return '';
  let place;
  const stack = stackOf(error);
  if (typeof stack === 'string') {
    const match = /^ {4}at (?:.*\()?(.*?):(\d+):(\d+)\)?$/m.exec(stack);
    if (match) place = { file: match[1].replace(/^file:\/\//, ''), row: +match[2], column: +match[3] };
  }
  if (error instanceof native.SyntaxError && typeof error.sourceURL === 'string' && error.line &&
      !error.sourceURL.startsWith('vigil:') && !(place && place.file === error.sourceURL && place.row === error.line)) {
    place = { file: error.sourceURL, row: error.line, column: 1 };
  }
  if (!place) return '';
  const line = sourceLine(place.file, place.row);
  if (line === undefined) return '';
  const before = line.slice(0, place.column - 1);
  // The engine points behind `new`, at the call; the reader looks for where the statement begins.
  const statement = /(?:^|[;{}\s])(throw\s+)?(?:new\s+)?[\w$.]*$/.exec(before);
  let column = before.length;
  if (statement) {
    const tail = /(throw\s+)?(?:new\s+)?[\w$.]*$/.exec(before)[0];
    column -= tail.length;
  }
  return `${place.file}:${place.row}\n${line}\n${' '.repeat(Math.max(0, column))}^\n`;
}

function fatalText(error) {
  const plain = (typeof error !== 'object' || error === null) && typeof error !== 'function';
  let text = excerpt(error);
  if (plain) {
    text += `Uncaught:\n${typeof error === 'string' ? error : inspect(error)}\n` +
            '(Only Error objects know where they were thrown)\n';
  } else {
    let shown;
    try {
      shown = inspect(error);
    } catch {
      shown = '[An object that cannot be shown: looking at it throws]';
    }
    text += `${text === '' ? '' : '\n'}${shown}\n`;
  }
  return `${text}\n${binding.versionLine}\n`;
}

module.exports = { fatalText };
