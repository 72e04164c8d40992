// SPDX-License-Identifier: MIT
exports.value = (1 as number) + 1;
