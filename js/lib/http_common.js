// SPDX-License-Identifier: MIT
// _http_common: what packages take from Node's inner module of that name.
'use strict';

const { METHODS } = load('http');

const TOKEN = /^[\^_`a-zA-Z\-0-9!#$%&'*+.|~]+$/;
const BAD_VALUE = /[^\t\x20-\x7e\x80-\xff]/;

module.exports = {
  _checkIsHttpToken: (value) => TOKEN.test(value),
  _checkInvalidHeaderChar: (value) => BAD_VALUE.test(value),
  chunkExpression: /(?:^|\W)chunked(?:$|\W)/i,
  continueExpression: /(?:^|\W)100-continue(?:$|\W)/i,
  CRLF: '\r\n',
  methods: METHODS,
};
