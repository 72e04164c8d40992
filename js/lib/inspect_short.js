// SPDX-License-Identifier: MIT
// Shorter ways through the formatter of util.inspect. It calls methods through bound functions, which this engine does not inline, and asks
// regular expressions and Unicode about texts that are nearly always printable ASCII. Each answer here is the one that it would find.
'use strict';

const methods = {
  __proto__: null,
  ArrayPrototypePush: (list, value) => list.push(value),
  ArrayPrototypePop: (list) => list.pop(),
  ArrayPrototypeIncludes: (list, value) => list.includes(value),
  ObjectPrototypeHasOwnProperty: (object, key) => Object.hasOwn(object, key),
  RegExpPrototypeExec: (pattern, text) => pattern.exec(text),
  StringPrototypeCharCodeAt: (text, at) => text.charCodeAt(at),
  StringPrototypeIncludes: (text, part) => text.includes(part),
  StringPrototypeRepeat: (text, count) => text.repeat(count),
  StringPrototypeSlice: (text, from, to) => text.slice(from, to),
};

// From U+0020 to U+007E: a column each.
function printed(text) {
  if (typeof text !== 'string') return false;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 32 || unit > 126) return false;
  }
  return true;
}

// It can stand between ' and ' as it is.
function quotable(text) {
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 32 || unit > 126 || unit === 39 || unit === 92) return false;
  }
  return true;
}

// A key that is shown without quotes: letters, digits and _, no digit first.
function bare(key) {
  for (let i = 0; i < key.length; i++) {
    const unit = key.charCodeAt(i);
    const letter = (unit | 32) >= 97 && (unit | 32) <= 122;
    if (!letter && unit !== 95 && (i === 0 || unit < 48 || unit > 57)) return false;
  }
  return key.length > 0;
}

// The text of the package with these ways in it.
function into(text) {
  return text
    .replace(/(\w+):Function\.prototype\.call[^(]*\([^)]*\)/g, (all, name) => (name in methods ? `${name}:$short.methods.${name}` : all))
    .replace(/(\w+)=function\((\w+)\)\{(?=var \w+=0;\(!\(arguments\.length>1)/, '$&if($short.printed($2))return $2.length;')
    .replace(/function \w+\((\w+)\)\{(?=var \w+=\w+,\w+=\w+,\w+=39;)/, '$&if($short.quotable($1))return"\'"+$1+"\'";')
    .replace(/null!==\w+\(\w+,(\w+)\)\?(?=\w+\.stylize\(\1,"name"\))/, '$short.bare($1)?')
    .replace(/(\w+=function\((\w+)\)\{return )(\w+\(\w+,\2\)\}\}catch)/, '$1$short.oneLine($2)?[$2]:$3');
}

module.exports = { into, methods, printed, quotable, bare, oneLine: (text) => !text.includes('\n') };
