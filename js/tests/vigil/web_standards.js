// SPDX-License-Identifier: MIT
// The standards of the web where Node goes its own way. The output follows the standards' text.
const tried = (run) => {
  try {
    return run();
  } catch (error) {
    return error.name;
  }
};

// DOM: after a dispatch an event can go again; its flags are cleared.
const log = [];
const again = new Event('e');
const stopper = new EventTarget();
stopper.addEventListener('e', (event) => {
  log.push('stop', event.eventPhase, event.currentTarget === stopper, event.composedPath().length);
  event.stopImmediatePropagation();
});
stopper.addEventListener('e', () => log.push('never'));
stopper.dispatchEvent(again);
stopper.dispatchEvent(again);
console.log('again', log.splice(0).join(' '));
console.log('rest', again.eventPhase, again.currentTarget, again.target === stopper, again.composedPath().length, again.cancelBubble);

// DOM: at the target those that capture come first, and can keep the event from the others.
const phases = new EventTarget();
phases.addEventListener('p', () => log.push('bubble'));
phases.addEventListener('p', () => log.push('capture'), true);
phases.dispatchEvent(new Event('p'));
phases.addEventListener('p', (event) => event.stopPropagation(), { capture: true });
phases.dispatchEvent(new Event('p'));
console.log('phases', log.splice(0).join(' '));

// DOM: isTrusted is a property of each event, with one getter.
const plain = new Event('g');
const descriptor = Object.getOwnPropertyDescriptor(plain, 'isTrusted');
console.log('trust', plain.isTrusted, typeof descriptor.get, descriptor.configurable, descriptor.get === Object.getOwnPropertyDescriptor(again, 'isTrusted').get);
plain.initEvent('h', true, true);
console.log('init', plain.type, plain.bubbles, plain.cancelable);

// HTML: what is no data and not serializable is refused.
for (const value of [new EventTarget(), new TextEncoder(), new Event('x')]) console.log(value.constructor.name, tried(() => structuredClone(value)));

// User Timing: a detail alone is no measure.
console.log('detail', tried(() => performance.measure('x', { detail: 1 })));
