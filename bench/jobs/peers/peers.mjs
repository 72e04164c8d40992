// SPDX-License-Identifier: MIT
// node peers.mjs WHERE [COUNT]: graphile-worker and pg-boss at their best settings, claim to complete, with empty handlers.
import { run, makeWorkerUtils, Logger } from 'graphile-worker';
import { PgBoss } from 'pg-boss';
import pg from 'pg';

const where = process.argv[2];
const count = Number(process.argv[3] ?? 100000);
if (where === undefined) {
    console.error('usage: node peers.mjs WHERE [COUNT]');
    process.exit(2);
}

function say(name, jobs, seconds, cpu) {
    console.log(`${name.padEnd(40)} ${Math.round(jobs / seconds)} /s   ${(cpu * 1000 / jobs).toFixed(3)} CPU ms per 1000`);
}

function cpuMs() {
    const usage = process.cpuUsage();
    return (usage.user + usage.system) / 1000;
}

async function graphile(pool, jobs, options, name) {
    const utils = await makeWorkerUtils({ pgPool: pool, logger: new Logger(() => () => {}) });
    await utils.migrate();
    await pool.query(`SELECT graphile_worker.add_job('nothing', json_build_object('n', i)) FROM generate_series(1, ${jobs}) i`);
    let done = 0;
    let finish;
    const all = new Promise((resolve) => { finish = resolve; });
    const start = performance.now();
    const cpu = cpuMs();
    const runner = await run({
        pgPool: pool, concurrency: 24, noHandleSignals: true, logger: new Logger(() => () => {}),
        taskList: { nothing: async () => { if (++done === jobs) finish(); } },
        preset: { worker: options },
    });
    await all;
    say(name, jobs, (performance.now() - start) / 1000, cpuMs() - cpu);
    await runner.stop();
    await utils.release();
}

async function boss(jobs, batch, workers, name) {
    const queue = new PgBoss(where);
    queue.on('error', (error) => { console.error(error); process.exit(1); });
    await queue.start();
    await queue.createQueue('nothing');
    for (let i = 0; i < jobs; i += 5000)
        await queue.insert('nothing', Array.from({ length: Math.min(5000, jobs - i) }, () => ({ data: { n: 1 } })));
    let done = 0;
    const start = performance.now();
    const cpu = cpuMs();
    async function work() {
        for (;;) {
            const some = await queue.fetch('nothing', { batchSize: batch });
            if (some.length === 0)
                return;
            await queue.complete('nothing', some.map((job) => job.id));
            done += some.length;
        }
    }
    await Promise.all(Array.from({ length: workers }, work));
    say(name, done, (performance.now() - start) / 1000, cpuMs() - cpu);
    await queue.deleteQueue('nothing');
    await queue.stop({ graceful: false });
}

const pool = new pg.Pool({ connectionString: where, max: 30 });
await graphile(pool, count, { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 }, 'graphile-worker, local queue of 500');
await graphile(pool, Math.ceil(count / 10), {}, 'graphile-worker, no local queue');
await pool.end();
await boss(count, 500, 4, 'pg-boss, fetch(500), 4 at a time');
await boss(Math.ceil(count / 20), 1, 1, 'pg-boss, fetch(1)');
