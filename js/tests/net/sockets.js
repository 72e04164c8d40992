// SPDX-License-Identifier: MIT
// node:net: echo, ends of both sides, errors, times, addresses, back-pressure.
'use strict';
const net = require('net');
const os = require('os');
const path = require('path');
const log = (...args) => console.log(...args);
const steps = [];
const step = (name, run) => steps.push([name, run]);
const listen = (server, ...args) => new Promise((resolve) => server.listen(...args, () => resolve(server.address())));
const closed = (thing) => new Promise((resolve) => thing.once('close', resolve));

step('addresses', async () => {
  for (const text of ['127.0.0.1', '1.2.3', '256.1.1.1', '01.2.3.4', '::1', '::ffff:1.2.3.4', 'fe80::1%lo', '1:2', '', 'x', undefined, {}]) {
    log(text, net.isIP(text), net.isIPv4(text), net.isIPv6(text));
  }
});

step('echo', async () => {
  const server = net.createServer((socket) => {
    log('server', socket.localFamily, socket.remoteAddress, socket.readyState, socket.server === server);
    socket.pipe(socket);
  });
  const { port, address, family } = await listen(server, 0, '127.0.0.1');
  log(address, family, port > 0, server.listening);
  const client = net.connect({ port, host: '127.0.0.1' });
  log(client.connecting, client.readyState, client.pending, client.bytesWritten);
  client.setEncoding('utf8');
  client.on('connect', () => log('connect', client.connecting, client.readyState, client.remotePort === port, client.remoteFamily));
  client.on('ready', () => log('ready'));
  client.on('data', (text) => {
    log('data', text, client.bytesRead, client.bytesWritten);
    if (!client.writableEnded) client.end('bye');
  });
  client.once('end', () => log('end'));
  client.once('finish', () => log('finish', client.bytesWritten));
  client.write('hello', () => log('written'));
  log('had error', await closed(client), client.destroyed, client.readyState);
  server.close((error) => log('server closed', error));
  await closed(server);
  log(server.address(), server.listening);
});

step('half open', async () => {
  const server = net.createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('end', () => {
      log('server: end', socket.writable, socket.readyState);
      setTimeout(() => socket.end('late'), 20);
    });
    socket.resume();
  });
  const { port } = await listen(server, 0);
  const client = net.connect(port, 'localhost', () => client.end('x'));
  client.on('data', (data) => log('client:', `${data}`, client.readyState));
  await closed(client);
  server.close();
  await closed(server);
});

step('back-pressure', async () => {
  const big = Buffer.alloc(4 << 20, 'a');
  let taken = 0;
  const server = net.createServer((socket) => {
    socket.pause();
    setTimeout(() => socket.resume(), 50);
    socket.on('data', (data) => { taken += data.length; });
  });
  const { port } = await listen(server, 0, '127.0.0.1');
  const client = net.connect(port, '127.0.0.1');
  log('more', client.write(big), client.writableNeedDrain);
  client.once('drain', () => {
    log('drain');
    client.end();
  });
  await closed(client);
  server.close();
  await closed(server);
  log(taken === big.length);
});

step('a path', async () => {
  const file = path.join(os.tmpdir(), `vigil-net-${process.pid}.sock`);
  const server = net.createServer((socket) => socket.end('from a path'));
  log(await listen(server, file) === file);
  const client = net.connect(file);
  client.on('data', (data) => log(`${data}`, client.remoteAddress));
  await closed(client);
  const second = net.createServer();
  second.listen(file);
  const error = await new Promise((resolve) => second.once('error', resolve));
  log(error.code, error.syscall, error.address === file, error.port, error.message.replace(file, 'FILE'));
  server.close();
  await closed(server);
  const gone = net.connect(file);
  const missing = await new Promise((resolve) => gone.once('error', resolve));
  log(missing.code, missing.syscall, missing.message.replace(file, 'FILE'));
});

step('errors', async () => {
  const server = net.createServer();
  const { port } = await listen(server, 0, '127.0.0.1');
  const again = net.createServer();
  again.listen(port, '127.0.0.1');
  const used = await new Promise((resolve) => again.once('error', resolve));
  log(used.code, used.errno, used.syscall, used.address, used.port === port, used.message.replace(port, 'PORT'));
  server.close();
  await closed(server);
  const client = net.connect(port, '127.0.0.1');
  client.on('error', (error) => log(error.code, error.errno, error.syscall, error.address, error.port === port, error.message.replace(port, 'PORT')));
  log('had error', await closed(client));
  for (const wrong of [() => net.connect(), () => net.connect(70000), () => net.connect({ port: 1, localAddress: 'x' }),
    () => net.connect({ port: 1, lookup: 1 }), () => net.createServer().listen(-1), () => net.createServer().listen({}),
    () => new net.Socket().setTimeout('x'), () => new net.Socket({ objectMode: true }), () => server.listen(0) && server.listen(0)]) {
    try {
      wrong();
      log('no error');
    } catch (error) {
      log(error.name, error.code, error.message.split('\n')[0]);
    }
  }
  server.close((error) => log('closed', error));
  await closed(server);
  server.close((error) => log(error.code, error.message));
  await closed(server);
});

step('ends', async () => {
  const server = net.createServer((socket) => {
    socket.on('error', () => {});
    socket.resume();
  });
  const { port } = await listen(server, 0, '127.0.0.1');
  const client = net.connect(port, '127.0.0.1', () => client.resetAndDestroy());
  log('had error', await closed(client));
  const other = net.connect(port, '127.0.0.1', () => other.destroy(new Error('mine')));
  other.on('error', (error) => log('client:', error.message));
  log('had error', await closed(other));
  const never = new net.Socket();
  never.destroy();
  log('had error', await closed(never));
  never.write('x', (error) => log(error.code));
  const early = net.connect(port, '127.0.0.1');
  early.destroy();
  log('early', await closed(early));
  server.getConnections((error, count) => log('connections', error, count >= 0));
  server.close();
  await closed(server);
});

step('time and signals', async () => {
  const server = net.createServer((socket) => socket.on('end', () => socket.end()).resume());
  const { port } = await listen(server, 0, '127.0.0.1');
  const client = net.connect({ port, host: '127.0.0.1', timeout: 30 });
  client.on('timeout', () => {
    log('timeout', client.timeout);
    client.end();
  });
  await closed(client);
  const controller = new AbortController();
  const aborted = net.connect({ port, host: '127.0.0.1', signal: controller.signal });
  aborted.on('error', (error) => log(error.name, error.code));
  aborted.on('connect', () => controller.abort());
  await closed(aborted);
  const stop = new AbortController();
  const limited = net.createServer();
  limited.listen({ port: 0, signal: stop.signal }, () => stop.abort());
  await closed(limited);
  log('server aborted');
  server.close();
  await closed(server);
  const quiet = net.createServer().listen(0);
  quiet.unref();
});

step('lists', async () => {
  const list = new net.BlockList();
  list.addAddress('123.123.123.123');
  list.addRange('10.0.0.1', '10.0.0.10');
  list.addSubnet('8592:757c:efae:4e45::', 64, 'ipv6');
  log(list.rules);
  log(list.check('123.123.123.123'), list.check('10.0.0.3'), list.check('10.0.0.11'), list.check('8592:757c:efae:4e45::1', 'ipv6'),
    list.check('::ffff:7b7b:7b7b', 'ipv6'));
  const address = new net.SocketAddress({ address: '1.2.3.4', port: 80 });
  log(address.address, address.port, address.family, address.flowlabel);
});

(async () => {
  for (const [name, run] of steps) {
    log(`-- ${name}`);
    await run();
  }
})();
