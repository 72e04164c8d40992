const lines = []; const log = (...a) => lines.push(a); process.on('exit', () => { for (const line of lines.sort((a, b) => (a[0] < b[0] ? -1 : 1))) console.log(...line); });
const async = require('async');
async.waterfall([(cb) => setTimeout(cb, 5, null, 1), (n, cb) => cb(null, n + 1)], (e, r) => log('waterfall', e, r));
async.parallelLimit([3, 1, 2].map((n) => (cb) => setTimeout(() => cb(null, n), n)), 2, (e, r) => log('parallel', e, r));
const q = async.queue((task, cb) => { log(`task ${task}`); setImmediate(cb); }, 1); q.push([1, 2, 3]); q.drain(() => log('drained'));
async.mapSeries([1, 2], async (n) => n * 2).then((r) => log('map', r));
async.retry({ times: 3 }, async () => { throw new Error('always'); }, (e) => log('retry', e.message));
