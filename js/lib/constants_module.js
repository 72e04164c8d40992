// SPDX-License-Identifier: MIT
// node:constants, an old name for what other modules have.
'use strict';

const { errno, signals } = load('os').constants;

module.exports = Object.freeze({ ...errno, ...signals, ...load('fs').constants, ...load('node_crypto').constants });
