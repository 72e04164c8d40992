// SPDX-License-Identifier: MIT
// node:assert/strict
'use strict';

module.exports = load('assert').strict;
