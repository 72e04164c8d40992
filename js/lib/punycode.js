// SPDX-License-Identifier: MIT
// node:punycode: the npm package that whatwg-url brings along.
'use strict';

module.exports = load('npm:punycode');
