// SPDX-License-Identifier: MIT
// A small server: vigil run examples/http_server.mjs [port]
//   GET /            a greeting
//   GET /count/5     numbers, one every 100 ms, sent as they are made
//   POST /sum        the sum of a list of numbers, JSON both ways
// Ends with Ctrl-C, after the requests in flight were answered.
import { serve } from 'vigil:http';
import { setTimeout as sleep } from 'node:timers/promises';

async function* count(to) {
  for (let i = 1; i <= to; i++) {
    yield `${i}\n`;
    await sleep(100);
  }
}

const server = serve({ port: Number(process.argv[2] ?? 8080), hostname: '127.0.0.1' }, async (request) => {
  const { pathname } = new URL(request.url);
  const counting = /^\/count\/(\d+)$/.exec(pathname);
  if (pathname === '/') return new Response('hello, world\n');
  if (counting) return new Response(count(Number(counting[1])), { headers: { 'Content-Type': 'text/plain' } });
  if (pathname === '/sum' && request.method === 'POST') {
    const numbers = await request.json().catch(() => undefined);
    if (!Array.isArray(numbers)) return new Response('a JSON list, please\n', { status: 400 });
    return Response.json({ sum: numbers.reduce((sum, number) => sum + number, 0) });
  }
  return new Response('there is nothing here\n', { status: 404 });
});
console.log(`port ${server.port}`);
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => server.stop());
