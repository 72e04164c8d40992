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

// Fetch: only what can be enumerated is a header.
const given = Object.create({ inherited: 1 }, { hidden: { value: 2 }, seen: { value: 3, enumerable: true } });
console.log('headers', [...new Headers(given)].join());

// MIME Sniffing: the value of a parameter keeps its case. File API: a buffer that was moved away is empty.
(async () => {
  console.log('type', (await new Response('', { headers: { 'content-type': 'TEXT/HTML;CHARSET=GBK' } }).blob()).type);
  const bytes = new Uint8Array(4);
  structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
  console.log('moved', new Blob([bytes, bytes.buffer, 'x']).size, JSON.stringify(new TextDecoder().decode(bytes)));

  // Encoding: what can become no character is not waited for; GB18030 of 2022; shared memory.
  const decoder = new TextDecoder();
  console.log('utf-8', ...[[0xf0, 0x80], [0xe0, 0x80], [0xed, 0xa0], [0xf4, 0x90], [0xf0, 0x9f], [0x98, 0x80]].map((piece) => JSON.stringify(decoder.decode(Uint8Array.from(piece), { stream: true }))));
  for (const label of ['gb18030', 'gbk']) {
    const points = [...new TextDecoder(label).decode(Uint8Array.of(0xa6, 0xd9, 0xa6, 0xf3, 0xfe, 0x59, 0xfe, 0xa0, 0xa3, 0xa0))];
    console.log(label, points.map((point) => point.codePointAt(0).toString(16)).join(' '));
  }

  // Web IDL: getters are named after their attributes.
  console.log(Object.getOwnPropertyDescriptor(URL.prototype, 'href').get.name, Object.getOwnPropertyDescriptor(URL.prototype, 'port').set.name, URLSearchParams.prototype.append.length);

  // Streams over bodies and blobs as text.
  const texts = [];
  for await (const chunk of new Response('caf\u00e9').textStream()) texts.push(chunk);
  for await (const chunk of new Blob(['\u20ac', 'uro']).textStream()) texts.push(chunk);
  console.log(texts.join(' '));
})();
