// SPDX-License-Identifier: MIT
// node:tty: whether a descriptor is a terminal.
'use strict';

const isatty = (fd) => Number.isInteger(fd) && fd >= 0 && fd <= 2147483647 && !!binding.isTTY(fd);
module.exports = { isatty };
