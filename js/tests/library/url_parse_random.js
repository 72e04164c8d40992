// url.parse, url.resolve and url.resolveObject on texts by chance: a sum over 300 each, so that a difference is found fast. Before them the
// cases that matter: hosts that would become others, links that keep the query, users that another host must not get.
'use strict';
const url = require('url');

process.on('warning', (warning) => console.log(warning.code, warning.message));
const names = ['protocol', 'slashes', 'auth', 'host', 'port', 'hostname', 'hash', 'search', 'query', 'pathname', 'path', 'href'];
function attempt(call) {
  try {
    const found = call();
    return typeof found === 'string' ? found : JSON.stringify(names.map((name) => found[name]));
  } catch (error) {
    return error.code ? `${error.name} ${error.code} ${error.message} ${error.input}` : error.name;
  }
}

for (const input of [
  'http://fail\u2047', 'http://a\u2100b.example/c', 'http://a\uff0fb', 'http://a\uff20b', 'http://a\uff03b', 'http://a\uff1ab', 'http://\u00ad/bad', 'https://\u200d', 'http://a\ufe56b',
  'http://xn--iñvalid.com/', 'http://xn--a/', 'http://bücher.example', 'http://BÜCHER.example:80', 'http://\uff11.1', 'http://a\u3002b', 'http://[::1]x', 'http://[a/b]', 'http://[::1]?a', 'http://[fe80::1%25]',
  'http://a.com\t/x', 'http://a\nb.com', 'http://a b', 'http://a:b:c', 'http://a:80:', 'mailto:a@b.c', 'x:y/z', 'HTTP:a/b', 'javascript://a;b@c', 'http://a@b@c/', 'http://a@b?@c', 'http://%zz@h', "/a'b", "/a'b#", '//a/b',
  '\ufeffhttp://h\u00a0', 'http://h/\u00a0x', `http://${'a'.repeat(256)}/`,
]) console.log(JSON.stringify(input), attempt(() => url.parse(input)));
for (const [from, to] of [
  ['http://e.com/b?q', 'http:#h'], ['http://e.com/b?q', '#h'], ['http://e.com/b?q', 'http:'], ['http://e.com/b?q', 'http:c'], ['http://e.com/b?q', '?'], ['http://u:p@e.com/b', 'http://f.com/c'],
  ['http://u:p@e.com/b', '//f.com/c'], ['http://u:p@e.com/b', '/c'], ['http://u:p@e.com:80/b', 'http://e.com/c'], ['http://e.com/b', 'https:c/d'], ['http://e.com/b', 'https:'], ['mailto:a@b.c', 'd@e.f'],
  ['mailto:a@b.c', '#h'], ['x:y/z', '../../w'], ['x://y/z', '?q'], ['a/b', '../../../c'], ['/a/b', '../../../c'], ['', 'a'], ['http://e.com', '.'], ['http://e.com/a/b/', '..'], ['file:///a/b', '/c'], ['http://e.com/b', 'http://fail\u2047'],
]) console.log(JSON.stringify([from, to]), attempt(() => url.resolve(from, to)), attempt(() => url.resolveObject(from || '/', to)));

let seed = 1;
function random(most) {
  seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
  return (seed >>> 8) % most;
}
const starts = ['http://h', 'http://a.b/', 'http://h/a/b', 'file:///', 'http://u:p@h:80/a?b#c', '//h/x', '/a/b', 'x://h/y', 'mailto:a@b', 'http:', 'x:y/z', 'a/b', '', '', '', '', ''];
const pieces = ['http:', 'https:', 'HTTP:', 'file:', 'ws:', 'x:', 'javascript:', 'mailto:', '//', '//', '/', '/', '/', '\\', '.', '..', '/..', '/.', '%2e', '@', ':', '?', '#', 'a', 'B', '0',
                'h.example', '-', '_', ' ', '\'', '"', '<', '>', '^', '`', '{', '}', '|', '%', '%41', '%zz', 'é', '€', '😀', '80', ':443', ':8080', '=', '&', ';', '~', '$', '!', '*', ',', '(', '[',
                ']', '[::1]', '\t', '\n', '\x7f', '\u2047', '\u2100', '\uff03', '\uff0f', '\u2048', '\ufe56', '\u00a0', '\ufeff', '\u3002', '\u00ad', 'ß', 'İ', 'xn--', 'xn--mnchen-3ya', '\u200d',
                'a=b&c=d', '//h', 'b?q', '#h', 'http:#h'];
function text() {
  let made = random(2) ? starts[random(starts.length)] : '';
  for (let count = random(6); count > 0; count--) made += pieces[random(pieces.length)];
  return made;
}
let sum = 0;
for (let i = 1; i <= 12000; i++) {
  const [a, b, way] = [text(), text(), random(3)];
  const found = [attempt(() => url.parse(a, way === 1, way === 2)), attempt(() => url.resolve(a, b)), attempt(() => url.resolveObject(a || '/', b))].join(' ');
  // The engine has other words for what is no escape.
  if (!found.includes('URIError')) for (let at = 0; at < found.length; at++) sum = (Math.imul(sum, 31) + found.charCodeAt(at)) >>> 0;
  if (i % 300 === 0) console.log(i, sum, JSON.stringify([a, b]), found.includes('URIError') ? '' : found);
}
