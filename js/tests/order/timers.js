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
const last = setTimeout(() => { log('1500 ms'); refreshing(); }, 1500);
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
const u = setTimeout(() => log('never: unref'), 100000).unref();
log(u.hasRef(), u.ref().hasRef(), u.unref().hasRef());
log(typeof last[Symbol.toPrimitive](), last.hasRef(), setTimeout(() => {}, 1) === 1);
for (const bad of [undefined, null, 1, 'x', {}]) {
  try { setTimeout(bad, 1); } catch (e) { log(e.name, e.code, e.message); }
}
for (const f of [setInterval, setImmediate, queueMicrotask, process.nextTick]) {
  try { f('nope'); } catch (e) { log(f.name, e.code); }
}
// One after the other from here on: when a timer is due again depends on when the callback was run that set it.
function refreshing() {
  // Each is due before the next however long the machine stops between two lines.
  setTimeout(() => { setTimeout(() => log('before refreshed'), 40); r.refresh(); }, 10);
  const r = setTimeout(() => { log('refreshed'); again(); }, 50);
}
function again() {
  let times = 0;
  const timer = setTimeout(() => {
    log('fired', timer._destroyed);
    if (++times === 1) timer.refresh();
    else setTimeout(cleared, 1, timer);
  }, 20);
}
function cleared(timer) {
  clearTimeout(timer);
  timer.refresh();
  log('refresh after clear does nothing');
  setTimeout(intervals, 50);
}
function intervals() {
  let n = 0;
  const interval = setInterval((x) => { log('interval', ++n, x); if (n === 3) clearInterval(interval); }, 20, 'arg');
}
spin(3);
