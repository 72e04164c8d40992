// SPDX-License-Identifier: MIT
'use strict';
const sticky = /a/gy;
sticky.lastIndex = 5;
const copy = structuredClone(sticky);
console.log(sticky.lastIndex, copy.lastIndex, copy.flags, copy.source, structuredClone({ r: [sticky] }).r[0] instanceof RegExp, sticky.lastIndex);
