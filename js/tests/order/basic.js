// Ticks, microtasks, promises, async functions and their mixtures after the main script.
const log = (...a) => console.log(...a);
process.nextTick(() => { log('tick 1'); process.nextTick(() => log('tick 1.1')); Promise.resolve().then(() => log('micro from tick 1')); });
Promise.resolve().then(() => { log('micro 1'); process.nextTick(() => log('tick from micro 1')); }).then(() => log('micro 1 then'));
queueMicrotask(() => { log('queueMicrotask'); queueMicrotask(() => log('queueMicrotask inner')); });
process.nextTick((...a) => log('tick 2', a), 1, 2, 3);
(async () => { log('async start'); await null; log('async 1'); await new Promise((r) => process.nextTick(r)); log('async 2'); })();
async function thrower() { await 0; throw new Error('thrown'); }
thrower().catch((e) => log('caught', e.message)).finally(() => log('finally'));
const thenable = { then(r) { log('thenable'); r('value'); } };
Promise.resolve(thenable).then((v) => log('adopted', v));
(async () => { log('await thenable', await thenable); })();
Promise.all([1, Promise.resolve(2), new Promise((r) => queueMicrotask(() => r(3)))]).then((v) => log('all', v));
Promise.race([new Promise((r) => process.nextTick(r, 'tick')), Promise.resolve('micro')]).then((v) => log('race', v));
Promise.any([Promise.reject(1), Promise.resolve(2)]).then((v) => log('any', v));
Promise.allSettled([Promise.reject(1), 2]).then((v) => log('settled', JSON.stringify(v)));
log('main end');
