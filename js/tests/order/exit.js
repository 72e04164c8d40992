// beforeExit gives the loop another chance; exit does not; exitCode.
const log = (...a) => console.log(...a);
let n = 0;
process.on('beforeExit', (c) => { log('beforeExit', c, ++n); if (n === 1) setTimeout(() => log('again'), 1); if (n === 2) setImmediate(() => { log('and again'); process.exitCode = 3; }); });
process.on('exit', (c) => { log('exit', c, process.exitCode); setTimeout(() => log('never'), 0); process.nextTick(() => log('never')); Promise.resolve().then(() => log('never')); process.exitCode = 4; });
setTimeout(() => log('first'), 1);
