'use strict';
// node:diagnostics_channel: stores that are bound to a channel, and the three ways to trace a call.
const channels = require('diagnostics_channel');
const { AsyncLocalStorage } = require('async_hooks');
const store = new AsyncLocalStorage();

const one = channels.channel('one');
one.bindStore(store, (message) => message.number * 2);
console.log(one.hasSubscribers, one.runStores({ number: 21 }, function (word) { return [this.name, word, store.getStore()]; }, { name: 'self' }, 'arg'));
console.log(store.getStore(), one.unbindStore(store), one.unbindStore(store), one.hasSubscribers);

const tracing = channels.tracingChannel('calls');
const log = [];
tracing.subscribe(Object.fromEntries(['start', 'end', 'asyncStart', 'asyncEnd', 'error'].map((kind) => [kind, ({ result, error }) => log.push([kind, result, error?.message])])));
const flushLog = (what) => console.log(what, JSON.stringify(log.splice(0)));
console.log(tracing.traceSync((a, b) => a + b, {}, null, 1, 2));
flushLog('sync');
try {
  tracing.traceSync(() => { throw new Error('thrown'); });
} catch (error) {
  flushLog(error.message);
}
tracing.traceCallback((value, callback) => setImmediate(callback, null, value), -1, {}, null, 'value', (error, result) => {
  flushLog(`in the callback ${result}`);
});
flushLog('callback, at once');
setImmediate(async () => {
  flushLog('callback, later');
  console.log(await tracing.tracePromise(async (x) => x * 2, {}, null, 4));
  flushLog('promise');
  await tracing.tracePromise(async () => { throw new Error('rejected'); }, {}).catch((error) => flushLog(error.message));
  for (const wrong of [0, null, { start: 1 }]) {
    try {
      channels.tracingChannel(wrong);
    } catch (error) {
      console.log(error.code);
    }
  }
  channels.subscribe('net.client.socket', ({ socket }) => console.log('connects', socket.connecting));
  const server = require('net').createServer((socket) => socket.end()).listen(0, () => {
    require('net').connect(server.address().port).resume().on('close', () => server.close());
  });
});
