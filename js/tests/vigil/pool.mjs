// vigil:pool. The values are those of sha256sum, gzip and RFC 7914.
import assert from 'node:assert';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createRequire } from 'node:module';
import * as pool from 'vigil:pool';
import { hash, hashFile, hmac, pbkdf2, scrypt, gzip, gunzip, deflate, inflate, unzip, stats, resize } from 'vigil:pool';

const require = createRequire(import.meta.url);
assert.strictEqual(require('vigil:pool').hash, hash);
assert.throws(() => require('node:vigil:pool'), /vigil:pool/);

// Digests and keys.
const ABC = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';
assert.strictEqual(await hash('abc', 'sha256', { encoding: 'hex' }), ABC);
assert.strictEqual((await hash(new Uint16Array([0x6261]).buffer, 'MD5')).toString('hex'), '187ef4436122d1cc2f40dc2b92f0eba0');
assert.strictEqual(await hash('', 'sha1', { encoding: 'hex' }), 'da39a3ee5e6b4b0d3255bfef95601890afd80709');
assert.strictEqual(await hmac('what do ya want for nothing?', 'Jefe', 'sha256', { encoding: 'hex' }),
                   '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843');
assert.strictEqual(await pbkdf2('passwd', 'salt', 1, 64, 'sha256', { encoding: 'hex' }),
                   '55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc49ca9cccf179b645991664b39d77ef31' +
                   '7c71b845b1e30bd509112041d3a19783');
assert.strictEqual(await scrypt('password', 'NaCl', 64, { cost: 1024, parallelization: 16, encoding: 'hex' }),
                   'fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b3731622eaf30d92e22a3886ff109279d9830da' +
                   'c727afb94a83ee6d8360cbdfa2cc0640');
assert(pool.algorithms().includes('blake2b512'));

// Files, also of more than one piece.
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'vigil-pool-'));
const file = path.join(folder, 'file');
const large = Buffer.alloc(3 * 1024 * 1024 + 17, 'vigil');
fs.writeFileSync(file, large);
assert.deepStrictEqual(await hashFile(file), await hash(large));
await assert.rejects(hashFile(path.join(folder, 'none')), { code: 'ENOENT', syscall: 'open', path: path.join(folder, 'none') });
await assert.rejects(hashFile(folder), { code: 'EISDIR' });
fs.rmSync(folder, { recursive: true });

// Packing.
const packed = await gzip(large, { level: 9, priority: 'low' });
assert(packed.length < large.length / 100 && packed[0] === 0x1f && packed[1] === 0x8b);
assert((await gunzip(packed)).equals(large));
assert.strictEqual((await gunzip(Buffer.concat([await gzip('one '), await gzip('two')]))).toString(), 'one two');
assert.strictEqual(await inflate(await deflate('text'), { encoding: 'utf8' }), 'text');
assert.strictEqual(await unzip(await gzip('')).then(String), '');
assert.strictEqual(await pool.inflateRaw(await pool.deflateRaw('raw')).then(String), 'raw');
await assert.rejects(gunzip('nonsense'), { code: 'EBADMSG', message: /incorrect header check/ });
await assert.rejects(gunzip(packed.subarray(0, packed.length - 9)), { code: 'EBADMSG', message: /unexpected end/ });
await assert.rejects(gunzip(packed, { maxOutputLength: 1000 }), { code: 'EMSGSIZE' });
assert.strictEqual((await gunzip(packed, { maxOutputLength: large.length })).length, large.length);

// Wrong arguments reject; nothing throws.
await assert.rejects(hash(5), { code: 'ERR_INVALID_ARG_TYPE' });
await assert.rejects(hash('', 'sha257'), { code: 'ERR_INVALID_ARG_VALUE', message: /sha256/ });
await assert.rejects(hash('', 'sha256', { priority: 'urgent' }), /critical, high, normal, low, idle/);
await assert.rejects(hash('', 'sha256', { signal: 5 }), { code: 'ERR_INVALID_ARG_TYPE' });
await assert.rejects(hash('', 'sha256', { timeout: -1 }), { code: 'ERR_OUT_OF_RANGE' });
await assert.rejects(pool.run('none'), /exposed no task/);
assert.deepStrictEqual(Object.keys(pool.tasks), []);

