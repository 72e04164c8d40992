// SPDX-License-Identifier: MIT
// node:constants, and the numbers of errors in node:os.
'use strict';

const constants = require('constants');
const os = require('node:os');

console.log(constants === require('node:constants'), Object.isFrozen(constants));
console.log(constants.O_RDONLY, constants.O_CREAT, constants.S_IFMT, constants.SIGTERM, constants.ENOENT, constants.RSA_PKCS1_PADDING);
console.log(os.constants.errno.EAGAIN, os.constants.errno.EADDRINUSE, os.constants.errno.ETIMEDOUT, os.constants.errno.NOTHING);
