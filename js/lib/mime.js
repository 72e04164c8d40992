// SPDX-License-Identifier: MIT
// Media types, as the MIME Sniffing Standard reads and writes them, and the one of a Content-Type header, as the Fetch Standard finds it.
'use strict';

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

// The text in quotes from `at`, which is behind the first quote: [what it means, where it ends].
function quoted(text, at) {
  let value = '';
  for (; at < text.length && text[at] !== '"'; at++) {
    if (text[at] === '\\' && at + 1 < text.length) at++;
    value += text[at];
  }
  return [value, at + 1];
}

// { essence, parameters } or null. The parameters are a Map.
function parseMime(input) {
  const text = `${input}`.replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, '');
  const slash = text.indexOf('/');
  if (slash < 0) return null;
  const type = text.slice(0, slash);
  let at = text.indexOf(';', slash);
  if (at < 0) at = text.length;
  const subtype = text.slice(slash + 1, at).replace(/[\t\n\r ]+$/, '');
  if (!TOKEN.test(type) || !TOKEN.test(subtype)) return null;
  const parameters = new Map();
  while (at < text.length) {
    at++; // the semicolon
    while (at < text.length && '\t\n\r '.includes(text[at])) at++;
    const from = at;
    while (at < text.length && text[at] !== ';' && text[at] !== '=') at++;
    const name = text.slice(from, at).toLowerCase();
    if (at >= text.length) break;
    if (text[at] === ';') continue;
    at++; // the equals sign
    let end = text.indexOf(';', at);
    let value;
    if (text[at] === '"') {
      [value, end] = quoted(text, at + 1);
      end = text.indexOf(';', end);
    } else {
      value = text.slice(at, end < 0 ? text.length : end).replace(/[\t\n\r ]+$/, '');
      if (value === '') value = null;
    }
    at = end < 0 ? text.length : end;
    if (value !== null && TOKEN.test(name) && VALUE.test(value) && !parameters.has(name)) parameters.set(name, value);
  }
  return { essence: `${type}/${subtype}`.toLowerCase(), parameters };
}
function writeMime({ essence, parameters }) {
  let text = essence;
  for (const [name, value] of parameters) {
    text += `;${name}=${TOKEN.test(value) ? value : `"${value.replace(/["\\]/g, '\\$&')}"`}`;
  }
  return text;
}

// The parts between commas that are not in quotes.
function splitList(text) {
  const parts = [];
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '"') {
      at = quoted(text, at + 1)[1] - 1;
    } else if (text[at] === ',') {
      parts.push(text.slice(from, at));
      from = at + 1;
    }
  }
  parts.push(text.slice(from));
  return parts;
}
// The last valid type of a header; it keeps the charset of one before it of the same kind. Null: none.
function mimeOf(header) {
  if (header === null || header === undefined) return null;
  let found = null;
  let charset = null;
  for (const part of splitList(header)) {
    const one = parseMime(part);
    if (one === null || one.essence === '*/*') continue;
    if (found === null || one.essence !== found.essence) charset = one.parameters.get('charset') ?? null;
    else if (one.parameters.has('charset')) charset = one.parameters.get('charset');
    else if (charset !== null) one.parameters.set('charset', charset);
    found = one;
  }
  return found;
}

module.exports = { parseMime, writeMime, mimeOf };
