// A file has what was written to its stream in the order of the calls: before the stream is open, in 'open' and 'ready' and a tick behind
// them, corked, with short writes, and with an end or an error at any place. The plans are random, with a fixed seed.
'use strict';
const fs = require('fs');
const os = require('os');
const path = require('path');

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'order-'));
let seed = 20;
function random(most) {
  seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
  return (seed >>> 8) % most;
}
const pick = (...list) => list[random(list.length)];

// When a step is made, given the stream.
const places = {
  now: (stream, step) => step(),
  tick: (stream, step) => process.nextTick(step),
  microtask: (stream, step) => queueMicrotask(step),
  immediate: (stream, step) => setImmediate(step),
  timer: (stream, step) => setTimeout(step, random(3)),
  open: (stream, step) => stream.once('open', step),
  openTick: (stream, step) => stream.once('open', () => process.nextTick(step)),
  openTicks: (stream, step) => stream.once('open', () => process.nextTick(() => process.nextTick(step))),
  openMicrotask: (stream, step) => stream.once('open', () => queueMicrotask(step)),
  openImmediate: (stream, step) => stream.once('open', () => setImmediate(step)),
  ready: (stream, step) => stream.once('ready', step),
  readyTick: (stream, step) => stream.once('ready', () => process.nextTick(step)),
  readyPromise: (stream, step) => stream.once('ready', () => Promise.resolve().then(() => {}).then(step)),
};
const placeNames = Object.keys(places);

// An fs with short writes, without writev, or with an error at some write.
function callsOf(kind, failAt) {
  if (kind === 'own') return undefined;
  let count = 0;
  const refuse = (done) => {
    if (++count !== failAt) return false;
    setImmediate(done, Object.assign(new Error('no room'), { code: 'ENOSPC' }), 0);
    return true;
  };
  const calls = {
    open: fs.open,
    close: fs.close,
    write(fd, data, offset, length, place, done) {
      if (refuse(done)) return;
      fs.write(fd, data, offset, kind === 'short' ? 1 + random(length) : length, place, done);
    },
    writev(fd, list, place, done) {
      if (refuse(done)) return;
      if (kind === 'short') fs.write(fd, list[0], 0, Math.ceil(list[0].length / 2), place, (error, count) => done(error, count, list));
      else fs.writev(fd, list, place, done);
    },
  };
  if (kind === 'one') calls.writev = undefined;
  return calls;
}

let named = 0;
function piece() {
  const text = `${named++}${'.'.repeat(pick(1, 1, 5, 40, 700, 20000))}`;
  return [text, pick(text, Buffer.from(text), new Uint8Array(Buffer.from(text)))];
}

function one(plan) {
  return new Promise((resolve) => {
    const missing = random(25) === 0;
    const kind = pick('own', 'own', 'short', 'one', 'fails');
    // Node 20 loses its place in a short writev.
    const start = kind !== 'short' && random(8) === 0 ? 3 : undefined;
    const file = path.join(folder, missing ? 'missing' : '.', `${plan}`);
    if (start !== undefined && !missing) fs.writeFileSync(file, '###');
    const options = { highWaterMark: pick(1, 16, 16384), start };
    const calls = callsOf(kind, kind === 'fails' ? 1 + random(4) : 0);
    if (calls !== undefined) options.fs = calls;
    const stream = fs.createWriteStream(file, options);
    const asked = [];
    const answered = [];
    let sent = 0;
    let failed = null;
    let ended = false;
    let left = 1 + random(7);
    const write = (how) => {
      const [text, data] = piece();
      const number = sent++;
      if (!ended) asked.push(text);
      stream[how](data, (error) => { if (!error && how === 'write') answered.push(number); });
    };
    const end = () => {
      if (random(2) === 0) write('end');
      else stream.end();
      ended = true;
    };
    const step = () => {
      const what = random(12);
      if (what < 8) for (let count = pick(1, 1, 2, 5); count > 0; count--) write('write');
      if (what >= 8 && what < 11) {
        stream.cork();
        for (let count = random(4); count > 0; count--) write('write');
        if (what === 8) process.nextTick(() => stream.uncork());
        else stream.uncork();
      }
      if (what === 11 && random(3) === 0) end();
      if (--left === 0 && !ended) places[pick('now', 'tick', 'immediate')](stream, () => { if (!ended) end(); });
    };
    stream.on('error', (error) => { failed ??= error.code; });
    stream.on('close', () => {
      const got = missing ? '' : fs.readFileSync(file, 'latin1').slice(start ?? 0);
      const all = asked.join('');
      if (failed ? !all.startsWith(got) : all !== got) console.log('plan', plan, kind, failed, 'wrote', got.slice(0, 60), 'for', all.slice(0, 60));
      if (!failed && stream.bytesWritten !== got.length) console.log('plan', plan, 'bytesWritten', stream.bytesWritten, got.length);
      if (answered.some((number, i) => i > 0 && number < answered[i - 1])) console.log('plan', plan, 'callbacks', answered.join());
      resolve(failed ?? 'whole');
    });
    for (let count = left; count > 0; count--) places[pick(...placeNames)](stream, step);
  });
}

// The smallest of them.
function least(event, later) {
  return new Promise((resolve) => {
    const file = path.join(folder, 'least');
    const stream = fs.createWriteStream(file);
    stream.write('hello');
    stream.on(event, () => later(() => stream.end('world')));
    stream.on('close', () => resolve(fs.readFileSync(file, 'latin1')));
  });
}

(async () => {
  for (const event of ['open', 'ready']) {
    for (const later of [(step) => step(), process.nextTick, queueMicrotask, setImmediate]) console.log(event, await least(event, later));
  }
  const ends = new Set();
  for (let plan = 0; plan < 400; plan++) ends.add(await one(plan));
  console.log([...ends].sort());
  fs.rmSync(folder, { recursive: true });
})();
