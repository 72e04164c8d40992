// node:stream: order of events, back-pressure, errors, pipelines, operators, objects, and its promises.
const { Readable, Writable, Transform, Duplex, PassThrough, pipeline, finished, addAbortSignal, compose } = require('stream');
const promises = require('node:stream/promises');
const consumers = require('stream/consumers');
const EventEmitter = require('events');
const log = (...args) => console.log(...args);
const sink = (name, list) => new Writable({
  highWaterMark: 4,
  write(chunk, encoding, callback) {
    list.push(String(chunk));
    setImmediate(callback);
  },
  final(callback) {
    log(name, 'final');
    callback();
  },
});
const watch = (name, stream) => {
  for (const type of ['end', 'finish', 'close', 'error', 'pipe', 'unpipe', 'drain']) {
    stream.on(type, (what) => log(name, type, what instanceof Error ? what.message : ''));
  }
  return stream;
};

const steps = [
  async function back() {
    const list = [];
    const to = watch('to', sink('to', list));
    log(to.write('abcd'), to.write('e'), to.writableLength, to.writableNeedDrain);
    await EventEmitter.once(to, 'drain');
    log(to.write('f'), to.writableLength);
    to.end('g');
    await promises.finished(to);
    log(list, to.writableFinished, to.destroyed);
  },
  async function pipes() {
    const list = [];
    const from = watch('from', new Readable({ read() {} }));
    const to = watch('to', sink('to', list));
    from.pipe(to);
    from.push('one');
    from.push('two');
    from.push(null);
    await promises.finished(to);
    log(list);
  },
  async function failing() {
    const bad = new Transform({ transform(chunk, encoding, callback) { callback(new Error('no')); } });
    const from = Readable.from(['x', 'y']);
    const to = new PassThrough();
    await promises.pipeline(from, bad, to).catch((error) => log('pipeline', error.message));
    log(from.destroyed, bad.destroyed, to.destroyed);
    pipeline(Readable.from(['q']), new Writable({ write(c, e, cb) { cb(); } }), (error) => log('callback', error));
    await new Promise(setImmediate);
    const late = new Writable({ write(c, e, cb) { cb(); } });
    late.end();
    late.on('error', (error) => log(error.code, error.message));
    late.write('x');
    await new Promise(setImmediate);
    try {
      new Writable({ write() {} }).write(null);
    } catch (error) {
      log(error.code);
    }
    try {
      new Writable({ write() {} }).write(7);
    } catch (error) {
      log(error.code);
    }
    await promises.finished(new Readable({ read() { this.destroy(); } }).resume()).catch((error) => log(error.code));
  },
  async function aborts() {
    const controller = new AbortController();
    const stuck = new Readable({ read() {} });
    addAbortSignal(controller.signal, stuck);
    stuck.on('error', (error) => log(error.name, error.code));
    controller.abort();
    await new Promise(setImmediate);
    const other = new AbortController();
    const waiting = promises.pipeline(new Readable({ read() {} }), new PassThrough(), { signal: other.signal });
    other.abort();
    await waiting.catch((error) => log(error.name));
  },
  async function reading() {
    const paused = new Readable({ read() {} });
    paused.push('hello');
    paused.push(' world');
    paused.push(null);
    paused.on('readable', () => {
      let piece;
      while ((piece = paused.read(4)) !== null) log('piece', `${piece}`);
    });
    await EventEmitter.once(paused, 'end');
    const text = new Readable({ read() {} });
    text.setEncoding('utf8');
    const euro = Buffer.from('€');
    text.push(euro.subarray(0, 1));
    text.push(euro.subarray(1));
    text.push(null);
    log(await text.toArray());
    const front = Readable.from(['b', 'c']);
    front.unshift('a');
    log(await front.toArray());
    const objects = Readable.from((function* () { yield { a: 1 }; yield [2]; })());
    log(objects.readableObjectMode, await objects.toArray());
    for await (const chunk of Readable.from(['x', 'y', 'z'])) {
      log(chunk);
      if (chunk === 'y') break;
    }
  },
  async function operators() {
    const numbers = () => Readable.from([1, 2, 3, 4, 5, 6]);
    log(await numbers().filter((n) => n % 2).map((n) => n * n).toArray());
    log(await numbers().map(async (n) => n + 1, { concurrency: 3 }).toArray());
    log(await numbers().drop(2).take(2).toArray(), await numbers().reduce((a, b) => a + b, 0));
    log(await numbers().some((n) => n > 5), await numbers().every((n) => n > 5), await numbers().find((n) => n > 3));
    log(await numbers().flatMap((n) => [n, -n]).toArray());
  },
  async function duplexes() {
    const upper = new Transform({ transform: (chunk, encoding, callback) => callback(null, `${chunk}`.toUpperCase()), flush(callback) { callback(null, '!'); } });
    upper.write('ab');
    upper.end('cd');
    log(await consumers.text(upper));
    const from = Duplex.from(async function* (source) { for await (const chunk of source) yield `<${chunk}>`; });
    from.end('in');
    log(await consumers.text(from));
    const both = compose(new PassThrough(), async function* (source) { for await (const chunk of source) yield `${chunk}${chunk}`; });
    both.end('x');
    log(await consumers.text(both));
    const half = new Duplex({ allowHalfOpen: false, read() { this.push(null); }, write(c, e, cb) { cb(); } });
    half.resume();
    half.on('finish', () => log('half finish'));
    await EventEmitter.once(half, 'close');
  },
  async function consuming() {
    log(await consumers.json(Readable.from(['{"a":', '1}'])), await consumers.buffer(Readable.from([Buffer.from('x')])));
    log((await consumers.arrayBuffer(Readable.from(['abc']))).byteLength, (await consumers.blob(Readable.from(['abc']))).size);
  },
  async function classes() {
    const pass = new PassThrough();
    log(pass instanceof Readable, pass instanceof Writable, pass instanceof Duplex, pass instanceof require('stream'));
    log(require('stream') === require('stream').Stream, typeof require('stream').promises.pipeline);
    class Own extends Readable {
      constructor() {
        super({ objectMode: true });
        this.left = 3;
      }
      _construct(callback) {
        log('construct');
        setImmediate(callback);
      }
      _read() { this.push(this.left-- || null); }
      _destroy(error, callback) {
        log('destroy', error);
        callback(error);
      }
    }
    log(await new Own().toArray());
    function Old() {
      Writable.call(this);
    }
    Object.setPrototypeOf(Old.prototype, Writable.prototype);
    Old.prototype._writev = (chunks, callback) => {
      log(chunks.map(({ chunk }) => `${chunk}`));
      callback();
    };
    const old = new Old();
    old.cork();
    old.write('1');
    old.write('2');
    old.uncork();
    old.end();
    finished(old, (error) => log('old', error));
    await promises.finished(old);
  },
];
(async () => {
  for (const step of steps) {
    log(`-- ${step.name}`);
    await step();
  }
})();
