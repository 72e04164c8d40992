// node:tls: agreement, names, protocols, certificates of both sides, resumption, and what goes wrong.
'use strict';
const tls = require('node:tls');
const net = require('node:net');
const fs = require('node:fs');
const path = require('node:path');
const { Duplex } = require('node:stream');
const { once } = require('node:events');

const read = (name) => fs.readFileSync(path.join(__dirname, name));
const ca = read('ca.pem');
const own = { key: read('server.key.pem'), cert: read('server.pem') };
const other = { key: read('other.key.pem'), cert: read('other.pem') };
const client = { key: read('client.key.pem'), cert: read('client.pem') };

async function serve(options, handler) {
  const server = tls.createServer(options, handler);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return [server, server.address().port];
}
const close = (server) => new Promise((resolve) => server.close(resolve));
// The outcome of a connection: an object, or the error's code.
function attempt(options) {
  return new Promise((resolve) => {
    const socket = tls.connect({ host: '127.0.0.1', ca, ...options });
    socket.once('secureConnect', () => {
      const certificate = socket.getPeerCertificate();
      resolve({ authorized: socket.authorized, why: socket.authorizationError, alpn: socket.alpnProtocol, cn: certificate.subject.CN });
      socket.end();
    });
    socket.once('error', (error) => resolve(error.code));
    socket.resume();
  });
}

async function talk() {
  const seen = [];
  const [server, port] = await serve({ ...own, ALPNProtocols: ['h9', 'echo'] }, (socket) => {
    seen.push([socket.encrypted, socket.authorized, socket.alpnProtocol, socket.servername, socket.getProtocol()]);
    socket.pipe(socket);
  });
  const socket = tls.connect({ port, host: '127.0.0.1', ca, servername: 'localhost', ALPNProtocols: ['none', 'echo'] });
  socket.write('before the agreement ');
  await once(socket, 'secureConnect');
  console.log(socket.authorized, socket.authorizationError, socket.alpnProtocol, socket.getProtocol(), socket.getCipher(), socket.getEphemeralKeyInfo());
  const certificate = socket.getPeerCertificate(true);
  console.log(certificate.subject, certificate.issuer, certificate.subjectaltname, certificate.serialNumber, certificate.bits, certificate.nistCurve,
    certificate.valid_from === new Date(certificate.valid_from).toUTCString(), certificate.fingerprint.length, certificate.fingerprint256.length,
    certificate.ext_key_usage, certificate.ca, Buffer.isBuffer(certificate.raw));
  console.log(socket.getFinished().length > 0, socket.getPeerFinished().length > 0, socket.exportKeyingMaterial(20, 'EXPERIMENTAL label').length,
    socket.isSessionReused(), socket.remoteAddress, socket.remotePort === port, socket.bytesWritten > 0);
  const big = Buffer.alloc(1 << 20, 'abcdefghij');
  socket.end(big);
  const chunks = [];
  for await (const chunk of socket) chunks.push(chunk);
  const all = Buffer.concat(chunks);
  console.log(all.length, all.subarray(0, 31).toString(), all.subarray(21).equals(big));
  console.log(seen);
  await close(server);
}

async function names() {
  const [server, port] = await serve(own, (socket) => socket.end());
  server.addContext('other.test', other);
  server.on('tlsClientError', () => {});
  for (const servername of ['localhost', 'other.test', 'a.example.test', 'a.b.example.test', '127.0.0.1.test', undefined]) {
    console.log(servername, await attempt({ port, servername }));
  }
  console.log('not checked', await attempt({ port, servername: 'wrong.test', rejectUnauthorized: false }));
  console.log('own check', await attempt({ port, servername: 'wrong.test', checkServerIdentity: () => undefined }));
  console.log('not trusted', await attempt({ port, ca: undefined }), await attempt({ port, ca: own.cert, rejectUnauthorized: false }));
  await close(server);
  const late = await serve({ ...own, SNICallback(name, done) { setImmediate(done, null, name === 'other.test' ? tls.createSecureContext(other) : null); } },
    (socket) => socket.end());
  console.log('callback', await attempt({ port: late[1], servername: 'other.test' }), await attempt({ port: late[1], servername: 'localhost' }));
  await close(late[0]);
  const chooses = await serve({ ...own, ALPNCallback: ({ protocols }) => protocols[1] }, (socket) => socket.end());
  chooses[0].on('tlsClientError', () => {});
  console.log('chosen', await attempt({ port: chooses[1], ALPNProtocols: ['x', 'y'] }), await attempt({ port: chooses[1], ALPNProtocols: ['x'] }));
  await close(chooses[0]);
}

