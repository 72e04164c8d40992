// SPDX-License-Identifier: MIT
// http.request and http.get against servers of node:net, whose bytes are written down, and of node:http.
'use strict';
const http = require('http');
const net = require('net');
const log = (...args) => console.log(...args);
const steps = [];
const step = (name, run) => steps.push([name, run]);
const closed = (thing) => new Promise((resolve) => thing.once('close', resolve));
// A server that answers with given bytes, and shows what it was asked.
const raw = (answer, run) => new Promise((resolve) => {
  const server = net.createServer((socket) => {
    let text = '';
    socket.setEncoding('latin1');
    socket.on('error', () => {});
    socket.on('data', (data) => {
      text += data;
      answer(socket, text, (...lines) => socket.write(lines.join('\r\n')));
    });
  });
  server.listen(0, '127.0.0.1', async () => {
    await run({ host: '127.0.0.1', port: server.address().port, agent: false });
    server.close(resolve);
  });
});
const show = (text) => log(JSON.stringify(text.replace(/:\d{4,5}\r/g, ':PORT\r')));
const read = (res) => new Promise((resolve, reject) => {
  let text = '';
  res.setEncoding('utf8');
  res.on('data', (data) => { text += data; });
  res.on('end', () => resolve(text));
  res.on('error', reject);
});
const answered = (req) => new Promise((resolve, reject) => req.once('response', resolve).once('error', reject));

step('a plain answer', () => raw((socket, text, send) => {
  if (!text.endsWith('\r\n\r\n')) return;
  show(text);
  send('HTTP/1.1 200 Fine', 'Content-Length: 5', 'X-A: 1', 'x-a: 2', 'Set-Cookie: a', 'Set-Cookie: b', 'Connection: close', '', 'hello');
}, async (options) => {
  const req = http.get({ ...options, path: '/x?y', headers: { 'X-Mine': ['1', '2'] } });
  const res = await answered(req);
  log(res.statusCode, res.statusMessage, res.httpVersion, res.headers, res.rawHeaders.length, res instanceof http.IncomingMessage, req.res === res);
  log(await read(res), res.complete);
  await closed(req);
  log(req.destroyed, req.writableFinished);
}));

step('bodies', () => raw((socket, text, send) => {
  if (!/(\r\n\r\nabc|0\r\n\r\n|Length: 0\r\n\r\n|last)$/.test(text)) return;
  show(text);
  send('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked', 'Trailer: t', '', '5', 'hello', '1', '!', '0', 'T: 1', '', '');
  socket.end();
}, async (options) => {
  for (const send of [(req) => req.end('abc'), (req) => { req.write('a'); req.write('bc'); req.end('last?'); }, (req) => req.end(),
    (req) => { req.setHeader('Content-Length', 8); req.write('some'); req.end('last'); }]) {
    const req = http.request({ ...options, method: 'POST' });
    send(req);
    const res = await answered(req);
    log(await read(res), res.trailers, res.headers);
  }
}));

