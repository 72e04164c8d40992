// WebSocket against a server that makes its frames by hand. The expected output follows from the standard and RFC 6455.
'use strict';
const http = require('node:http');
const crypto = require('node:crypto');
const { once } = require('node:events');

const MARK = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const accept = (req) => crypto.createHash('sha1').update(req.headers['sec-websocket-key'] + MARK).digest('base64');
const agree = (req, more = '') =>
  `HTTP/1.1 101 Switching Protocols\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\nSec-WebSocket-Accept: ${accept(req)}\r\n${more}\r\n`;

// first byte, payload -> a frame of a server
function frame(first, payload = '') {
  const bytes = Buffer.from(payload);
  const head = bytes.length < 126 ? [bytes.length] : bytes.length < 65536 ? [126, 0, 0] : [127, 0, 0, 0, 0, 0, 0, 0, 0];
  const out = Buffer.concat([Buffer.from([first, ...head]), bytes]);
  if (head.length === 3) out.writeUInt16BE(bytes.length, 2);
  else if (head.length === 9) out.writeUInt32BE(bytes.length, 6);
  return out;
}
const ending = (code, reason = '') => frame(0x88, Buffer.concat([Buffer.from([code >> 8, code & 255]), Buffer.from(reason)]));

// Calls seen(first byte, payload) for each frame of a client.
function read(socket, head, seen) {
  let kept = head;
  const take = () => {
    for (;;) {
      if (kept.length < 2) return;
      const short = kept[1] & 127;
      const at = short < 126 ? 2 : short === 126 ? 4 : 10;
      if (kept.length < at + 4) return;
      const length = short < 126 ? short : short === 126 ? kept.readUInt16BE(2) : kept.readUInt32BE(6);
      if (kept.length < at + 4 + length) return;
      if (kept[1] < 128) throw new Error('a frame of a client without a mask');
      const payload = Buffer.from(kept.subarray(at + 4, at + 4 + length));
      for (let i = 0; i < length; i++) payload[i] ^= kept[at + (i & 3)];
      const first = kept[0];
      kept = kept.subarray(at + 4 + length);
      seen(first, payload);
    }
  };
  socket.on('data', (data) => {
    kept = Buffer.concat([kept, data]);
    take();
  });
  socket.on('error', () => {});
  socket.on('end', () => socket.end());
  take();
}

const server = http.createServer((req, res) => {
  res.statusCode = 404;
  res.end('nothing');
});
let serve; // (req, socket, head) of the case that runs
server.on('upgrade', (req, socket, head) => serve(req, socket, head));
let base;

// Runs a client until its close; answers what it heard.
function client(path, protocols, more = () => {}) {
  return new Promise((resolve) => {
    const heard = [];
    const ws = new WebSocket(base + path, protocols);
    ws.binaryType = 'arraybuffer';
    ws.onopen = () => heard.push(`open ${ws.readyState}`);
    ws.onmessage = ({ data }) => heard.push(typeof data === 'string' ? data : Buffer.from(data));
    ws.onerror = (event) => heard.push(`error ${ws.readyState} ${event instanceof Event}`);
    ws.onclose = (event) => {
      heard.push(`close ${ws.readyState} ${event.code} '${event.reason}' ${event.wasClean}`);
      resolve(heard);
    };
    more(ws, heard);
  });
}
function error(run) {
  try {
    run();
    return 'none';
  } catch (thrown) {
    return `${thrown.name} ${thrown instanceof DOMException}`;
  }
}
const short = (data) => (data.length > 40 ? `${data.constructor.name} ${data.length} ${crypto.createHash('sha1').update(data).digest('hex').slice(0, 8)}` : data);

