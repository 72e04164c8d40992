// Timeouts of node:http's sockets, requests and answers; limits per connection; messages that no server has made.
'use strict';
const http = require('node:http');
const net = require('node:net');
const { once } = require('node:events');

async function listening(server) {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server.address().port;
}
// What comes back until the connection ends.
function raw(port, text) {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1');
    let got = '';
    socket.setEncoding('latin1').on('data', (chunk) => { got += chunk; }).on('error', () => {}).on('close', () => resolve(got));
    socket.write(text);
  });
}
const GET = 'GET / HTTP/1.1\r\nHost: h\r\n\r\n';
const heads = (text) => text.split('\r\n').filter((line) => /^(HTTP|Connection|Keep-Alive)/i.test(line)).join(' | ');

async function main() {
  {
    const server = http.createServer(() => {});
    console.log(server.timeout, server.setTimeout(30, (socket) => {
      console.log('server', socket.timeout, socket.destroyed);
      socket.destroy();
    }) === server, server.timeout);
    console.log(JSON.stringify(await raw(await listening(server), GET)));
    server.close();
  }
  {
    // Nobody listens: the connection is closed.
    const server = http.createServer(() => {});
    server.timeout = 30;
    console.log(JSON.stringify(await raw(await listening(server), GET)));
    server.close();
  }
  {
    const server = http.createServer((req, res) => {
      console.log(req.setTimeout(20, () => {
        console.log('request');
        res.end('late');
      }) === req);
    });
    console.log(heads(await raw(await listening(server), 'POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 5\r\n\r\nab')));
    server.close();
  }
  {
    const server = http.createServer((req, res) => {
      res.setTimeout(20, (socket) => {
        console.log('answer', socket === req.socket, req.socket.setTimeout(0) === req.socket);
        res.end('late');
      });
    });
    console.log(heads(await raw(await listening(server), 'GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n')));
    server.close();
  }
  {
    const server = http.createServer((req, res) => {
      req.socket.setTimeout(20, () => console.log('socket'));
      server.once('timeout', () => res.end());
    });
    console.log(heads(await raw(await listening(server), 'GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n')));
    for (const value of ['1', -1, NaN]) {
      server.once('request', () => {});
      try {
        new http.ServerResponse({ method: 'GET' }).setTimeout(1);
        net.Socket.prototype.setTimeout.call(new net.Socket(), value);
      } catch (error) {
        console.log(error.code);
      }
    }
    server.close();
  }
  {
    const server = http.createServer((req, res) => res.end('x'));
    server.maxRequestsPerSocket = 2;
    server.on('dropRequest', (req) => console.log('dropped', req.url));
    console.log(heads(await raw(await listening(server), GET + GET)));
    server.close();
  }
  {
    const server = http.createServer();
    server.maxHeadersCount = 3;
    server.on('request', (req, res) => {
      console.log(Object.keys(req.headers).join(), req.rawHeaders.length);
      res.end();
    });
    console.log(heads(await raw(await listening(server), 'GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nA: 1\r\nB: 2\r\nC: 3\r\n\r\n')));
    server.close();
  }
  {
    const server = http.createServer();
    server.on('clientError', (error, socket) => {
      console.log(error.code, error.bytesParsed, error.rawPacket.toString());
      socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
    });
    console.log(JSON.stringify(await raw(await listening(server), 'Oopsie\r\n')));
    server.close();
  }
  {
    // A request that is aborted before it has a connection tells of it once.
    const server = http.createServer((req, res) => res.end());
    const port = await listening(server);
    const agent = new http.Agent({ keepAlive: true });
    const gone = new AbortController();
    const req = http.get({ port, host: '127.0.0.1', agent, signal: gone.signal });
    gone.abort();
    const [error] = await once(req, 'error');
    console.log(error.name, req.destroyed, req instanceof http.OutgoingMessage);
    agent.destroy();
    server.close();
  }
  {
    const message = new http.IncomingMessage();
    console.log(message.socket, message.connection, message.url, message.headers, message.destroy() === message);
    message.connection = 'c';
    console.log(message.socket);
    const headers = {};
    for (const value of ['a', 'b']) message._addHeaderLine('X-Two', value, headers);
    console.log(headers);
  }
  {
    const { OutgoingMessage, ServerResponse } = http;
    const message = new OutgoingMessage();
    message.setHeader('Key', 'value');
    console.log(message.getHeader('key'), message.headersSent, message.writable, message.finished, message instanceof OutgoingMessage, message instanceof ServerResponse);
    try {
      message.write('x');
    } catch (error) {
      console.log(error.code, error.message);
    }
    console.log(new ServerResponse({ method: 'GET' }) instanceof OutgoingMessage);
    message.on('error', () => console.log('not told'));
    message.destroy();
    message.write('x', (error) => console.log(error.code));
  }
}
main();
