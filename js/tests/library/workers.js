// SPDX-License-Identifier: MIT
// node:worker_threads: messages, ports, data, errors, ends.
'use strict';
const { Worker, isMainThread, parentPort, workerData, threadId, MessageChannel, MessagePort, receiveMessageOnPort, SHARE_ENV,
  getEnvironmentData, setEnvironmentData } = require('node:worker_threads');
const { once } = require('node:events');

if (!isMainThread) {
  const { port, role } = workerData;
  switch (role) {
    case 'echo':
      parentPort.on('message', (message) => {
        if (message === 'end') parentPort.close();
        else parentPort.postMessage({ got: message, threadId: threadId > 0 });
      });
      break;
    case 'port':
      port.on('message', (message) => {
        if (message instanceof MessagePort) {
          message.postMessage('through a port that came through a port');
          message.close();
          return;
        }
        port.postMessage(message * 2);
        if (message === 0) port.close();
      });
      break;
    case 'throw':
      setImmediate(() => {
        throw new TypeError('from the worker', { cause: { code: 7 } });
      });
      break;
    case 'reject': Promise.reject(new RangeError('rejected')); break;
    case 'exit': process.exit(5); break;
    case 'loop': parentPort.postMessage('looping'); for (;;);
    case 'argv': parentPort.postMessage([process.argv.slice(2), process.env.WORKER_TEST, getEnvironmentData('key'), isMainThread, process.env.ONLY]); break;
    case 'buffer': {
      const { bytes } = workerData;
      parentPort.postMessage(bytes, [bytes.buffer]);
      parentPort.postMessage(bytes.length);
      break;
    }
    default: parentPort.postMessage(workerData);
  }
} else {
  main();
}

async function main() {
  const start = (role, options = {}) => new Worker(__filename, { ...options, workerData: { role, ...options.workerData } });
  const messages = async (worker) => {
    const got = [];
    worker.on('message', (message) => got.push(message));
    const [code] = await once(worker, 'exit');
    return [code, ...got];
  };
  console.log(isMainThread, threadId, parentPort, workerData);
  const echo = start('echo');
  echo.postMessage('before it is there');
  await once(echo, 'online');
  echo.postMessage({ map: new Map([[1, new Set([2])]]), date: new Date(5), big: 5n, bytes: new Uint8Array([1, 2]), error: new Error('e').message });
  const round = { name: 'round' };
  round.self = round;
  echo.postMessage(round);
  for (let i = 0; i < 3; i++) console.log((await once(echo, 'message'))[0]);
  try {
    echo.postMessage(() => {});
  } catch (error) {
    console.log(error.name, error.message);
  }
  echo.postMessage('end');
  console.log(await once(echo, 'exit'), echo.threadId);

  const { port1, port2 } = new MessageChannel();
  port1.postMessage(1);
  const far = start('port', { workerData: { port: port2 }, transferList: [port2] });
  const answers = [];
  port1.on('message', (message) => answers.push(message));
  port1.postMessage(21);
  const other = new MessageChannel();
  port1.postMessage(other.port2, [other.port2]);
  console.log((await once(other.port1, 'message'))[0]);
  port1.postMessage(0);
  await once(port1, 'close');
  console.log(answers, await once(far, 'exit'));

  for (const role of ['throw', 'reject']) {
    const failing = start(role);
    const exit = once(failing, 'exit').catch(() => {});
    const [error] = await once(failing, 'error');
    console.log(error.name, error.message, error.cause, error instanceof Error);
    await exit;
  }
  const ended = start('exit');
  console.log(await messages(ended));
  console.log(ended.threadId, await ended.terminate());
  const loop = start('loop');
  await once(loop, 'message');
  console.log(await loop.terminate());
  process.env.WORKER_TEST = 'copied';
  setEnvironmentData('key', { a: 1 });
  console.log(await messages(start('argv', { argv: ['a', 2] })));
  console.log(await messages(start('argv', { env: { ONLY: 'this' } })));
  console.log(await messages(start('argv', { env: SHARE_ENV })));
  const bytes = new Uint8Array([5, 6, 7]);
  console.log(await messages(start('buffer', { workerData: { bytes } })), bytes.length);
  console.log(await messages(new Worker("require('worker_threads').parentPort.postMessage(__filename)", { eval: true })));
  const silent = new Worker('setInterval(() => {}, 1000)', { eval: true });
  silent.unref();
  for (const wrong of [() => new Worker(5), () => new Worker('x.js'), () => new Worker('./x', { argv: 1 }), () => new Worker(__filename, { env: 1 })]) {
    try {
      wrong();
    } catch (error) {
      console.log(error.name, error.code);
    }
  }
  const local = new MessageChannel();
  local.port1.postMessage({ a: 1 });
  console.log(receiveMessageOnPort(local.port2), receiveMessageOnPort(local.port2));
  const many = await Promise.all([1, 2, 3, 4].map(async (n) => (await messages(new Worker(`
    const { parentPort } = require('worker_threads');
    let sum = 0;
    parentPort.on('message', (n) => { sum += n; if (n === 0) { parentPort.postMessage(sum); parentPort.close(); } });
  `, { eval: true }).on('online', function () {
    for (let i = 100 * n; i >= 0; i--) this.postMessage(i);
  })))));
  console.log(many);
}
