// Event emitters: order, once, removal while emitting, errors, async iteration.
const EventEmitter = require('events');
const log = (...a) => console.log(...a);
const e = new EventEmitter();
e.on('newListener', (n) => log('new', n));
e.on('a', function (...x) { log('a1', x, this === e); e.removeListener('a', a2); });
function a2() { log('a2'); }
e.on('a', a2);
e.once('a', () => log('once'));
e.prependListener('a', () => log('first'));
log(e.emit('a', 1, 2), e.emit('a'), e.emit('nobody'));
log(e.listenerCount('a'), e.eventNames(), e.rawListeners('a').length);
try { e.emit('error', new Error('boom')); } catch (x) { log(x.message); }
try { e.emit('error', 'text'); } catch (x) { log(x.code, x.message, x.context); }
try { e.on('x', 1); } catch (x) { log(x.code); }
EventEmitter.once(e, 'later').then((v) => log('once promise', v));
e.emit('later', 1, 2);
(async () => {
  setTimeout(() => { e.emit('it', 1); e.emit('it', 2); }, 1);
  for await (const [v] of EventEmitter.on(e, 'it')) { log('iter', v); if (v === 2) break; }
  log('listeners left', e.listenerCount('it'));
})();
process.on('warning', (w) => log(w.name, w.count));
for (let i = 0; i < 11; i++) e.on('many', () => {});