async function clients() {
  for (const rejectUnauthorized of [true, false]) {
    let told;
    const [server, port] = await serve({ ...own, ca, requestCert: true, rejectUnauthorized, maxVersion: 'TLSv1.2' }, (socket) => {
      told([socket.authorized, socket.authorizationError, socket.getPeerCertificate().subject?.CN]);
      socket.end();
    });
    server.on('tlsClientError', (error) => told(error.code));
    for (const options of [client, {}]) {
      const said = new Promise((resolve) => { told = resolve; });
      const [result, word] = await Promise.all([attempt({ port, ...options }), said]);
      console.log(rejectUnauthorized, options === client, typeof result, word);
    }
    await close(server);
  }
}

async function again() {
  const [server, port] = await serve(own, (socket) => socket.end('x'));
  let session;
  const first = tls.connect({ port, host: '127.0.0.1', ca });
  first.once('session', (ticket) => { session = ticket; });
  first.resume();
  await once(first, 'close');
  const second = tls.connect({ port, host: '127.0.0.1', ca, session });
  await once(second, 'secureConnect');
  console.log('again', Buffer.isBuffer(session), first.isSessionReused?.call(second), second.isSessionReused(), second.authorized);
  second.resume();
  await once(second, 'close');
  await close(server);
}

async function wrong() {
  const plain = net.createServer((socket) => socket.on('error', () => {}).resume().end('this is no TLS at all\r\n'));
  plain.listen(0, '127.0.0.1');
  await once(plain, 'listening');
  console.log('plain server', await attempt({ port: plain.address().port }));
  await close(plain);
  const silent = net.createServer((socket) => socket.destroy());
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  console.log('gone server', await attempt({ port: silent.address().port }));
  await close(silent);
  const [server, port] = await serve({ ...own, minVersion: 'TLSv1.3' }, () => {});
  const told = once(server, 'tlsClientError');
  net.connect(port, '127.0.0.1').on('error', () => {}).end('GET / HTTP/1.0\r\n\r\n');
  console.log('plain client', (await told)[0].code);
  const old = once(server, 'tlsClientError');
  console.log('old client', await attempt({ port, maxVersion: 'TLSv1.2' }), (await old)[0].code);
  await close(server);
  for (const options of [{ key: own.key, cert: other.cert }, { key: 'x' }, { minVersion: 'TLSv9' }, { ciphers: 'NONE-OF-THEM' }, { ca: 5 }]) {
    try {
      tls.createSecureContext(options);
      console.log('accepted', Object.keys(options));
    } catch (error) {
      console.log(Object.keys(options).join(), error.code);
    }
  }
}

// TLS on a stream that is no socket, and on one that was used before.
async function carried() {
  const [server, port] = await serve(own, (socket) => socket.pipe(socket));
  const raw = net.connect(port, '127.0.0.1');
  const wrapped = new Duplex({
    read() { raw.resume(); },
    write(chunk, encoding, callback) { raw.write(chunk, callback); },
    final(callback) { raw.end(callback); },
  });
  raw.on('data', (chunk) => { if (!wrapped.push(chunk)) raw.pause(); });
  raw.on('end', () => wrapped.push(null));
  const socket = tls.connect({ socket: wrapped, ca, servername: 'localhost' });
  await once(socket, 'secureConnect');
  socket.write('through');
  console.log('stream', (await once(socket, 'data')).toString(), socket.authorized);
  socket.destroy();
  raw.destroy();
  await close(server);
  const starting = net.createServer((one) => {
    one.once('data', (data) => {
      one.write(`ready for ${data}`, () => {
        const secure = new tls.TLSSocket(one, { isServer: true, ...own });
        secure.on('data', (more) => secure.end(`secure ${more}`));
      });
    });
  });
  starting.listen(0, '127.0.0.1');
  await once(starting, 'listening');
  const started = net.connect(starting.address().port, '127.0.0.1');
  started.write('TLS');
  console.log('before', (await once(started, 'data')).toString());
  const upgraded = tls.connect({ socket: started, ca, servername: 'localhost' });
  await once(upgraded, 'secureConnect');
  upgraded.write('words');
  console.log('after', (await once(upgraded, 'data')).toString());
  await once(upgraded, 'close');
  await close(starting);
}

(async () => {
  await talk();
  await names();
  await clients();
  await again();
  await wrong();
  await carried();
  console.log(tls.getCiphers().includes('tls_aes_256_gcm_sha384'), tls.DEFAULT_MIN_VERSION, tls.checkServerIdentity('b.c', { subject: { CN: 'b.c' } }),
    tls.checkServerIdentity('b.c', { subject: { CN: 'd' }, subjectaltname: 'DNS:d, DNS:e' }).message);
})();
