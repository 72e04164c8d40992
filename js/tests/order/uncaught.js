// A throw in any callback goes to the handler, and the next callback runs.
const log = (...a) => console.log(...a);
const spin = (ms) => { const t = Date.now(); while (Date.now() - t < ms); };
process.on('uncaughtExceptionMonitor', (e, o) => log('monitor', e?.message ?? e, o));
process.on('uncaughtException', (e, o) => { log('handler', e?.message ?? e, o); });
process.nextTick(() => { process.nextTick(() => log('tick after')); throw new Error('tick'); });
process.nextTick(() => log('second tick'));
queueMicrotask(() => { throw new Error('microtask'); });
queueMicrotask(() => log('second microtask'));
setTimeout(() => { process.nextTick(() => log('tick of failed timer')); Promise.resolve().then(() => log('micro of failed timer')); throw new Error('timer'); }, 1);
setTimeout(() => log('second timer'), 1);
setTimeout(() => log('third timer'), 1);
setTimeout(() => {
  setImmediate(() => { process.nextTick(() => log('tick of failed immediate')); throw new Error('immediate'); });
  setImmediate(() => log('second immediate'));
  setImmediate(() => { log('third immediate'); intervals(); });
}, 20);
// Each starts the next: how busy the machine is does not matter.
function intervals() {
  let n = 0;
  const i = setInterval(() => { if (++n === 3) { clearInterval(i); io(); } throw new Error(`interval ${n}`); }, 5);
}
function io() {
  setTimeout(() => { require('fs').stat('/', () => { setTimeout(rejection, 5); throw new Error('io'); }); }, 5);
}
function rejection() {
  setTimeout(() => { throw null; }, 5);
  Promise.reject(new Error('rejection'));
}
process.on('exit', (c) => log('exit', c));
spin(3);
