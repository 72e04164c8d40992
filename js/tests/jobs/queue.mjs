// vigil:jobs on a queue in a file, or where jobs_postgres.sh says: handlers in JavaScript, and what they see and leave.
import assert from 'node:assert';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { open } from 'vigil:jobs';

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'vigil-jobs-'));
const where = process.env.VIGIL_TEST_QUEUE ?? path.join(folder, 'work.db');
function gate() {
  let open;
  const wait = new Promise((resolve) => { open = resolve; });
  return { wait, open };
}

// From enqueue to result; values are JSON, bytes stay bytes.
const queue = await open(where, { concurrency: 4 });
let seen;
queue.handle('add', async (job) => { seen = job; await null; return job.payload.a + job.payload.b; });
queue.handle('plain', () => undefined);
queue.handle('bytes', (job) => Buffer.concat([job.payload, Buffer.from([0, 255])]));
queue.handle('fails', () => { throw new TypeError('no luck'); }, { maxErrors: 1 });
let tries = 0;
queue.handle('again', (job) => {
  if (job.checkpoint !== undefined) return { before: JSON.parse(job.checkpoint), errors: job.errors };
  tries++;
  job.save({ page: 7 });
  throw new Error('once more');
}, { backoff: 1 });
const entered = gate();
queue.handle('stays', (job) => new Promise((resolve, reject) => {
  job.progress(0.5, 'half');
  job.signal.addEventListener('abort', () => reject(job.signal.reason));
  entered.open(job);
}));
assert.throws(() => queue.handle('add', () => {}), { code: 'EEXIST' });
await queue.start();
const sum = await queue.enqueue('add', { a: 1, b: 2 });
assert.strictEqual(await queue.result(sum), 3);
assert.strictEqual(seen.id, sum);
assert.strictEqual(seen.contentType, 'application/json');
assert.strictEqual(seen.signal.aborted, false);
assert.throws(() => seen.progress(1), { code: 'ESTALE' }); // it has ended
assert.strictEqual(await queue.result(await queue.enqueue('plain')), undefined);
const bytes = await queue.wait(await queue.enqueue('bytes', Buffer.from('xy')));
assert.deepStrictEqual([bytes.state, [...bytes.result]], ['completed', [120, 121, 0, 255]]);
assert.deepStrictEqual(await queue.result(await queue.enqueue('again')), { before: { page: 7 }, errors: 1 });
assert.strictEqual(tries, 1);

// Failure, and what is left of it.
const bad = await queue.enqueue('fails', 'x', { priority: 'high' });
await assert.rejects(queue.result(bad), (error) => error.code === 'ERR_JOB_FAILED' && error.job.state === 'dead' && /no luck/.test(error.message));
const [dead] = await queue.look({ states: ['dead'] });
assert.deepStrictEqual([dead.id, dead.priority, JSON.parse(dead.payload), dead.errors], [bad, 'high', 'x', 1]);
assert.match(dead.error, /^no luck\n/);

// A job that runs is cancelled through its signal.
const stays = await queue.enqueue('stays');
const running = await entered.wait;
assert.strictEqual(running.id, stays);
assert.strictEqual(await queue.cancel(stays), true);
assert.strictEqual((await queue.wait(stays)).state, 'cancelled');
assert.strictEqual(running.signal.reason.code, 'ECANCELED');

// Keys, delays, many at once, batches.
const later = await queue.enqueue('add', { a: 0, b: 0 }, { key: 'one', delay: 3600000 });
await assert.rejects(queue.enqueue('add', {}, { key: 'one' }), { code: 'EEXIST', holder: later });
const many = await queue.enqueueMany([{ kind: 'add', payload: { a: 2, b: 2 } }, { kind: 'add', payload: {}, key: 'one' }, { kind: 'plain' }]);
assert.strictEqual(many[1], null);
assert.strictEqual(await queue.result(many[0]), 4);
assert.strictEqual(await queue.cancel(later), false);
const batch = await queue.batch();
const part = await queue.enqueue('plain', undefined, { batch });
const after = await queue.enqueue('add', { a: 5, b: 5 }, { afterBatch: batch });
await queue.endBatch(batch);
assert.strictEqual(await queue.result(after), 10);
assert.strictEqual((await queue.wait(part)).state, 'completed');

// A wait that is given up; a schedule; the account.
const controller = new AbortController();
const never = await queue.enqueue('unknown');
const given = queue.wait(never, { signal: controller.signal });
controller.abort(new Error('enough'));
await assert.rejects(given, /enough/);
await assert.rejects(queue.wait(424242), { code: 'ENOENT' });
await queue.schedule('nightly', { cron: '@daily', kind: 'plain' });
await queue.unschedule('nightly');
await assert.rejects(queue.unschedule('nightly'), { code: 'ENOENT', message: /no schedule/ });
await assert.rejects(queue.schedule('nightly', { cron: 'often', kind: 'plain' }), { code: 'EINVAL' });
await queue.pause('plain');
await queue.resume('plain');
const account = await queue.account();
assert.strictEqual(account.waiting, 1);
assert.strictEqual(account.enqueued, account.waiting + account.running + account.completed + account.dead + account.cancelled);

// Wrong arguments.
await assert.rejects(queue.enqueue(5), { code: 'ERR_INVALID_ARG_TYPE' });
await assert.rejects(queue.enqueue('add', () => {}), { code: 'ERR_INVALID_ARG_VALUE' });
await assert.rejects(queue.enqueue('add', 1, { priority: 'urgent' }), /critical, high, normal, low, idle/);
await assert.rejects(queue.wait('1'), { code: 'ERR_INVALID_ARG_TYPE' });
await assert.rejects(open(path.join(folder, 'none', 'work.db')), { code: 'ENOTCONN' });

// The graceful end: a handler that ends in time completes; a wait is told.
const slow = gate();
const begun = gate();
const second = await open(where);
second.handle('slow', async () => { begun.open(); await slow.wait; return 'done'; });
await second.start();
const one = await second.enqueue('slow');
await begun.wait;
const waits = assert.rejects(second.wait(never), { code: 'ESHUTDOWN' });
const closing = second.close();
assert.strictEqual(second.close(), closing);
await assert.rejects(second.enqueue('slow'), { code: 'ESHUTDOWN' });
slow.open();
assert.strictEqual(await closing, true);
await waits;
assert.strictEqual(await queue.result(one), 'done');

// One that does not is told by its signal, and its job is given back to whoever runs it next.
const third = await open(where);
const stuck = gate();
third.handle('stuck', (job) => { stuck.open(job); return new Promise(() => {}); });
await third.start();
const id = await third.enqueue('stuck');
const job = await stuck.wait;
assert.strictEqual(await third.close({ timeout: 0 }), false);
assert.strictEqual(job.signal.reason.code, 'ESHUTDOWN');
assert.throws(() => job.save('late'), { code: 'ESTALE' });
const [back] = await queue.look({ id });
assert.deepStrictEqual([back.state, back.errors, back.crashes], ['waiting', 0, 0]);
assert.strictEqual(await queue.close(), true);
fs.rmSync(folder, { recursive: true });
console.log('queue');
