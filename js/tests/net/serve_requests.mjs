// What a handler of vigil:http may ask of its Request, in any order and at any time; the answer of node:http's client shows it.
import http from 'node:http';
import { serve } from 'vigil:http';

const ask = (port, path, options = {}, body = undefined) => new Promise((resolve, reject) => {
  const req = http.request({ port, host: '127.0.0.1', path, ...options }, (res) => {
    let text = '';
    res.setEncoding('utf8').on('data', (chunk) => { text += chunk; }).on('end', () => resolve(`${res.statusCode} ${text}`));
  });
  req.on('error', reject);
  req.end(body);
});

const kept = [];
const routes = {
  '/parts': (request) => {
    const url = new URL(request.url);
    return [request.method, url.pathname, url.search, request.headers.get('x-two'), request.headers === request.headers, request.signal.aborted,
      request.signal === request.signal, request.body === null, request.bodyUsed, request.mode, request.redirect, request.duplex, request.destination].join();
  },
  '/copy': async (request) => {
    const copy = request.clone();
    const other = new Request(copy, { headers: { 'x-two': 'new' } });
    return [copy.url === request.url, copy.method, copy.headers.get('x-two'), other.headers.get('x-two'), await request.text(), await other.text()].join();
  },
  '/later': async (request) => {
    kept.push(request);
    await null;
    return [request.headers.get('host') !== null, await request.text()].join();
  },
  '/throws': () => { throw new Error('at once'); },
  '/rejects': async () => { throw new Error('later'); },
  '/nothing': () => undefined,
};
const errors = [];
const server = serve({ port: 0, hostname: '127.0.0.1', onError: (error) => {
  errors.push(error.message);
  return new Response('mended', { status: 503, headers: [['x-a', '1'], ['x-a', '2']] });
} }, (request) => {
  const found = routes[new URL(request.url).pathname](request);
  if (found instanceof Promise) return found.then((text) => new Response(text));
  return typeof found === 'string' ? new Response(found) : found;
});
const port = server.port;
console.log(await ask(port, '/parts?a=b', { headers: { 'X-Two': ['1', '2'] } }));
console.log(await ask(port, '/copy', { method: 'POST', headers: { 'X-Two': 'old' } }, 'body'));
console.log(await ask(port, '/later', { method: 'PUT' }, 'more'));
console.log(kept[0].url === `http://127.0.0.1:${port}/later`, kept[0].bodyUsed);
for (const path of ['/throws', '/rejects', '/nothing']) console.log(await ask(port, path));
console.log(errors.map((text) => text.split('.')[0]).join('; '));

// A client that leaves: a signal that is asked for before or after that is aborted.
let left;
const gone = new Promise((resolve) => { left = resolve; });
routes['/leave'] = (request) => new Promise((resolve) => {
  request.signal.addEventListener('abort', () => left([request.signal.aborted, request.signal.reason.name].join()));
  client.destroy();
});
const client = http.get({ port, host: '127.0.0.1', path: '/leave' });
client.on('error', () => {});
console.log(await gone);
await server.stop(true);
