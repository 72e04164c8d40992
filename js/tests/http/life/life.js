// A server's life without clients: what is emitted and thrown, and in which order.
'use strict';
const http = require('node:http');

const say = (...words) => console.log(...words);
const codeOf = (fn) => {
  try {
    fn();
    return 'none';
  } catch (error) {
    return `${error.name} ${error.code}`;
  }
};

say(http.METHODS.length > 30 && http.METHODS.every((name) => typeof name === 'string'), http.METHODS.slice(0, 3).join(), http.STATUS_CODES[418], Object.keys(http.STATUS_CODES).length, http.maxHeaderSize);
say(typeof http.Server, typeof http.IncomingMessage, typeof http.ServerResponse, http.createServer() instanceof http.Server);

const server = http.createServer({ keepAliveTimeout: 7000 }, () => {});
say(server.keepAliveTimeout, server.headersTimeout, server.requestTimeout, server.listening, server.address());
say(server.listenerCount('request'));
for (const port of [-1, 65536, 1.5, 'x1', NaN, {}]) {
  if (port !== 'x1') say(port, codeOf(() => http.createServer().listen(port)));
}
say(codeOf(() => http.createServer(42)));
http.createServer().close((error) => say('never ran', error.code));

server.on('listening', () => say('event listening'));
server.on('close', () => say('event close'));
const returned = server.listen(0, '127.0.0.1', () => {
  const { address, family, port } = server.address();
  say('listens', address, family, port > 0, server.listening, returned === server);
  say(codeOf(() => server.listen(0)));
  server.getConnections((error, count) => say('connections', error, count));

  const second = http.createServer();
  second.on('error', (error) => {
    say(error.code, error.syscall, error.address, error.port === port, error.message.replace(port, 'PORT'));
    server.close((closed) => say('closed', closed, server.listening, server.address()));
    say('after close', server.listening);
    setImmediate(() => again());
  });
  second.listen(port, '127.0.0.1');
});

function again() {
  // The same object once more, and one that does not keep the program alive.
  server.listen(0, () => {
    say('again', server.address().family);
    server.close();
    const silent = http.createServer().listen(0);
    silent.unref();
    silent.on('close', () => say('never'));
    const aborted = new AbortController();
    const third = http.createServer().listen({ port: 0, signal: aborted.signal }, () => aborted.abort());
    third.on('close', () => say('aborted'));
  });
}
process.on('exit', (code) => say('exit', code));
