// SPDX-License-Identifier: MIT
// Events of the DOM Standard: phases, options, handlers and the old names.
// Node 26 wrote the output: Node 20 has not all of it.
const log = [];
const note = (name) => () => { log.push(name); };
const say = (title) => console.log(title, log.splice(0).join(' '));
const tried = (run) => {
  try {
    return run();
  } catch (error) {
    return error.name;
  }
};

const target = new EventTarget();
target.addEventListener('a', note('first'));
target.addEventListener('a', note('second'));
target.addEventListener('a', { handleEvent() { log.push(this === object ? 'object' : 'other'); } });
const object = { handleEvent() { log.push(this === object ? 'object' : 'other'); } };
target.addEventListener('a', object);
target.addEventListener('a', object); // the same again is no other one
target.dispatchEvent(new Event('a'));
say('order');

// What was read of the options, also for a listener that is null.
const read = [];
const options = {
  get capture() { read.push('capture'); },
  get once() { read.push('once'); },
  get passive() { read.push('passive'); },
  get signal() { read.push('signal'); },
};
target.addEventListener('b', null, options);
console.log('read', read.splice(0).sort().join(' '));
target.removeEventListener('b', null, options);
console.log('signal null', tried(() => target.addEventListener('b', null, { signal: null })), tried(() => target.addEventListener('b', () => {}, { signal: null })));
console.log('no listener', tried(() => target.addEventListener('b')), tried(() => target.addEventListener('b', 5)));

// Passive listeners cannot cancel.
for (const passive of [undefined, false, true]) {
  const one = new EventTarget();
  one.addEventListener('c', (event) => event.preventDefault(), { passive });
  one.addEventListener('d', (event) => { event.returnValue = false; }, { passive });
  const event = new Event('d', { cancelable: true });
  console.log('passive', passive, one.dispatchEvent(new Event('c', { cancelable: true })), one.dispatchEvent(event), event.returnValue);
}
const kept = new Event('x');
kept.returnValue = false;
console.log('not cancelable', kept.defaultPrevented, kept.returnValue);

// A signal takes listeners away.
const control = new AbortController();
target.addEventListener('f', note('f'), { signal: control.signal });
target.dispatchEvent(new Event('f'));
control.abort();
target.dispatchEvent(new Event('f'));
say('signal');

// Trust.
const watched = new AbortController();
watched.signal.addEventListener('abort', (event) => console.log('abort', event.isTrusted, event.type, event.target === watched.signal));
watched.abort();

// Handlers keep their place.
const signal = new AbortController();
signal.signal.onabort = note('handler');
signal.signal.addEventListener('abort', note('listener'));
signal.signal.onabort = note('another');
signal.abort();
say('handlers');
console.log('handler', typeof signal.signal.onabort, tried(() => { signal.signal.onabort = null; return signal.signal.onabort; }));

// Old names.
console.log(Object.keys(DOMException).length, DOMException.ABORT_ERR, new DOMException('m', 'DataCloneError').DATA_CLONE_ERR, DOMException.prototype.INDEX_SIZE_ERR);
console.log(Event.AT_TARGET, Event.BUBBLING_PHASE, tried(() => { 'use strict'; Event.NONE = 5; }));
console.log(Object.keys(EventTarget.prototype).sort().join(' '));
