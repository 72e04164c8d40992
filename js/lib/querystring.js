// SPDX-License-Identifier: MIT
// node:querystring
'use strict';

const { codes } = load('errors');

// What a query may hold as it is: letters, digits and ! ' ( ) * - . _ ~
function escape(value) {
  const text = typeof value === 'string' ? value : typeof value === 'object' ? String(value) : `${value}`;
  if (text.isWellFormed()) return encodeURIComponent(text);
  return escapeBroken(text);
}
// A lone high surrogate takes the next unit for its partner; at the end, and for a low one, there is nothing to be done.
function escapeBroken(text) {
  let out = '';
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0xd800 || unit > 0xdfff) {
      out += encodeURIComponent(text[i]);
      continue;
    }
    if (i + 1 >= text.length) throw new codes.ERR_INVALID_URI();
    const code = 0x10000 + (((unit & 0x3ff) << 10) | (text.charCodeAt(++i) & 0x3ff));
    out += encodeURIComponent(String.fromCodePoint(code));
  }
  return out;
}
function unescapeBuffer(text, plusIsSpace) {
  const bytes = load('buffer').Buffer.from(text);
  const out = [];
  for (let i = 0; i < bytes.length; i++) {
    const hex = bytes[i] === 0x25 ? parseInt(String.fromCharCode(bytes[i + 1] ?? 0, bytes[i + 2] ?? 0), 16) : NaN;
    if (bytes[i] === 0x25 && /^[0-9a-f]{2}$/i.test(String.fromCharCode(bytes[i + 1] ?? 0, bytes[i + 2] ?? 0))) {
      out.push(hex);
      i += 2;
    } else {
      out.push(plusIsSpace && bytes[i] === 0x2b ? 0x20 : bytes[i]);
    }
  }
  return load('buffer').Buffer.from(out);
}
function unescape(text, plusIsSpace = false) {
  try {
    return decodeURIComponent(text);
  } catch {
    return unescapeBuffer(text, plusIsSpace).toString();
  }
}

function primitive(value) {
  switch (typeof value) {
    case 'string': return value;
    case 'number': return Number.isFinite(value) ? `${value}` : '';
    case 'bigint': return `${value}`;
    case 'boolean': return value ? 'true' : 'false';
    default: return '';
  }
}
function stringify(object, separator = '&', equals = '=', options = undefined) {
  const encode = typeof options?.encodeURIComponent === 'function' ? options.encodeURIComponent : module.exports.escape;
  separator ||= '&';
  equals ||= '=';
  if (object === null || typeof object !== 'object') return '';
  const parts = [];
  for (const key of Object.keys(object)) {
    const value = object[key];
    const head = `${encode(primitive(key))}${equals}`;
    if (Array.isArray(value)) for (const item of value) parts.push(head + encode(primitive(item)));
    else parts.push(head + encode(primitive(value)));
  }
  return parts.join(separator);
}
function parse(text, separator = '&', equals = '=', options = undefined) {
  const result = Object.create(null);
  if (typeof text !== 'string' || text.length === 0) return result;
  const most = typeof options?.maxKeys === 'number' ? options.maxKeys : 1000;
  const decode = options?.decodeURIComponent ?? module.exports.unescape;
  const read = (part) => {
    part = part.replace(/\+/g, ' ');
    try {
      return decode(part);
    } catch {
      return unescape(part, true);
    }
  };
  let parts = text.split(separator || '&');
  if (most > 0) parts = parts.slice(0, most);
  for (const part of parts) {
    if (part === '') continue;
    const at = part.indexOf(equals || '=');
    const key = read(at < 0 ? part : part.slice(0, at));
    const value = at < 0 ? '' : read(part.slice(at + (equals || '=').length));
    if (!(key in result)) result[key] = value;
    else if (Array.isArray(result[key])) result[key].push(value);
    else result[key] = [result[key], value];
  }
  return result;
}

module.exports = { unescapeBuffer, unescape, escape, stringify, encode: stringify, parse, decode: parse };
