// SPDX-License-Identifier: MIT
// The short way for plain URLs gives what the long one gives (setting href always goes the long way).
'use strict';
const names = ['href', 'origin', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search', 'hash'];
let seed = 7;
const chance = (below) => (seed = (Math.imul(seed, 1103515245) + 12345) >>> 0) % 0x7fff0000 % below;
const pick = (list) => list[chance(list.length)];
const long = new URL('http://x');
function shown(make) {
  try {
    const url = make();
    return names.map((name) => url[name]).join(' ');
  } catch (error) {
    return error.code;
  }
}
const schemes = ['http:', 'https:', 'ws:', 'wss:', 'ftp:', 'HTTP:', 'file:', 'x:', 'http', ''];
const hosts = ['example.com', 'a', 'localhost', '127.0.0.1', '1.2.3', '256.1.1.1', '01.2.3.4', 'a.1', '1a.b', 'xn--a', 'a--b.c', 'a-', '-a', 'a..b', 'a.', '.a', 'A.b',
  'ä.de', 'u@h', 'u:p@h', '[::1]', '0x7f.1', 'a_b', 'a%41', 'a.0x1', '999', 'b.c-', '1.1.1.1a', ''];
const ports = ['', ':80', ':443', ':21', ':8080', ':0', ':080', ':65535', ':65536', ':99999', ':', ':a'];
const bits = ['/', 'a', 'b.c', '.', '..', '/./', '/../', '%2e', '%2E/', '%41', '%', ' ', '"', '#', '?', '<', '>', '^', '`', '{', '}', '|', '\\', '\'', ';', ':', '@', '&', '=', '+',
  ',', '[', ']', '~', '!', '$', '(', ')', '*', 'ä', '\t', '\x7f', '//', '-', '_'];
let plain = 0;
let wrong = 0;
for (let i = 0; i < 2000; i++) {
  let text = `${pick(schemes)}${chance(30) ? '//' : pick(['/', '', '///', '\\\\'])}${pick(hosts)}${pick(ports)}`;
  if (chance(4)) text += '/';
  for (let left = chance(7); left > 0; left--) text += pick(bits);
  const short = shown(() => new URL(text));
  const other = shown(() => {
    long.href = text;
    return long;
  });
  if (short !== other && wrong++ < 5) console.log(JSON.stringify(text), short, other);
  plain += /^\w+:\/\//.test(short);
  // against a base
  let rest = '';
  for (let left = 1 + chance(6); left > 0; left--) rest += pick(bits);
  const base = `${pick(schemes)}//${pick(hosts)}${pick(ports)}/x/y?z`;
  if (rest.startsWith('/') && !rest.startsWith('//') && !/^\/[\t\\]/.test(rest)) {
    const relative = shown(() => new URL(rest, base));
    const joined = shown(() => {
      long.href = base;
      long.href = `${long.protocol === 'file:' || long.origin === 'null' ? pick(['-']) : long.origin}${rest}`;
      return long;
    });
    if (joined.startsWith('http') && !relative.includes('@') && relative.startsWith('http') && relative !== joined && wrong++ < 5) console.log(JSON.stringify([rest, base]), relative, joined);
  }
}
console.log(plain > 300, wrong);

// The parameters of a plain URL, before and after it has become another.
const url = new URL('http://h/p?a=1&b=2');
const params = url.searchParams;
params.append('c', 'x y');
console.log(url.href, params === url.searchParams);
url.hash = 'h';
console.log(url.href, params === url.searchParams, [...params]);
params.delete('a');
url.search = '?new=1';
console.log(url.href, [...params]);
params.set('new', '2');
params.delete('new');
console.log(url.href, url.search === '');
