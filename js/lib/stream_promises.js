// SPDX-License-Identifier: MIT
// node:stream/promises.
'use strict';

module.exports = load('stream').promises;
