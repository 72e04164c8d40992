// SPDX-License-Identifier: MIT
// Structured clones of what is no plain data: errors, resizable buffers, views, and objects of the host.
// Node 26 wrote the output: Node 20 has not all of it.
const tried = (run) => {
  try {
    return run();
  } catch (error) {
    return `${error.name}${error instanceof DOMException ? ` ${error.code}` : ''}`;
  }
};
const show = (...values) => console.log(...values);

const silent = structuredClone(new Error());
show('error', Object.hasOwn(silent, 'message'), structuredClone(new RangeError('far')).name, structuredClone(Object.assign(new Error('m'), { name: 'Own' })).name);
const exception = structuredClone(new DOMException('gone', 'NotFoundError'));
show('exception', exception instanceof DOMException, exception.name, exception.message, exception.code);

const resizable = new ArrayBuffer(4, { maxByteLength: 64 });
new Uint8Array(resizable).set([1, 2, 3, 4]);
const copy = structuredClone(resizable);
show('resizable', copy.resizable, copy.byteLength, copy.maxByteLength, [...new Uint8Array(copy)].join());
const moved = structuredClone(resizable, { transfer: [resizable] });
show('moved', moved.resizable, moved.maxByteLength, resizable.detached);

const whole = new ArrayBuffer(8, { maxByteLength: 64 });
const [grows, fixed] = structuredClone([new Uint8Array(whole), new Uint8Array(whole, 0, 8)]);
show('one buffer', grows.buffer === fixed.buffer);
grows.buffer.resize(16);
show('views', grows.length, fixed.length, new DataView(grows.buffer).byteLength);

const shrunk = new ArrayBuffer(8, { maxByteLength: 16 });
const bytes = new Uint8Array(shrunk, 4, 4);
const view = new DataView(shrunk, 4, 4);
shrunk.resize(2);
show('out of bounds', tried(() => structuredClone(bytes)), tried(() => structuredClone(view)));
show('empty', structuredClone(new Uint8Array(0)).length);

for (const make of [() => new Response(), () => new Headers(), () => new URL('http://a'), () => new URLSearchParams('a=b'), () => new FormData()]) {
  const name = make().constructor.name;
  show(name, tried(() => typeof structuredClone(make())), tried(() => typeof structuredClone({ deep: [make()] })));
}
const blob = structuredClone(new File(['text'], 'name.txt', { type: 'text/plain', lastModified: 5 }));
show('file', blob instanceof File, blob.name, blob.type, blob.size, blob.lastModified);
