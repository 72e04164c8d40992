// SPDX-License-Identifier: MIT
// WebAssembly: the engine compiles on threads of its own and gives the result to a queue that the loop looks at. What is under way keeps
// the program alive, and is looked for every millisecond; the rest is the engine's.
'use strict';

const native = binding.wasm;
for (const name of ['compile', 'instantiate']) {
  const original = native[name];
  const { length } = original;
  const wrapped = {
    [name](...args) {
      const promise = Reflect.apply(original, this, args);
      binding.engineWork(1);
      return promise.then((value) => {
        binding.engineWork(-1);
        return value;
      }, (error) => {
        binding.engineWork(-1);
        throw error;
      });
    },
  }[name];
  Object.defineProperty(wrapped, 'length', { value: length, configurable: true });
  Object.defineProperty(native, name, { value: wrapped, writable: true, configurable: true, enumerable: true });
}

module.exports = { WebAssembly: native };
