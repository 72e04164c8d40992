// Clamping, coercion, arguments, order of equal and of different durations, intervals, refresh, clearing.
const log = (...a) => console.log(...a);
const spin = (ms) => { const t = Date.now(); while (Date.now() - t < ms); };
setTimeout(() => log('1 ms'), 1);
setTimeout(() => log('0 ms'), 0);
setTimeout(() => log('negative'), -5);
setTimeout(() => log('NaN'), NaN);
setTimeout(() => log('string 1'), '1');
setTimeout(() => log('undefined'));
setTimeout((...a) => log('args', a), 1, 'a', { b: 1 });
setTimeout(() => log('1.9 ms'), 1.9);
setTimeout(() => log('900 ms'), 900);
setTimeout(() => log('300 ms'), 300);
setTimeout(() => log('600 ms'), 600);
const a = setTimeout(() => log('never'), 5);
const b = setTimeout(() => { log('clears the next'); clearTimeout(c); }, 6);
const c = setTimeout(() => log('never either'), 6);
clearTimeout(a);
clearTimeout(a); clearTimeout(null); clearTimeout(undefined); clearTimeout({}); clearTimeout(12345); clearTimeout('x');
clearInterval(setTimeout(() => log('never: cleared as an interval'), 1));
clearTimeout(setInterval(() => log('never: cleared as a timeout'), 1));
const byNumber = setTimeout(() => log('never: cleared by number'), 1);
clearTimeout(+byNumber);
const byString = setTimeout(() => log('never: cleared by string'), 1);
clearTimeout(`${byString}`);
const r = setTimeout(() => log('refreshed'), 1500);
setTimeout(() => r.refresh(), 1300);
setTimeout(() => log('before refreshed'), 2300);
const u = setTimeout(() => log('never: unref'), 100000).unref();
log(u.hasRef(), u.ref().hasRef(), u.unref().hasRef());
log(typeof r[Symbol.toPrimitive](), r.hasRef(), setTimeout(() => {}, 1) === 1);
for (const bad of [undefined, null, 1, 'x', {}]) {
  try { setTimeout(bad, 1); } catch (e) { log(e.name, e.code, e.message); }
}
for (const f of [setInterval, setImmediate, queueMicrotask, process.nextTick]) {
  try { f('nope'); } catch (e) { log(f.name, e.code); }
}
const again = setTimeout(() => { log('fired', again._destroyed); if (!again.twice) { again.twice = true; again.refresh(); } }, 1000);
setTimeout(() => { clearTimeout(again); again.refresh(); log('refresh after clear does nothing'); intervals(); }, 3500);
// Behind everything else: when the second one comes depends on when the first was run.
function intervals() {
  let n = 0;
  const interval = setInterval((x) => { log('interval', ++n, x); if (n === 3) clearInterval(interval); }, 20, 'arg');
}
spin(3);
