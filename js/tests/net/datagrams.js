// UDP sockets on the loopback interface.
const dgram = require('node:dgram');
const { once } = require('node:events');

const bad = (name, make) => {
  try {
    make();
    console.log(name, 'no error');
  } catch (error) {
    console.log(name, error.name, error.code);
  }
};
(async () => {
  const server = dgram.createSocket('udp4');
  server.bind(0, '127.0.0.1');
  await once(server, 'listening');
  const { address, family, port } = server.address();
  console.log(address, family, port > 0);
  bad('bound twice', () => server.bind(0));

  const client = dgram.createSocket({ type: 'udp4' });
  const next = async () => {
    const [bytes, info] = await once(server, 'message');
    return [bytes.toString('latin1').slice(0, 20), info.size, info.address, info.family, info.port === client.address().port];
  };
  const send = (...args) => new Promise((resolve) => client.send(...args, (error, count) => resolve(error ? error.code : count)));
  let got = next();
  console.log(await send('text', port, '127.0.0.1'), await got);
  got = next();
  console.log(await send(Buffer.from('a buffer'), 2, 3, port, '127.0.0.1'), await got);
  got = next();
  console.log(await send([Buffer.from('two '), 'parts'], port), await got);
  got = next();
  console.log(await send(new Uint16Array([0x4141, 0x4242]), port, 'localhost'), await got);
  got = next();
  console.log(await send(Buffer.alloc(0), port, '127.0.0.1'), await got);
  got = next();
  console.log(await send(Buffer.alloc(60000, 'z'), port, '127.0.0.1'), await got);
  console.log(await send(Buffer.alloc(70000), port, '127.0.0.1'));

  // And back.
  const back = once(client, 'message');
  server.send('answer', client.address().port, '127.0.0.1');
  console.log((await back)[0].toString());

  // Connected.
  bad('not connected', () => client.remoteAddress());
  bad('not connected', () => client.disconnect());
  client.connect(port, '127.0.0.1');
  await once(client, 'connect');
  console.log(client.remoteAddress().port === port);
  bad('connected twice', () => client.connect(port));
  got = next();
  client.send('connected');
  console.log(await got);
  got = next();
  client.send('connected part', 2, 4);
  console.log(await got);
  client.disconnect();

  // Options.
  console.log(client.setTTL(64), client.setMulticastTTL(3), client.setMulticastLoopback(true), client.setBroadcast(true));
  client.setRecvBufferSize(8192);
  console.log(client.getRecvBufferSize() >= 8192, client.getSendBufferSize() > 0, client.getSendQueueSize(), client.getSendQueueCount());
  bad('ttl', () => client.setTTL(1000));
  bad('ttl', () => client.setTTL('x'));
  bad('size', () => client.setRecvBufferSize(-1));
  bad('group', () => client.addMembership());
  bad('group', () => client.addMembership('10.0.0.1'));
  bad('type', () => dgram.createSocket('tcp'));
  bad('port', () => client.send('x', 0));
  bad('port', () => client.send('x', 100000));
  bad('data', () => client.send(1, port));
  bad('offset', () => client.send('abc', 2, 5, port));
  bad('address', () => client.send('x', port, 5));

  const second = dgram.createSocket('udp4');
  second.bind(port, '127.0.0.1');
  const [taken] = await once(second, 'error');
  console.log(taken.code, taken.syscall, taken.address);
  second.close();

  // IPv6, where the machine has it.
  if (Object.values(require('node:os').networkInterfaces()).flat().some((one) => one.address === '::1')) {
    const six = dgram.createSocket({ type: 'udp6', ipv6Only: true });
    six.bind(0, '::1');
    await once(six, 'listening');
    const six2 = dgram.createSocket('udp6');
    const heard = once(six, 'message');
    six2.send('six', six.address().port, '::1');
    const [bytes, from] = await heard;
    if (`${bytes} ${from.address} ${from.family}` !== 'six ::1 IPv6') console.log('wrong', bytes, from);
    six.close();
    six2.close();
  }

  const ended = once(client, 'close');
  client.close();
  await ended;
  bad('closed', () => client.close());
  bad('closed', () => client.send('x', port));
  bad('closed', () => client.address());

  const stop = new AbortController();
  const aborted = dgram.createSocket({ type: 'udp4', signal: stop.signal });
  aborted.bind(0, '127.0.0.1');
  await once(aborted, 'listening');
  stop.abort();
  await once(aborted, 'close');
  console.log('aborted');
  server.unref(); // and so the program ends
})();
