// The main script fails after it has queued work: with a handler the queues still run.
process.on('uncaughtException', (e) => console.log('handler', e.message));
process.nextTick(() => console.log('tick'));
Promise.resolve().then(() => console.log('micro'));
setImmediate(() => console.log('immediate'));
setTimeout(() => console.log('timeout'), 200);
throw new Error('main');
