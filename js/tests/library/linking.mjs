// What modules share: live bindings in a cycle, namespaces, stars that meet or run in circles, imports that fail twice, order.
import { seen, getA, attempts } from './parts/linking/cycle_b.mjs';
import * as x from './parts/linking/star_x.mjs';
import * as y from './parts/linking/star_y.mjs';
import * as meet from './parts/linking/star_meet.mjs';
export let a = 1;
export function hoisted() { return 'hoisted'; }
export const late = 'late';

console.log(seen.join('; '), '|', attempts.join());
a = 2;
console.log(getA());
[a] = [3];
({ a } = { a: a + 1 });
console.log(getA());
for (a of [5, 6]);
console.log(getA());

console.log(Object.keys(x), Object.keys(y), x.p, x.q, y.p, y.default);
console.log(Object.keys(meet), meet.both, meet.own, Object.isExtensible(meet));
console.log(Object.keys(await import('./parts/linking/star_cjs.mjs')), Object.keys(await import('./parts/linking/two_ways.mjs')));

async function attempt(name) {
  try {
    console.log(name, Object.keys(await import(`./parts/linking/${name}`)));
  } catch (error) {
    console.log(name, error.name, error.code, error.message.replace(/'\/.*\//, "'").replace(/imported from .*\//, 'imported from '));
  }
}
for (const name of ['ambiguous.mjs', 'circle_1.mjs', 'no_file.mjs', 'around_no_file.mjs', 'no_name.mjs', 'throws.mjs', 'awaits_throws.mjs', 'cycle_throws_1.mjs']) {
  await attempt(name);
  await attempt(name);
}
await attempt('cycle_throws_2.mjs');
await attempt('fine.mjs');
await import('./parts/linking/order.mjs');
process.on('exit', (code) => console.log('exit', code, process.exitCode));
console.log('waits for itself');
await import('./linking.mjs');
console.log('never');
