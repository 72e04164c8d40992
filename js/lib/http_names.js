// SPDX-License-Identifier: MIT
// Status codes, lines of heads, and what may stand in a header: no line break, so that nobody's input becomes a header or an answer of its own.
'use strict';

const { codes } = load('errors');
const { Buffer } = load('buffer');

const STATUS_CODES = {
  100: 'Continue', 101: 'Switching Protocols', 102: 'Processing', 103: 'Early Hints', 200: 'OK', 201: 'Created', 202: 'Accepted',
  203: 'Non-Authoritative Information', 204: 'No Content', 205: 'Reset Content', 206: 'Partial Content', 207: 'Multi-Status',
  208: 'Already Reported', 226: 'IM Used', 300: 'Multiple Choices', 301: 'Moved Permanently', 302: 'Found', 303: 'See Other',
  304: 'Not Modified', 305: 'Use Proxy', 307: 'Temporary Redirect', 308: 'Permanent Redirect', 400: 'Bad Request',
  401: 'Unauthorized', 402: 'Payment Required', 403: 'Forbidden', 404: 'Not Found', 405: 'Method Not Allowed',
  406: 'Not Acceptable', 407: 'Proxy Authentication Required', 408: 'Request Timeout', 409: 'Conflict', 410: 'Gone',
  411: 'Length Required', 412: 'Precondition Failed', 413: 'Payload Too Large', 414: 'URI Too Long', 415: 'Unsupported Media Type',
  416: 'Range Not Satisfiable', 417: 'Expectation Failed', 418: "I'm a Teapot", 421: 'Misdirected Request',
  422: 'Unprocessable Entity', 423: 'Locked', 424: 'Failed Dependency', 425: 'Too Early', 426: 'Upgrade Required',
  428: 'Precondition Required', 429: 'Too Many Requests', 431: 'Request Header Fields Too Large',
  451: 'Unavailable For Legal Reasons', 500: 'Internal Server Error', 501: 'Not Implemented', 502: 'Bad Gateway',
  503: 'Service Unavailable', 504: 'Gateway Timeout', 505: 'HTTP Version Not Supported', 506: 'Variant Also Negotiates',
  507: 'Insufficient Storage', 508: 'Loop Detected', 509: 'Bandwidth Limit Exceeded', 510: 'Not Extended',
  511: 'Network Authentication Required',
};

// ---- names and values ---------------------------------------------------------------------------------------------

const TOKEN = /^[\^_`a-zA-Z\-0-9!#$%&'*+.|~]+$/;
const BAD_VALUE = /[^\t\x20-\x7e\x80-\xff]/;
const PLAIN = /^[\t\x20-\x7e]*$/;
const lower = new Map(); // names that were seen and are valid -> in lower case
const LOWER_MAX = 500;

function lowerOf(name) {
  const known = lower.get(name);
  if (known !== undefined) return known;
  if (typeof name !== 'string' || !TOKEN.test(name)) throw new codes.ERR_INVALID_HTTP_TOKEN('Header name', name);
  const made = name.toLowerCase();
  if (lower.size < LOWER_MAX) lower.set(name, made);
  return made;
}
// True if it is ASCII.
function checkValue(name, value) {
  if (value === undefined) throw new codes.ERR_HTTP_INVALID_HEADER_VALUE(value, name);
  if (PLAIN.test(value)) return true;
  if (BAD_VALUE.test(value)) throw new codes.ERR_INVALID_CHAR('header content', name);
  return false;
}
// The last line that was made of a name: programs send the same few values again and again, and a line is checked and put together once.
// Only short texts: others are rarely sent twice.
const lines = new Map(); // name -> { key, value, text, plain }
const LINE_MAX = 200;
function lineOf(name, value) {
  const known = lines.get(name);
  if (known !== undefined && known.value === value) return known;
  const key = lowerOf(name);
  const plain = checkValue(name, value);
  const made = { key, value, text: `${name}: ${value}\r\n`, plain };
  if (typeof value === 'string' && made.text.length <= LINE_MAX && (known !== undefined || lines.size < LOWER_MAX)) lines.set(name, made);
  return made;
}
// The option uniqueHeaders: names whose values are sent in one line. null: none.
function uniqueNames(list) {
  if (!Array.isArray(list)) return null;
  return new Set(list.map((name) => `${name}`.toLowerCase()));
}
// What the parser has against a message. Where its words have changed since, these are the newer ones.
function parseError(code, reason, bytesParsed, rawPacket) {
  if (code === 'HPE_UNEXPECTED_CONTENT_LENGTH') {
    const head = rawPacket.toString('latin1').toLowerCase();
    if (head.indexOf('\ntransfer-encoding:') > head.indexOf('\ncontent-length:')) {
      code = 'HPE_INVALID_TRANSFER_ENCODING';
      reason = "Transfer-Encoding can't be present with Content-Length";
    }
  } else if (reason === 'Expected HTTP/') {
    reason = 'Expected HTTP/, RTSP/ or ICE/';
  }
  return Object.assign(new Error(`Parse Error: ${reason}`), { bytesParsed, code, reason, rawPacket });
}
function validateHeaderName(name, label = 'Header name') {
  if (typeof name !== 'string' || !TOKEN.test(name)) throw new codes.ERR_INVALID_HTTP_TOKEN(label, name);
}
function validateHeaderValue(name, value) {
  checkValue(name, value);
}

// ---- lines and pieces that answers are made of --------------------------------------------------------------------

const LENGTHS = 4096;
const lengths = new Array(LENGTHS); // lines of short bodies
function lengthLine(length) {
  if (length >= LENGTHS) return `Content-Length: ${length}\r\n`;
  return lengths[length] ??= `Content-Length: ${length}\r\n`;
}

// The date changes once a second.
let dateText = '';
let dateEnds = 0;
function dateLine() {
  const now = Date.now();
  if (now >= dateEnds) {
    dateText = `Date: ${new Date(now).toUTCString()}\r\n`;
    dateEnds = now - now % 1000 + 1000;
  }
  return dateText;
}

// How many characters, if all are ASCII; -1 otherwise.
function plainLength(text) {
  const length = text.length;
  for (let i = 0; i < length; i++) {
    if (text.charCodeAt(i) > 127) return -1;
  }
  return length;
}
const isUtf8 = (encoding) => encoding === undefined || encoding === null || encoding === 'utf8' || encoding === 'utf-8';
// What goes to C: ASCII as text, everything else as bytes.
function prepared(chunk, encoding) {
  if (typeof chunk === 'string') return isUtf8(encoding) && plainLength(chunk) >= 0 ? chunk : Buffer.from(chunk, encoding);
  if (chunk instanceof Uint8Array) return chunk;
  if (chunk === null) throw new codes.ERR_STREAM_NULL_VALUES();
  throw new codes.ERR_INVALID_ARG_TYPE('chunk', ['string', 'Buffer', 'Uint8Array'], chunk);
}

// A chunk's size.
const DIGITS = '0123456789abcdef';
function hexOf(number) {
  let text = '';
  do {
    text = DIGITS[number % 16] + text;
    number = Math.floor(number / 16);
  } while (number > 0);
  return text;
}

module.exports = {
  uniqueNames, parseError,
  hexOf,
  dateLine, lengthLine, prepared,
  STATUS_CODES, TOKEN, PLAIN, BAD_VALUE, lowerOf, lineOf, checkValue, validateHeaderName, validateHeaderValue,
};
