// SPDX-License-Identifier: MIT
// node:child_process: streams, ends, errors, limits, and the calls that wait.
'use strict';
const child = require('child_process');
const { promisify } = require('util');
const log = (...args) => console.log(...args);
const thrown = (run) => {
  try {
    run();
    log('no error');
  } catch (error) {
    log(error.name, error.code, error.status, error.message.split('\n')[0]);
  }
};
const closed = (one) => new Promise((resolve) => one.once('close', (...args) => resolve(args)));
(async () => {
  const cat = child.spawn('cat');
  let text = '';
  cat.stdout.on('data', (data) => { text += data; });
  cat.on('spawn', () => log('spawn', cat.pid > 0));
  cat.on('exit', (code, signal) => log('exit', code, signal));
  cat.stdin.write('through ');
  cat.stdin.end('cat');
  log(await closed(cat), text, cat.exitCode, cat.spawnfile, cat.spawnargs);

  const sleeper = child.spawn('sleep', ['100'], { stdio: 'ignore' });
  log(sleeper.stdin, sleeper.stdout, sleeper.kill(), sleeper.killed);
  log(await closed(sleeper), sleeper.signalCode, sleeper.kill());

  const missing = child.spawn('/no/such/program', ['a']);
  missing.on('error', (error) => log(error.code, error.errno, error.syscall, error.path, error.spawnargs, error.message));
  log(await closed(missing), missing.pid);

  const big = child.spawn('head', ['-c', '1000000', '/dev/zero']);
  let count = 0;
  big.stdout.on('data', (data) => { count += data.length; });
  log(await closed(big), count);

  const third = child.spawn('sh', ['-c', 'echo three >&3; echo error >&2; pwd; echo $A; exit 7'],
    { stdio: ['ignore', 'pipe', 'pipe', 'pipe'], cwd: '/', env: { A: 'b', PATH: process.env.PATH } });
  const all = ['', '', '', ''];
  third.stdio.forEach((stream, i) => stream?.on('data', (data) => { all[i] += data; }));
  log(await closed(third), all);

  log(await promisify(child.exec)('echo out; echo err >&2'));
  log(await promisify(child.execFile)('echo', ['a b', '$A']));
  await promisify(child.exec)('echo x; exit 3').catch((error) => log(error.code, error.killed, error.signal, error.cmd, error.stdout, error.message));
  await promisify(child.exec)('sleep 100', { timeout: 50 }).catch((error) => log(error.code, error.killed, error.signal));
  await promisify(child.exec)('head -c 100 /dev/zero', { maxBuffer: 10 }).catch((error) => log(error.code, error.message, error.stdout.length));
  const controller = new AbortController();
  const aborted = child.spawn('sleep', ['100'], { signal: controller.signal });
  aborted.on('error', (error) => log(error.name));
  controller.abort();
  log(await closed(aborted));
  log(await promisify(child.execFile)('cat', { timeout: 0, encoding: 'buffer', input: 1 }).child.stdin.end('') === undefined);

  log(child.execSync('echo now').toString(), child.execFileSync('echo', ['now'], { encoding: 'utf8' }));
  const { status, signal, stdout, stderr, output, error } = child.spawnSync('sh', ['-c', 'cat; echo e >&2; exit 4'], { input: 'in', encoding: 'utf8' });
  log(status, signal, stdout, stderr, output, error);
  const slow = child.spawnSync('sleep', ['100'], { timeout: 50 });
  log(slow.status, slow.signal, slow.error.code, slow.error.syscall);
  log(child.spawnSync('/no/such').error.code, child.spawnSync('/no/such').status);
  thrown(() => child.execSync('exit 5', { stdio: 'pipe' }));
  thrown(() => child.execFileSync('/no/such'));
  thrown(() => child.spawn(''));
  thrown(() => child.spawn('a', 1));
  thrown(() => child.spawn('a', [], { cwd: 1 }));
  thrown(() => child.spawn('a', [], { stdio: 'x' }));
  thrown(() => child.spawn('a\0'));
  thrown(() => child.exec('a', { timeout: -1 }));
  thrown(() => child.spawn('sleep', ['0'], { killSignal: 'SIGNO' }));
  const detached = child.spawn('sleep', ['100'], { detached: true, stdio: 'ignore' });
  detached.unref();
  process.on('exit', () => process.kill(-detached.pid));
})();
