// The server that behave.py treats badly.
'use strict';
const http = require('node:http');
const { serve } = require('vigil:http');

const seen = { written: 0, read: 0, events: [], held: null };
const block = Buffer.alloc(65536, 'x');
const routes = {
  '/plain': (req, res) => res.end('plain'),
  '/stats': (req, res) => res.end(JSON.stringify({ ...seen, held: seen.held !== null })),
  '/reset': (req, res) => {
    Object.assign(seen, { written: 0, read: 0, events: [] });
    res.end();
  },
  // For ever, as fast as the client reads.
  '/endless': (req, res) => {
    const more = () => {
      while (!res.destroyed) {
        seen.written += block.length;
        if (!res.write(block)) {
          res.once('drain', more);
          return;
        }
      }
    };
    res.on('close', () => seen.events.push('endless closed'));
    more();
  },
  // Takes nothing of the body until /release.
  '/hold': (req, res) => {
    seen.held = () => {
      req.on('data', (chunk) => {
        seen.read += chunk.length;
      });
      req.on('end', () => res.end(`${seen.read}`));
    };
  },
  '/release': (req, res) => {
    seen.held();
    seen.held = null;
    res.end();
  },
  '/slowly': (req, res) => setTimeout(() => res.end('slowly'), 50),
  '/forever': (req, res) => {
    req.on('aborted', () => seen.events.push('aborted'));
    req.on('error', (error) => seen.events.push(error.code));
    req.on('close', () => seen.events.push('req close'));
    res.on('close', () => seen.events.push(`res close ${res.writableFinished}`));
    res.write('a beginning');
  },
  '/body': (req, res) => {
    req.on('data', () => {});
    req.on('aborted', () => seen.events.push('body aborted'));
    seen.events.push('body began');
  },
  '/storm': (req, res) => {
    let ends = false;
    const chain = () => {
      if (!ends) Promise.resolve().then(chain);
    };
    chain();
    seen.calm = () => {
      ends = true;
      res.end('calm again');
    };
  },
  '/calm': (req, res) => {
    res.end('told');
    seen.calm();
  },
  '/throw': () => {
    throw new Error('the handler failed');
  },
  '/sum': async (req, res) => {
    let sum = 0;
    seen.events.push('sum began');
    for await (const chunk of req) sum += chunk.length;
    res.end(`${sum}`);
  },
};

function handle(req, res) {
  const route = routes[req.url];
  if (route) route(req, res);
  else res.end(`you asked for ${req.url}`);
}

const settings = JSON.parse(process.argv[2] ?? '{}');
if (settings.catches) process.on('uncaughtException', (error) => console.log(`caught ${error.message}`));
let server;
if (settings.serve) {
  server = serve({ port: 0, hostname: '127.0.0.1' }, async (request) => {
    const { pathname } = new URL(request.url);
    if (pathname === '/stats') return Response.json(seen);
    if (pathname === '/fail') throw new Error('no answer');
    if (pathname === '/wrong') return 42;
    if (pathname === '/later') await new Promise((resolve) => setTimeout(resolve, 20));
    if (pathname === '/sum') {
      let sum = 0;
      for await (const chunk of request.body) sum += chunk.length;
      return new Response(`${sum}`, { status: 201, statusText: 'Summed', headers: [['X-A', '1'], ['Set-Cookie', 'a'], ['set-cookie', 'b']] });
    }
    if (pathname === '/json') return Response.json({ got: await request.json(), method: request.method }, { headers: { 'X-J': 'y' } });
    if (pathname === '/endless') {
      return new Response((async function* () {
        try {
          for (;;) {
            seen.written += block.length;
            yield block;
          }
        } finally {
          seen.events.push('source ended');
        }
      })());
    }
    return new Response(`served ${request.method} ${request.url}`);
  });
  process.on('unhandledRejection', (error) => console.log(`unhandled ${error.message}`));
  console.log(`port ${server.port}`);
  process.on('SIGTERM', () => server.stop().then(() => console.log('closed')));
} else {
  server = http.createServer(settings.options ?? {}, handle);
  server.on('connection', (socket) => socket.on('close', () => {}));
  if (settings.clientError) {
    server.on('clientError', (error, socket) => socket.end(`HTTP/1.1 499 ${error.code}\r\nConnection: close\r\n\r\n`));
  }
  server.listen(0, '127.0.0.1', () => console.log(`port ${server.address().port}`));
  process.on('SIGTERM', () => server.close(() => console.log('closed')));
}
