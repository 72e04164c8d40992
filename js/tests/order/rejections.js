// unhandledRejection and rejectionHandled.
const log = (...a) => console.log(...a);
process.on('unhandledRejection', (r, p) => { log('unhandled', r, p instanceof Promise); });
process.on('rejectionHandled', (p) => log('handled', p === late));
const late = Promise.reject('late');
Promise.reject('caught in time').catch(() => log('catch'));
const p = Promise.reject('handled by a tick');
process.nextTick(() => p.catch(() => log('tick catch')));
const q = Promise.reject('handled by a microtask');
queueMicrotask(() => q.catch(() => log('micro catch')));
Promise.resolve().then(() => {
  const r = Promise.reject('handled by a tick of a microtask');
  process.nextTick(() => r.catch(() => log('tick of micro catch')));
});
setTimeout(() => { late.catch((e) => log('late catch', e)); }, 400);
(async () => { throw 'async'; })();
new Promise((_, reject) => setTimeout(reject, 10, 'from a timer'));
process.on('exit', (c) => log('exit', c));
setTimeout(() => { const chain = Promise.reject(1); chain.then(() => {}); chain.finally(() => {}); }, 900);