step('without a length, and faults', async () => {
  const answers = ['HTTP/1.0 200 OK\r\n\r\nuntil the end', 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort', 'nonsense\r\n\r\n', '',
    'HTTP/1.1 204 No Content\r\n\r\n', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'];
  for (const answer of answers) {
    await raw((socket) => socket.end(answer), async (options) => {
      const req = http.get(options);
      try {
        const res = await answered(req);
        log(res.statusCode, res.httpVersion, await read(res).catch((error) => `${error.code} ${error.message} ${res.aborted}`));
      } catch (error) {
        log(error.code);
      }
    });
  }
});

step('interim answers and upgrades', async () => {
  await raw((socket, text, send) => {
    if (!/body$/.test(text)) {
      if (text.endsWith('\r\n\r\n')) send('HTTP/1.1 103 Early', 'Link: x', '', 'HTTP/1.1 100 Continue', '', '');
      return;
    }
    send('HTTP/1.1 200 OK', 'Content-Length: 0', '', '');
  }, async (options) => {
    const req = http.request({ ...options, method: 'PUT', headers: { Expect: '100-continue', 'Content-Length': 4 } });
    req.on('information', (info) => log('information', info.statusCode, info.headers));
    req.on('continue', () => { log('continue'); req.end('body'); });
    log((await answered(req)).resume().statusCode);
    await closed(req);
  });
  await raw((socket, text, send) => {
    if (text.endsWith('\r\n\r\n')) send('HTTP/1.1 101 Switching', 'Connection: upgrade', 'Upgrade: x', '', 'first');
    else socket.end('last');
  }, async (options) => {
    const req = http.get({ ...options, headers: { Connection: 'upgrade', Upgrade: 'x' } });
    const [res, socket, head] = await new Promise((resolve) => req.on('upgrade', (...args) => resolve(args)));
    log(res.statusCode, `${head}`);
    socket.on('data', (data) => log(`${data}`));
    socket.write('more');
    await closed(socket);
  });
  await raw((socket, text, send) => {
    if (text.endsWith('\r\n\r\n')) send('HTTP/1.1 200 OK', '', 'tunnel');
  }, async (options) => {
    const req = http.request({ ...options, method: 'CONNECT', path: 'a:1' }).end();
    const [res, socket, head] = await new Promise((resolve) => req.on('connect', (...args) => resolve(args)));
    log(res.statusCode, `${head}`);
    socket.destroy();
  });
});

step('agents', async () => {
  const server = http.createServer((req, res) => {
    const chunks = [];
    req.on('data', (chunk) => chunks.push(chunk));
    req.on('end', () => res.end(`${req.method} ${req.url} ${Buffer.concat(chunks)}`));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  const ports = new Set();
  const all = await Promise.all([1, 2, 3].map(async (number) => {
    const req = http.request({ port, host: '127.0.0.1', agent, method: 'POST', path: `/${number}` });
    req.on('socket', (socket) => (socket.connecting ? socket.once('connect', () => ports.add(socket.localPort)) : ports.add(socket.localPort)));
    req.end(`body ${number}`);
    return [await read(await answered(req)), req.reusedSocket];
  }));
  log(all, ports.size);
  await new Promise((resolve) => setImmediate(resolve));
  log(Object.values(agent.freeSockets).flat().length, Object.values(agent.sockets).flat().length);
  agent.destroy();
  const head = await answered(http.request({ port, host: '127.0.0.1', method: 'HEAD', agent: false }).end());
  log(head.statusCode, await read(head));
  log(await new Promise((resolve) => http.get(`http://127.0.0.1:${port}/url?q=1`, { agent: false }, (res) => resolve(read(res)))));
  server.close();
  await closed(server);
});

step('given up', async () => {
  await raw(() => {}, async (options) => {
    const controller = new AbortController();
    const one = http.get({ ...options, signal: controller.signal });
    one.on('socket', () => setTimeout(() => controller.abort(), 20));
    await answered(one).catch((error) => log(error.name, error.code));
    await closed(one);
    const two = http.get(options);
    two.destroy();
    await answered(two).catch((error) => log(error.code, error.message));
    const three = http.get({ ...options, timeout: 30 });
    three.on('timeout', () => { log('timeout'); three.destroy(new Error('too slow')); });
    await answered(three).catch((error) => log(error.message));
  });
  const gone = net.createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => gone.once('listening', resolve));
  const { port } = gone.address();
  gone.close();
  await closed(gone);
  await answered(http.get({ port, host: '127.0.0.1' })).catch((error) => log(error.code, error.syscall));
  for (const wrong of [() => http.get({ path: '/a b' }), () => http.get({ method: 'A B' }), () => http.get('ftp://x'), () => http.get({ agent: {} }),
    () => http.get({ headers: { 'a b': 1 } }), () => http.get('x')]) {
    try {
      wrong().on('error', () => {});
      log('no error');
    } catch (error) {
      log(error.name, error.code, error.message.split('\n')[0]);
    }
  }
});

(async () => {
  for (const [name, run] of steps) {
    log(`-- ${name}`);
    await run();
  }
  http.globalAgent.destroy();
})();
