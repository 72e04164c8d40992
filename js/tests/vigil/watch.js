// vigil:watch: counters from within, and a verdict about this very loop.
const assert = require('assert');
const { once, on } = require('events');
const watch = require('vigil:watch');

const first = watch.snapshot();
assert.strictEqual(first.pool, null);
assert.strictEqual(first.watchdog.running, false);
assert(['off', 'counters', 'events'].includes(watch.level));
assert(first.loop.turns >= 0 && first.memory.rss > 0);
assert.deepStrictEqual(watch.verdicts(), []);
if (watch.level === 'events') assert.strictEqual(watch.mark('hello', 7), true);
assert.throws(() => watch.mark('x', -1), { code: 'ERR_OUT_OF_RANGE' });
assert.throws(() => watch.start({ interval: 1 }), { code: 'ERR_OUT_OF_RANGE' });
assert.throws(() => watch.start({ recover: ['kill'] }), { code: 'ERR_INVALID_ARG_VALUE' });
assert.throws(() => watch.start({ least: 'loud' }), { code: 'ERR_INVALID_ARG_VALUE' });
assert.strictEqual(watch.stop(), false);

(async () => {
  await require('fs').promises.stat('/');
  const { loop, pool } = watch.snapshot();
  assert(loop.turns > first.loop.turns);
  assert(pool.workers >= 1 && pool.submitted >= 1 && pool.classes.normal.submitted >= 1);

  watch.start({ interval: 20, loop: 50, least: 'info' });
  assert.throws(() => watch.start(), { code: 'EALREADY' });
  const hold = setTimeout(() => {}, 60000); // verdicts do not keep the program alive
  // Busy until the watchdog has said so, which it does on its own thread.
  const verdicts = on(watch, 'verdict');
  setImmediate(function tooLong() {
    while (!watch.verdicts().some((it) => it.stall === 'LOOP_BLOCKED')) ;
  });
  for await (const [it] of verdicts) {
    if (it.stall !== 'LOOP_BLOCKED') continue;
    assert.strictEqual(it.subject, 'js');
    assert.match(it.reason, /Loop "js"/);
    assert(it.since <= it.at && it.at <= performance.now());
    assert(it.text.includes(it.reason));
    assert.strictEqual(it.title, 'loop blocked by a callback');
    if (it.state === 'cleared') break;
  }
  const after = watch.snapshot().watchdog;
  assert.strictEqual(after.running, true);
  assert(after.looks > 0 && after.raised['LOOP_BLOCKED'] >= 1);
  assert.strictEqual(watch.stop(), true);
  assert.strictEqual(watch.snapshot().watchdog.running, false);
  assert(watch.verdicts().length >= 1);
  console.log('cleared');
  watch.start(); // the host stops this one
  clearTimeout(hold);
})();
