// SPDX-License-Identifier: MIT
// URLs that are plain and URLs that are not go different ways; both are as those of Node 26. First some that are hard, then many by chance.
'use strict';

const names = ['href', 'origin', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search', 'hash'];
function look(input, base) {
  try {
    const url = new URL(input, base);
    return names.map((name) => url[name]).join(' | ');
  } catch (error) {
    return error.code;
  }
}
const hard = ['HTTP://EXAMPLE.com', 'http:example.com', 'https:\\\\a\\b\\..\\c', 'http://u:p@h/', 'http://u@h', 'http://:p@h', 'http://@h', 'http://:@h',
              'http://a:b:c@d@h/', 'http://h:80/', 'https://h:80/', 'http://h:00081', 'http://h:', 'http://h:65536', 'http://h:x', 'http://', 'http://?', 'http:///h',
              'http://1.2.3.4', 'http://1.2.3', 'http://0x7f.1', 'http://256.1.1.1', 'http://01.2.3.4', 'http://1.2.3.4.', 'http://a.1', 'http://1a.b', 'http://a.0x', 'http://[::1]:80/',
              'http://xn--mnchen-3ya.de', 'http://XN--a', 'http://a..b', 'http://.a', 'http://a.', 'http://a_b-c', 'http://a--b', 'http://%61', 'http://a b', 'http://ü.de', 'http://h/a b"<>`{}|',
              'http://h?a\'b"c<d>e`f{g#h`i<j>"k', 'http://h/ü€😀\ud800?ü#ü', 'http://h/a/./b/../c', 'http://h/..', 'http://h/a/..', 'http://h/a/.', 'http://h/%2e/%2E%2e/x',
              'http://h/...', 'http://h/a//b', 'http://h//', ' http://h/ ', 'ht\ntp://h/\t', 'http://h#', 'http://h?', 'http://h?#', 'http://h/#a#b?c', 'file:///a/b', 'file:///', 'file:/a',
              'file://h/a', 'file:///C:/a/../..', 'file:///a/C|/..', 'file:///%41 b', 'FILE:///a/../b', 'data:text/plain,a b', 'mailto:a@b', 'ws://h', 'wss://h:443', 'ftp://h:21/a', 'foo://h/a', 'http', ''];
for (const input of hard) console.log(JSON.stringify(input), look(input));

const bases = ['http://u:p@h:8080/a/b/c?q#f', 'https://h', 'http://h/a', 'file:///a/b', 'foo://h/a'];
const relatives = ['', '#', '#x y', '?', '?x y', '?a#b', 'd', './d', '../d', '../../../d', '..', '.', '/d', '/d/../e', '//i/j', '\\\\i', '\\d', 'd/e?f#g', 'http:d', 'http:/d', 'http://i', 'https:d',
                   '%2e%2e/d', 'd\\e', ' d ', 'ü', '/..', '//', '///i', 'a:b', ':a', '@', 'C|/x'];
for (const base of bases) for (const input of relatives) console.log(JSON.stringify([input, base]), look(input, base));

let seed = 12345;
const next = (n) => (seed = (seed * 1103515245 + 12345) % 2147483648) % n;
const pieces = ['http:', 'https:', 'HTTP:', 'file:', 'ws:', 'x:', '//', '/', '\\', '.', '..', '%2e', '%2E%2e', '@', ':', '?', '#', 'a', 'B', '0', '1.2.3.4', 'h.example', '-', '_', ' ', '\'', '"', '<',
                '`', '{', '|', '%', '%41', 'é', '€', '😀', '\ud801', '80', '443', '8080', '=', '&', ';', '~', '$', '!', '*', ',', '(', '[', ']', '\t', '\0', '\x7f'];
let digest = 0;
for (let i = 1; i <= 20000; i++) {
  let input = next(4) > 0 ? ['http://h', 'https://a.b/', 'http://h/a', 'file:///'][next(4)] : '';
  for (let k = next(7); k >= 0; k--) input += pieces[next(pieces.length)];
  const found = look(input, next(3) === 0 ? bases[next(bases.length)] : undefined);
  for (let k = 0; k < found.length; k++) digest = (digest * 31 + found.charCodeAt(k)) % 4294967291;
  if (i % 500 === 0) console.log(i, digest, JSON.stringify(input), found);
}

const url = new URL('http://h/a?b=1#c');
url.searchParams.append('d', 'é');
console.log(url.href, url.search, url.hash);
url.searchParams.delete('b');
url.searchParams.delete('d');
console.log(url.href, url.search, url.hash, url.pathname);
url.port = '99';
url.username = 'me';
console.log(url.href, url.host, url.searchParams.size);
const { pathToFileURL } = require('url');
for (const name of ['/a b', '/a ', '/\t', '/ü', '/a%b?c#d\\e', '/C:/x']) console.log(pathToFileURL(name).href);
console.log(URL.canParse('http://h'), URL.canParse('http://'), URL.parse('x', 'http://h/').href);