async function echoes() {
  serve = (req, socket, head) => {
    console.log(req.method, req.url, req.headers['sec-websocket-version'], req.headers['sec-websocket-protocol'], req.headers['x-extra'],
      Buffer.from(req.headers['sec-websocket-key'], 'base64').length, req.headers.host === `127.0.0.1:${server.address().port}`);
    socket.write(agree(req, 'Sec-WebSocket-Protocol: second\r\n'));
    read(socket, head, (first, payload) => {
      if (first === 0x88) socket.end(frame(first, payload));
      else socket.write(frame(first, payload));
    });
  };
  const sent = ['', 'words', 'ünï\u{1f600}\ud800!', 'x'.repeat(125), 'y'.repeat(126), 'z'.repeat(65535), 'ä'.repeat(40000), new Uint8Array(0),
    new Uint8Array(70000).fill(7).buffer, new Uint8Array([1, 2, 3, 4]).subarray(1, 3), new DataView(new Uint8Array([5, 6]).buffer), new Blob(['a', 'blob']), 12, null];
  const heard = await client('/echo?q', { protocols: ['first', 'second'], headers: { 'X-Extra': 'more' } }, (ws, list) => {
    console.log(ws.url === `${base}/echo?q`, ws.readyState, `'${ws.protocol}' '${ws.extensions}'`, error(() => ws.send('early')), ws.bufferedAmount);
    ws.addEventListener('open', () => {
      list.push(ws.protocol);
      for (const one of sent) ws.send(one);
      list.push(ws.bufferedAmount);
    });
    let left = sent.length;
    ws.addEventListener('message', (event) => {
      if (event.origin !== base || !(event instanceof MessageEvent)) list.push('a wrong event');
      if (--left > 0) return;
      list.push(ws.bufferedAmount, error(() => ws.close(1001)), error(() => ws.close(5000)), error(() => ws.close(1000, 'ü'.repeat(62))));
      ws.close(3001, 'bye ü');
      list.push(ws.readyState);
      ws.send('late');
      list.push(ws.bufferedAmount);
    });
  });
  for (const one of heard) console.log(short(one));
}

async function kinds() {
  serve = (req, socket, head) => {
    socket.write(Buffer.concat([Buffer.from(agree(req)), frame(0x82, 'one'), frame(0x82, 'two'), ending(1000)]));
    read(socket, head, () => {});
  };
  const ws = new WebSocket(base);
  const list = [];
  console.log(ws.binaryType);
  ws.binaryType = 'other';
  console.log(ws.binaryType);
  ws.onmessage = ({ data }) => {
    list.push(data instanceof Blob ? `Blob ${data.size}` : data.constructor.name);
    ws.binaryType = 'arraybuffer';
    Promise.resolve().then(() => list.push('a turn of its own'));
  };
  await once(ws, 'close');
  console.log(list.join(', '));
}

async function pieces() {
  const pongs = [];
  serve = async (req, socket, head) => {
    read(socket, head, (first, payload) => pongs.push(first === 0x8a ? `pong ${payload}` : `frame ${first} ${payload.toString('hex')}`));
    const text = Buffer.from('frägments');
    const all = Buffer.concat([Buffer.from(agree(req)), frame(0x01, text.subarray(0, 3)), frame(0x89, 'a'), frame(0x00), frame(0x8a, 'unasked'), frame(0x80, text.subarray(3)),
      frame(0x02, 'bin'), frame(0x00, 'a'), frame(0x89), frame(0x80, 'ry'), frame(0x81, 'l'.repeat(200)), frame(0x81), ending(4321, 'ende ü')]);
    for (const byte of all) {
      await new Promise((resolve) => socket.write(Buffer.from([byte]), resolve));
    }
  };
  for (const one of await client('/')) console.log(typeof one === 'string' ? short(one) : `bytes ${one}`);
  console.log(pongs);
}

async function ends() {
  const cases = {
    'no code': [frame(0x88)],
    'code without reason': [ending(1001)],
    'data behind the close': [ending(1000), frame(0x81, 'never')],
    'message before the close': [frame(0x81, 'last'), ending(3000)],
    'no close': [frame(0x81, 'last')],
    'half a frame': [Buffer.from([0x81, 5, 65])],
  };
  for (const [name, parts] of Object.entries(cases)) {
    serve = (req, socket, head) => {
      socket.end(Buffer.concat([Buffer.from(agree(req)), ...parts]));
      read(socket, head, () => {});
    };
    console.log(name, await client('/'));
  }
}

