// await at the top, wherever an expression may be; and when what follows runs.
import { K, value } from './parts/linking/await_part.mjs';
const f = (...all) => all.join();
const a = await 1 + await 2;
console.log(a, f(await 3, ...await [4]), `${await 5}`, [await 6, ...await [7]], { k: await 8, [await 'computed']: 9 });
const
  b = await
    10;
let c;
c = (await { y: 11 }).y;
console.log(b, c, -await 12, typeof await 13, !await true, await 0 ? 1 : 2, await await 14, (await 15, await 16));
c ||= await 17;
c &&= await 18;
const { p = await 19, ...rest } = await { q: 20 };
console.log(c, p, rest, new (await import('./parts/linking/await_part.mjs')).K().name, (await import('./parts/linking/await_part.mjs')).value);
if (await true) console.log('then'); else console.log('else');
for (const one of await [1, 2]) console.log(one, await value);
for (let i = await 0; i < await 2; i += await 1) console.log('i', i);
while (!await true);
switch (await 1) { case await 1: console.log('case'); }
class Q { [await 'method']() { return 'in a method'; } static [await 'field'] = 1; }
console.log(new Q().method(), Q.field, await new K().later());
try {
  await Promise.reject(new Error('rejected'));
} catch ({ message }) {
  console.log(message, await 'in catch');
} finally {
  console.log(await 'in finally');
}
outer: for (const one of [1, 2]) { for (;;) { await one; continue outer; } }
const order = [];
queueMicrotask(() => order.push('micro'));
process.nextTick(() => order.push('tick'));
await (async () => { order.push('inner 1'); await 0; order.push('inner 2'); })();
await { then(resolve) { order.push('thenable'); resolve(); } };
order.push('after');
await new Promise((resolve) => { setImmediate(resolve); });
console.log(order.join());
const arrow = async () => await 21, later = async function () { return await 22; };
console.log(await arrow(), await later());
export default await 23;
await null
console.log('end');
