// A child with a channel to its parent. The child is this file.
const { fork, spawn } = require('node:child_process');

if (process.argv[2] === 'echo') {
  process.on('message', (message) => {
    process.send(message, (error) => { if (error) throw error; });
    if (message === 'end') process.disconnect();
  });
  process.on('disconnect', () => process.send('late', (error) => process.exit(error.code === 'ERR_IPC_CHANNEL_CLOSED' ? 5 : 6)));
  return;
}
if (process.argv[2] === 'silent') {
  // Nobody listens: the channel keeps nothing alive.
  console.log('child:', typeof process.send, process.connected, process.channel !== undefined, process.env.NODE_CHANNEL_FD);
  process.send({ args: process.argv.slice(3), own: process.env.OWN });
  return;
}

console.log(typeof process.send, process.connected);
const end = (child) => new Promise((resolve) => child.on('exit', (code, signal) => resolve(`exit ${code} ${signal}`)));
const next = (child) => new Promise((resolve) => child.once('message', resolve));
const bad = (make) => {
  try {
    make();
  } catch (error) {
    console.log(error.name, error.code);
  }
};
(async () => {
  const json = fork(__filename, ['echo'], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  console.log(json.connected, typeof json.send, typeof json.channel.unref);
  for (const message of [1, 'text \u20ac \ud83d\ude00\n', true, null, { a: [1, { b: null }], u: undefined, d: new Date(0) }, []]) {
    json.send(message);
    console.log(await next(json));
  }
  const big = 'x'.repeat(1 << 20);
  json.send({ big }, (error) => console.log('sent', error));
  console.log((await next(json)).big === big);
  bad(() => json.send());
  bad(() => json.send(Symbol('a')));
  const gone = new Promise((resolve) => json.on('disconnect', resolve));
  json.send('end');
  console.log(await next(json));
  const over = end(json);
  await gone;
  console.log(json.connected, json.channel, await over);
  console.log(json.send(1, (error) => console.log('closed', error.code)));
  json.once('error', (error) => console.log('error', error.code));
  json.disconnect();
  await new Promise((resolve) => setImmediate(resolve));

  const advanced = fork(__filename, ['echo'], { serialization: 'advanced' });
  advanced.send(new Map([['a', new Set([1n])], ['b', Buffer.from('bytes')]]));
  console.log(await next(advanced));
  advanced.kill();
  console.log(await end(advanced), advanced.killed);

  const silent = fork(__filename, ['silent', 'a', 'b'], { silent: true, env: { ...process.env, OWN: 'yes' } });
  silent.stdout.setEncoding('utf8');
  let said = '';
  silent.stdout.on('data', (text) => { said += text; });
  const closed = new Promise((resolve) => silent.on('close', (code) => resolve(`close ${code}`)));
  console.log(await next(silent));
  console.log(await closed, said.trim());

  bad(() => fork(__filename, [], { stdio: ['pipe', 'pipe', 'pipe'] }));
  bad(() => fork(__filename, 'x'));
  bad(() => fork(1));
  bad(() => fork(__filename, [], { serialization: 'other' }));
  bad(() => spawn('true', [], { stdio: ['ipc', 'ipc', 'ipc'] }));

  // A channel is not fork's alone.
  const plain = spawn(process.execPath, [__filename, 'silent', 'c'], { stdio: ['ignore', 'ignore', 'inherit', 'ignore', 'ipc'] });
  console.log(await next(plain));
  console.log(await end(plain));
})();
