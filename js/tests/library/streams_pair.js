'use strict';
// stream.duplexPair, the old names of the stream classes, http.Server without `new`, consoles on broken streams.
const { duplexPair, Readable, Writable } = require('stream');
const http = require('http');
console.log(require('_stream_readable') === Readable, require('_stream_writable') === Writable);
const [left, right] = duplexPair();
right.setEncoding('utf8').on('data', (text) => console.log('right reads', text)).on('end', () => right.end('goodbye'));
left.setEncoding('utf8').on('data', (text) => console.log('left reads', text)).on('end', () => console.log('left ends'));
left.end('hello');

const server = http.Server((req, res) => {
  res.cork();
  console.log(res.writableCorked);
  res.write('a');
  res.uncork();
  res.end('b', () => console.log(res.writableCorked));
});
class Own extends http.Server {}
console.log(server instanceof http.Server, new Own() instanceof Own, server.constructor === http.Server);
server.listen(0, () => {
  http.get({ port: server.address().port, agent: false }, (res) => res.setEncoding('utf8').on('data', (text) => process.stdout.write(`${text}.`)).on('end', () => {
    console.log();
    server.close();
    const aborted = http.request({ port: 1 }, () => {});
    const seen = [];
    for (const name of ['abort', 'error', 'close']) aborted.on(name, () => seen.push(name));
    aborted.abort();
    process.on('exit', () => console.log('aborted:', seen.sort()));
  }));
});

const broken = new Writable({ write: (chunk, encoding, callback) => callback(new Error('broken')) });
new console.Console(broken).log('nothing is thrown');
const loud = new Writable({ write: (chunk, encoding, callback) => callback(new Error('loud')) });
loud.on('error', (error) => console.log(error.message));
new console.Console({ stdout: loud, ignoreErrors: false }).log('x');
for (const wrong of [{ colorMode: 'blue' }, { groupIndentation: -1 }, { colorMode: true, inspectOptions: { colors: true } }]) {
  try {
    new console.Console({ stdout: process.stdout, ...wrong });
  } catch (error) {
    console.log(error.code);
  }
}
const { URLSearchParams, URL, format, parse } = require('url');
console.log(format(new URL('http://me:word@host/a?b#c'), { auth: 0, fragment: null, search: '' }), parse(`http://${'a'.repeat(300)}/x`).hostname);
for (const call of [() => URLSearchParams.prototype.get.call({}, 'a'), () => new URLSearchParams().get(Symbol('x')), () => new URLSearchParams().forEach(1), () => new URLSearchParams().append('a'), () => format(new URL('http://a'), 1)]) {
  try {
    call();
  } catch (error) {
    console.log(error.name, error.code, error.message);
  }
}
