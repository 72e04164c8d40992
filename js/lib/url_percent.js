// SPDX-License-Identifier: MIT
// What whatwg-url takes from the npm package @exodus/bytes. That one brings the tables of all old encodings for forms of web pages; a URL
// of a program is always UTF-8.
'use strict';

const HEX = [];
for (let i = 0; i < 256; i++) HEX[i] = `%${i < 16 ? '0' : ''}${i.toString(16).toUpperCase()}`;

// The standard's "percent-encode after encoding": the characters of `extra`, controls, and all that is not ASCII.
function percentEncodeAfterEncoding(encoding, text, extra) {
  if (encoding.toLowerCase() !== 'utf-8') throw new RangeError(`a URL in the encoding '${encoding}'`);
  const bytes = binding.utf8Encode(text);
  let result = '';
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    const character = String.fromCharCode(byte);
    result += byte < 0x20 || byte > 0x7e || extra.includes(character) ? HEX[byte] : character;
  }
  return result;
}

module.exports = { percentEncodeAfterEncoding };
