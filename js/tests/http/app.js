// What http.py asks, in this host and in Node: one route per thing to see.
'use strict';
const http = require('node:http');

const log = [];
const codeOf = (fn) => {
  try {
    fn();
    return 'none';
  } catch (error) {
    return `${error.name} ${error.code} ${error.message}`;
  }
};
function bodyOf(req) {
  return new Promise((resolve, reject) => {
    const chunks = [];
    req.on('data', (chunk) => chunks.push(chunk));
    req.on('end', () => resolve(Buffer.concat(chunks)));
    req.on('error', reject);
  });
}

const routes = {
  '/': (req, res) => res.end('hello'),
  '/empty': (req, res) => res.end(),
  '/bytes': (req, res) => res.end(Buffer.from([0, 1, 254, 255])),
  '/unicode': (req, res) => res.end('grün ☃'),
  '/latin1': (req, res) => {
    res.setHeader('X-Name', 'gr\xfcn');
    res.statusMessage = 'sch\xf6n';
    res.end(Buffer.from('x')); // with a text Node takes the head for UTF-8
  },
  '/encoding': (req, res) => res.end('68656c6c6f', 'hex'),
  '/chunks': (req, res) => {
    res.write('one');
    res.write(Buffer.from('two'));
    res.write('dr\xfci');
    res.end('four');
  },
  '/later': (req, res) => {
    res.write('now,');
    setTimeout(() => res.end('then'), 20);
  },
  '/length': (req, res) => {
    res.setHeader('Content-Length', 6);
    res.write('abc');
    res.end('def');
  },
  '/head': (req, res) => {
    res.writeHead(201, 'Made', { 'X-A': '1', 'X-B': ['2', '3'], 'Content-Type': 'text/x' });
    res.end('made');
  },
  '/head2': (req, res) => {
    res.setHeader('X-A', 'before');
    res.setHeader('X-C', 'stays');
    res.writeHead(202, { 'x-a': 'after' });
    res.end('y');
  },
  '/head3': (req, res) => res.writeHead(200, ['X-A', '1', 'X-a', '2', 'Set-Cookie', 'a=1']).end('z'),
  '/none': (req, res) => {
    res.statusCode = 204;
    res.end('ignored');
  },
  '/same': (req, res) => {
    res.writeHead(304, { ETag: '"x"' });
    res.end();
  },
  '/404': (req, res) => {
    res.statusCode = 404;
    res.end('no');
  },
  '/odd': (req, res) => {
    res.statusCode = 299;
    res.end('odd');
  },
  '/bare': (req, res) => {
    res.removeHeader('Date');
    res.removeHeader('Connection');
    res.sendDate = false;
    res.end('bare');
  },
  '/nolength': (req, res) => {
    res.removeHeader('content-length');
    res.removeHeader('transfer-encoding');
    res.end('to the end');
  },
  '/closing': (req, res) => {
    res.setHeader('Connection', 'close');
    res.end('bye');
  },
  '/cookies': (req, res) => {
    res.setHeader('Set-Cookie', ['a=1', 'b=2']);
    res.appendHeader('Set-Cookie', 'c=3');
    res.end(JSON.stringify([res.getHeader('set-COOKIE'), res.hasHeader('Set-cookie'), res.getHeaderNames(), res.getHeaders(),
      res.getRawHeaderNames()]));
  },
  '/trailers': (req, res) => {
    res.setHeader('Trailer', 'X-Sum');
    res.write('body');
    res.addTrailers({ 'X-Sum': '42' });
    res.end();
  },
  '/flush': (req, res) => {
    res.flushHeaders();
    setImmediate(() => res.end(`sent ${res.headersSent}`));
  },
  '/hints': (req, res) => {
    res.writeEarlyHints({ link: '</style.css>; rel=preload' });
    res.writeProcessing();
    res.end('hinted');
  },
  '/errors': (req, res) => {
    const seen = [
      codeOf(() => res.setHeader('bad name', 'x')),
      codeOf(() => res.setHeader('', 'x')),
      codeOf(() => res.setHeader('X', undefined)),
      codeOf(() => res.setHeader('X', 'a\r\nSet-Cookie: b')),
      codeOf(() => res.setHeader('X', ['ok', 'a\nb'])),
      codeOf(() => res.setHeader('X', '☃')),
      codeOf(() => res.writeHead(42)),
      codeOf(() => res.writeHead(200, 'a\r\nb')),
      codeOf(() => {
        res.statusMessage = undefined;
        res.writeHead(200, { X: 'a\rb' });
      }),
      codeOf(() => res.write(42)),
      codeOf(() => res.write(null)),
      codeOf(() => res.addTrailers({ 'bad name': 'x' })),
      codeOf(() => res.getHeader(1)),
      codeOf(() => http.validateHeaderName('a:')),
      codeOf(() => http.validateHeaderValue('x', '\x00')),
    ];
    res.statusMessage = undefined;
    res.write('first\n');
    seen.push(codeOf(() => res.setHeader('X', '1')), codeOf(() => res.removeHeader('X')), codeOf(() => res.writeHead(200)),
      codeOf(() => res.appendHeader('X', '1')));
    res.end(seen.join('\n'));
  },
  '/twice': (req, res) => {
    res.on('error', (error) => log.push(`error ${error.code}`));
    res.on('finish', () => log.push('finish'));
    res.on('close', () => log.push('close'));
    req.on('close', () => log.push('req close'));
    res.end('once', () => log.push('callback'));
    log.push(`ended ${res.writableEnded} ${res.finished}`);
    res.end();
    log.push(`write ${res.write('more')}`);
  },
  '/log': (req, res) => {
    res.end(log.join('\n'));
    log.length = 0;
  },
  '/echo': async (req, res) => {
    const body = await bodyOf(req);
    res.end(`${req.method} ${body.length} ${body} ${JSON.stringify(req.trailers)} ${JSON.stringify(req.rawTrailers)} ${req.complete}`);
  },
  '/iterate': async (req, res) => {
    let text = '';
    req.setEncoding('utf8');
    for await (const chunk of req) text += chunk;
    res.end(`${text.length} ${text}`);
  },
  '/leave': async (req, res) => {
    for await (const chunk of req) {
      if (chunk.length > 0) break;
    }
    res.end(`left, ${req.aborted}`);
  },
  '/pipe': (req, res) => req.pipe(res),
  '/ignore': (req, res) => res.end('ignored the body'),
  '/inspect': (req, res) => res.end(JSON.stringify({
    method: req.method, url: req.url, version: req.httpVersion, minor: req.httpVersionMinor, headers: req.headers, raw: req.rawHeaders,
    distinct: req.headersDistinct, family: typeof req.socket.remoteFamily, address: req.socket.remoteAddress,
    port: req.socket.remotePort > 0, local: req.socket.localPort > 0, same: req.socket === res.socket,
  })),
};

const server = http.createServer((req, res) => {
  const route = routes[req.url.replace(/\?.*/, '')];
  if (!route) {
    res.statusCode = 404;
    res.end('no route');
    return;
  }
  try {
    route(req, res)?.catch?.((error) => log.push(error.message));
  } catch (error) {
    res.removeHeader('Trailer');
    res.end(`${error.code}`);
  }
});
server.on('error', (error) => console.log(error.message));
server.listen(0, '127.0.0.1', () => console.log(`port ${server.address().port}`));
process.on('SIGTERM', () => {
  server.close(() => console.log('closed'));
  server.closeAllConnections();
});
