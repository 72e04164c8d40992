// SPDX-License-Identifier: MIT
// Packages with a copy of Node's primordials make names of the symbols of builtin prototypes: Symbol.iterator becomes SymbolIterator.
'use strict';
let wrong = 0;
for (const owner of [Object, Array, String, Promise, Map, RegExp, Function]) {
  for (const key of Reflect.ownKeys(owner.prototype)) {
    if (typeof key !== 'symbol') continue;
    const name = `Symbol${key.description[7].toUpperCase()}${key.description.slice(8)}`;
    if (typeof name !== 'string') wrong++;
  }
}
console.log('wrong', wrong);