async function faults() {
  const cases = {
    'reserved bits': frame(0xc1, 'a'),
    'a mask': Buffer.from([0x81, 0x81, 1, 2, 3, 4, 5]),
    'kind 3': frame(0x83, 'a'),
    'kind 11': frame(0x8b),
    'a fragment of a ping': frame(0x09, 'a'),
    'a long ping': frame(0x89, 'a'.repeat(126)),
    'continuation of nothing': frame(0x80, 'a'),
    'a message inside another': Buffer.concat([frame(0x01, 'a'), frame(0x81, 'b')]),
    'a text that is no UTF-8': frame(0x81, Buffer.from([0xc3, 0x28])),
    'half a character': Buffer.concat([frame(0x01, Buffer.from([0xe2, 0x82])), frame(0x80)]),
    'a surrogate': frame(0x81, Buffer.from([0xed, 0xa0, 0x80])),
    'half a code': frame(0x88, 'a'),
    'code 1005': ending(1005),
    'code 999': ending(999),
    'code 2999': ending(2999),
    'a reason that is no UTF-8': frame(0x88, Buffer.from([3, 232, 0xff])),
    'a length in a longer form': Buffer.from([0x81, 126, 0, 1, 65]),
    'a length beyond all': Buffer.from([0x82, 127, 0, 0, 1, 0, 0, 0, 0, 0]),
  };
  for (const [name, bytes] of Object.entries(cases)) {
    const told = new Promise((resolve) => {
      serve = (req, socket, head) => {
        socket.write(Buffer.concat([Buffer.from(agree(req)), frame(0x81, 'good'), bytes]));
        read(socket, head, (first, payload) => resolve(`${first.toString(16)} ${payload.readUInt16BE(0)}`));
      };
    });
    console.log(`${name}:`, (await client('/')).join(', '), '| told', await told);
  }
}

async function refusals() {
  const cases = {
    'another key': (req) => agree(req).replace(/Accept: ..../, 'Accept: AAAA'),
    'another upgrade': (req) => agree(req).replace('WebSocket\r', 'other\r'),
    'no connection': (req) => agree(req).replace(/Connection.*\r\n/, ''),
    'a protocol nobody named': (req) => agree(req, 'Sec-WebSocket-Protocol: x\r\n'),
    'an extension': (req) => agree(req, 'Sec-WebSocket-Extensions: permessage-deflate\r\n'),
    'a redirect': () => 'HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n',
    'no HTTP': () => 'what?\r\n\r\n',
    'nothing': () => null,
  };
  for (const [name, answer] of Object.entries(cases)) {
    serve = (req, socket, head) => {
      const text = answer(req);
      read(socket, head, () => {});
      if (text === null) socket.destroy();
      else socket.write(text);
    };
    console.log(`${name}:`, (await client('/')).join(', '));
  }
  serve = (req, socket, head) => {
    socket.write(agree(req));
    read(socket, head, () => {});
  };
  console.log('none of the protocols:', (await client('/', 'named')).join(', '));
  console.log('closed at once:', (await client('/', [], (ws) => {
    ws.close();
    console.log(ws.readyState);
  })).join(', '));
  server.removeAllListeners('upgrade');
  console.log('no upgrade:', (await client('/')).join(', '));
}

(async () => {
  console.log(WebSocket.CONNECTING, WebSocket.OPEN, WebSocket.CLOSING, WebSocket.CLOSED, WebSocket.prototype.CLOSED, WebSocket.name, WebSocket.length);
  for (const bad of ['', 'nothing', 'ftp://a/', 'ws://a/#b', 'ws://a/#', 'mailto:x']) console.log(JSON.stringify(bad), error(() => new WebSocket(bad)));
  for (const bad of ['', 'a b', 'a,b', ['a', 'a'], ['ok', 'ü']]) console.log(JSON.stringify(bad), error(() => new WebSocket('ws://127.0.0.1:1/', bad)));
  console.log(error(() => new WebSocket()), error(() => WebSocket('ws://a')), error(() => WebSocket.prototype.readyState));
  const event = new CloseEvent('close', { code: 4000, reason: 'why', wasClean: true });
  console.log(event.type, event.code, event.reason, event.wasClean, event instanceof Event, new CloseEvent('x').code);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  base = `ws://127.0.0.1:${server.address().port}`;
  await echoes();
  await kinds();
  await pieces();
  await ends();
  await faults();
  await refusals();
  await new Promise((resolve) => {
    server.close(resolve);
    server.closeAllConnections();
  });
  base = 'ws://127.0.0.1:25';
  console.log('a bad port:', (await client('/')).join(', '));
})();
