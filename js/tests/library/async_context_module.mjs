// SPDX-License-Identifier: MIT
// Contexts of node:async_hooks in modules: in functions, at the top, and in a module that is read before anybody asks for contexts.
import { go } from './parts/awaits_values.mjs';
import { AsyncLocalStorage } from 'node:async_hooks';

const als = new AsyncLocalStorage();
const results = await Promise.all([1, 2, 3].map((n) => als.run(n, async () => {
  const seen = [];
  for (let i = 0; i < 4; i++) seen.push(await go(() => als.getStore(), i));
  await (seen, n);
  seen.push(als.getStore());
  return seen.flat().every((one) => one === n);
})));
console.log(results, als.getStore());
als.enterWith('top');
await 1;
console.log(als.getStore());
await new Promise((done) => setTimeout(done, 2));
console.log(als.getStore());
const late = async () => await (await import('node:timers/promises')).setImmediate(als.getStore());
console.log(await late(), als.getStore());
export default await late();
