// SPDX-License-Identifier: MIT
// fetch against a server of node:http: bodies both ways, redirects, codings, aborts, data: URLs.
import http from 'node:http';
import zlib from 'node:zlib';

const log = (...args) => console.log(...args);
const server = http.createServer((req, res) => {
  const chunks = [];
  req.on('data', (chunk) => chunks.push(chunk));
  req.on('end', () => {
    const body = Buffer.concat(chunks).toString();
    switch (req.url) {
      case '/json': res.setHeader('Content-Type', 'application/json').end('{"a":1}'); break;
      case '/echo': res.setHeader('x-type', req.headers['content-type'] ?? 'none').end(`${req.method} ${body}`); break;
      case '/gzip': res.setHeader('Content-Encoding', 'gzip').end(zlib.gzipSync('zipped')); break;
      case '/to-echo': res.writeHead(302, { Location: '/echo' }).end('moved'); break;
      case '/keep': res.writeHead(307, { Location: '/echo' }).end(); break;
      case '/loop': res.writeHead(302, { Location: '/loop' }).end(); break;
      case '/none': res.writeHead(204).end(); break;
      case '/cookies': res.setHeader('Set-Cookie', ['a=1', 'b=2']).writeHead(404, 'Gone Away').end('no'); break;
      case '/slow': res.write('first'); break;
      case '/form': res.end(`${/^multipart\/form-data; boundary=/.test(req.headers['content-type'])} ${/name="a"\r\n\r\nb\r\n/.test(body)}`); break;
      default: res.end('?');
    }
  });
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const base = `http://127.0.0.1:${server.address().port}`;

let res = await fetch(`${base}/json`);
log(res.status, res.ok, res.statusText, res.type, res.redirected, res.url === `${base}/json`, res.headers.get('content-type'));
log(await res.json(), res.bodyUsed);
res = await fetch(`${base}/echo`, { method: 'POST', body: 'text' });
log(res.headers.get('x-type'), await res.text());
res = await fetch(`${base}/echo`, { method: 'PUT', body: new Uint8Array([65, 66]) });
log(res.headers.get('x-type'), await res.text());
res = await fetch(`${base}/echo`, { method: 'POST', body: new URLSearchParams({ a: 'b c' }) });
log(res.headers.get('x-type'), await res.text());
const stream = new ReadableStream({ start(controller) { controller.enqueue(new TextEncoder().encode('str')); controller.enqueue(new TextEncoder().encode('eam')); controller.close(); } });
log(await (await fetch(`${base}/echo`, { method: 'POST', body: stream, duplex: 'half' })).text());
const form = new FormData();
form.set('a', 'b');
log(await (await fetch(`${base}/form`, { method: 'POST', body: form })).text());
log(await (await fetch(`${base}/gzip`)).text());
res = await fetch(`${base}/to-echo`, { method: 'POST', body: 'x' });
log(res.redirected, res.url === `${base}/echo`, await res.text());
log(await (await fetch(`${base}/keep`, { method: 'POST', body: 'kept' })).text());
res = await fetch(`${base}/to-echo`, { redirect: 'manual' });
log(res.status, res.headers.get('location'));
for (const [path, options] of [['/loop'], ['/to-echo', { redirect: 'error' }]]) {
  await fetch(base + path, options).catch((error) => log(error.name, error.message, error.cause.message));
}
res = await fetch(`${base}/none`);
log(res.status, res.body, await res.text());
res = await fetch(`${base}/cookies`);
log(res.status, res.ok, res.statusText, res.headers.getSetCookie(), await res.text());
log((await fetch(`${base}/json`, { method: 'HEAD' })).status);
res = await fetch(new Request(`${base}/json`, { headers: { x: 'y' } }));
const copy = res.clone();
log(await res.text(), (await copy.arrayBuffer()).byteLength);
const parts = [];
for await (const chunk of (await fetch(`${base}/json`)).body) parts.push(chunk.constructor.name);
log(parts);
const controller = new AbortController();
res = await fetch(`${base}/slow`, { signal: controller.signal });
const reader = res.body.getReader();
log(new TextDecoder().decode((await reader.read()).value));
controller.abort();
await reader.read().catch((error) => log(error.name));
await fetch(`${base}/json`, { signal: AbortSignal.abort() }).catch((error) => log(error.name));
await fetch('http://127.0.0.1:1/').catch((error) => log(error.name, error.message, error.cause.code ?? error.cause.message));
await fetch('x').catch((error) => log(error.name));
await fetch('ftp://x/').catch((error) => log(error.name, error.message, error.cause.message));
log(await (await fetch('data:text/plain;base64,aGk=')).text(), (await fetch('data:,a%20b')).headers.get('content-type'), await (await fetch('data:,a%20b')).text());
server.closeAllConnections();
server.close();