// One worker: what waits behind long work is queued in its class, and may be taken back.
resize(1);
assert.strictEqual(pool.workers, 1);
// The others finish what they are at before they go.
while (stats().threads > 1 || stats().running > 0) await new Promise((resolve) => setImmediate(resolve));
let before;
let order;
const reason = new Error('not wanted');
for (let rounds = 300000, held = false; !held; rounds *= 2) { // longer than a busy machine keeps us from queueing the rest
  before = stats();
  order = [];
  let ended = false;
  const long = pbkdf2('p', 's', rounds, 32).then(() => { ended = true; order.push('long'); });
  while (!ended && stats().running === 0) await new Promise((resolve) => setImmediate(resolve));
  const controller = new AbortController();
  const rest = [
    hash('a', 'sha256', { priority: 'idle' }).then(() => order.push('idle')),
    hash('b', 'sha256', { priority: 'low' }).then(() => order.push('low')),
    hash('c', 'sha256', { priority: 'critical' }).then(() => order.push('critical')),
    hash('d', 'sha256', { priority: 'low', signal: controller.signal }).catch((error) => order.push(error === reason)),
  ];
  const full = stats();
  controller.abort(reason);
  held = !ended && stats().completed === before.completed;
  if (held) assert.strictEqual(full.queued + full.running, 5);
  await Promise.all([long, ...rest]);
  // The result is on its way before the pool has counted the end.
  while (stats().running > 0) await new Promise((resolve) => setImmediate(resolve));
}
// Ageing may let a lower class go first after long work, so only the classes are looked at: tests/pool has the order.
assert.deepStrictEqual(order.slice(0, 2), [true, 'long']);
assert.deepStrictEqual(order.slice(2).sort(), ['critical', 'idle', 'low']);
const after = stats();
assert.strictEqual(after.cancelled - before.cancelled, 1);
assert.strictEqual(after.completed - before.completed, 4);
assert.strictEqual(after.classes.low.cancelled - before.classes.low.cancelled, 1);
for (const [name, submitted] of Object.entries({ critical: 1, high: 0, normal: 1, low: 2, idle: 1 })) {
  assert.strictEqual(after.classes[name].submitted - before.classes[name].submitted, submitted, name);
}
assert(after.classes.critical.wait.count === before.classes.critical.wait.count + 1 && after.classes.critical.wait.max > 1);
assert(after.classes.normal.run.max >= after.classes.normal.run.p99);
assert.strictEqual(after.queued, 0);

// Aborted while it runs: rejected at once, the result is dropped.
async function rejection(start) { // of work that is longer than a busy machine keeps us from ending it
  for (let rounds = 300000; ; rounds *= 2) {
    let end;
    start(rounds).then(() => { end = 'result'; }, (error) => { end = error; });
    while (end === undefined) await new Promise((resolve) => setTimeout(resolve, 1));
    if (end !== 'result') return end;
  }
}
assert.strictEqual((await rejection((rounds) => {
  const running = new AbortController();
  const dropped = pbkdf2('p', 's', rounds, 32, 'sha256', { signal: running.signal });
  const abort = () => (stats().running === 0 ? setTimeout(abort, 1) : running.abort());
  abort();
  return dropped;
})).name, 'AbortError');
await assert.rejects(hash('x', 'sha256', { signal: AbortSignal.abort(7) }), (error) => error === 7);
assert.strictEqual((await rejection((rounds) => pbkdf2('p', 's', rounds, 32, 'sha256', { timeout: 1 }))).name, 'TimeoutError');
console.log('done');
