// Web streams: queues, byte streams, tee, transforms, text, adapters.
import { Readable, Writable, Duplex, PassThrough } from 'node:stream';
import * as web from 'node:stream/web';
import { text } from 'node:stream/consumers';
const log = (...args) => console.log(...args);
const list = async (stream) => {
  const items = [];
  for await (const item of stream) items.push(item);
  return items;
};
log(web.ReadableStream === ReadableStream, web.TransformStream === TransformStream);
const counted = new ReadableStream({
  start(controller) { this.n = 0; },
  pull(controller) {
    log('pull', controller.desiredSize);
    controller.enqueue(this.n);
    if (++this.n === 3) controller.close();
  },
}, new CountQueuingStrategy({ highWaterMark: 2 }));
await new Promise(setImmediate);
log(await list(counted));
const [one, two] = new ReadableStream({ start(c) { c.enqueue('a'); c.enqueue('b'); c.close(); } }).tee();
log(await list(one), await list(two));
const bytes = new ReadableStream({ type: 'bytes', pull(c) { c.enqueue(new Uint8Array([1, 2, 3])); c.close(); } });
const reader = bytes.getReader({ mode: 'byob' });
log(await reader.read(new Uint8Array(2)), await reader.read(new Uint8Array(2)));
log((await reader.read(new Uint8Array(2))).done);
reader.releaseLock();
log(bytes.locked);

const written = [];
const writable = new WritableStream({
  write(chunk) { written.push(chunk); },
  close() { log('close'); },
}, new ByteLengthQueuingStrategy({ highWaterMark: 10 }));
const writer = writable.getWriter();
log(writer.desiredSize);
writer.write(new Uint8Array(4));
log(writer.desiredSize);
await writer.close();
log(written.length, await writer.closed);
const failing = new WritableStream({ write() { throw new Error('full'); } });
const other = failing.getWriter();
await other.write('x').catch((error) => log(error.message));
await other.closed.catch((error) => log('closed', error.message));

const doubled = new TransformStream({ transform(chunk, controller) { controller.enqueue(chunk); controller.enqueue(chunk); } });
log(await list(new ReadableStream({ start(c) { c.enqueue(1); c.enqueue(2); c.close(); } }).pipeThrough(doubled)));
const stopped = new AbortController();
const pipe = new ReadableStream({ pull() { return new Promise(() => {}); } }).pipeTo(new WritableStream(), { signal: stopped.signal });
stopped.abort();
await pipe.catch((error) => log(error.name));
const cancelled = new ReadableStream({ cancel(reason) { log('cancel', reason); } });
await cancelled.cancel('why');
try {
  cancelled.getReader();
  cancelled.getReader();
} catch (error) {
  log(error.name);
}

const encoded = new ReadableStream({ start(c) { c.enqueue('a\ud83d'); c.enqueue('\ude00'); c.enqueue('\ud800'); c.close(); } }).pipeThrough(new TextEncoderStream());
log((await list(encoded)).map((chunk) => [...chunk]));
const utf8 = new Uint8Array([0xe2, 0x82, 0xac, 0x41, 0xe2]);
const cut = new ReadableStream({ start(c) { for (const byte of utf8) c.enqueue(new Uint8Array([byte])); c.close(); } });
log((await list(cut.pipeThrough(new TextDecoderStream()))).join('|'));
const strict = new TextDecoderStream('utf-8', { fatal: true });
log(strict.encoding, strict.fatal, strict.ignoreBOM);
await list(new ReadableStream({ start(c) { c.enqueue(new Uint8Array([0xff])); c.close(); } }).pipeThrough(strict)).catch((error) => log(error.name));

log(await text(Readable.toWeb(Readable.from([Buffer.from('to '), Buffer.from('web')], { objectMode: false }))));
log(await list(Readable.fromWeb(new ReadableStream({ start(c) { c.enqueue('x'); c.enqueue('y'); c.close(); } }), { encoding: 'utf8' })));
const pass = new PassThrough();
const toNode = Writable.toWeb(pass).getWriter();
toNode.write('in');
toNode.close();
log(await text(pass));
const got = [];
const fromWeb = Writable.fromWeb(new WritableStream({ write(chunk) { got.push(`${chunk}`); }, close() { log('web closed'); } }));
fromWeb.write('p');
await new Promise((resolve) => fromWeb.end('q', resolve));
log(got);
const failed = Readable.toWeb(new Readable({ read() { this.destroy(new Error('torn')); } }));
await list(failed).catch((error) => log(error.message));
const pair = Duplex.fromWeb(new TransformStream({ transform(chunk, controller) { controller.enqueue(`${chunk}`.toUpperCase()); } }), { encoding: 'utf8' });
pair.end('duplex');
log(await text(pair));
