// SPDX-License-Identifier: MIT
// util.parseEnv: files of `NAME=value` lines, as Node reads them.
'use strict';

const { validateString } = load('errors');

function parseEnv(content) {
  validateString(content, 'content');
  const found = {};
  let text = content.replaceAll('\r\n', '\n').trim();
  const skipLine = () => {
    const end = text.indexOf('\n');
    text = end < 0 ? '' : text.slice(end + 1);
  };
  while (text !== '') {
    if (text[0] === '\n' || text[0] === '#') {
      skipLine();
      continue;
    }
    const equals = text.indexOf('=');
    const end = text.indexOf('\n');
    if (equals < 0 || (end >= 0 && end < equals)) {
      skipLine();
      continue;
    }
    let key = text.slice(0, equals).trim();
    if (key.startsWith('export ')) key = key.slice(7).trim();
    text = text.slice(equals + 1);
    if (key === '') {
      skipLine();
      continue;
    }
    if (text === '' || text[0] === '\n') {
      found[key] = '';
      continue;
    }
    text = text.replace(/^[ \t]+/, '');
    const quote = text[0];
    if (quote === '"' || quote === "'" || quote === '`') {
      const close = text.indexOf(quote, 1);
      if (close > 0) {
        const value = text.slice(1, close);
        found[key] = quote === '"' ? value.replaceAll('\\n', '\n') : value;
        text = text.slice(close + 1);
        skipLine();
        continue;
      }
    }
    const stop = text.indexOf('\n');
    let value = stop < 0 ? text : text.slice(0, stop);
    const comment = value.indexOf('#');
    if (comment >= 0) value = value.slice(0, comment);
    found[key] = value.trim();
    skipLine();
  }
  return found;
}

module.exports = { parseEnv };
