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

// Hosts beyond ASCII, addresses with colons, schemes without slashes.
const hosts = ['[::]', '[::1]', '[1::]', '[1:2:3:4:5:6:7:8]', '[1:2:3:4:5:6:7::]', '[::2:3:4:5:6:7:8]', '[1:0:0:4:0:0:0:8]', '[1:0:0:4:5:0:0:8]', '[1:0:3:4:5:6:7:8]', '[ABCD:ef01::0023]', '[::1.2.3.4]', '[::ffff:255.255.255.255]',
               '[1:2:3:4:5:6:1.2.3.4]', '[1:2:3:4:5:6:7:1.2.3.4]', '[::1.2.3]', '[::1.2.3.4.5]', '[::01.2.3.4]', '[::256.1.1.1]', '[1]', '[:1]', '[1:]', '[1::2::3]', '[1:2:3:4:5:6:7:8:9]', '[::12345]', '[::g]', '[]', '[', ']', '[::1', '::1',
               '[::1]x', '[::1%25en0]', '[:::]', '[1:2:3:4:5:6:7::8]', '[::1]:', '[::1]:81', '[::1]:x', 'münchen.de', 'MÜNCHEN.DE', 'straße.de', 'ÿ.a', '÷.a', '×', 'пример.рф', 'ПРИМЕР', 'ѐ', 'Ё.a', 'αβγς.gr', 'ΑΒΓ', 'ά', '例え.テスト', '日本語.jp', '한국.kr',
               'ー.jp', 'a.ü.b.ö', 'ü-ü', '-ü-', 'ü_1', '1ü', 'a.1ü', 'ü.1', 'ü..a', 'ü.', 'e\u0301.a', '\u05d0.a', 'a\u200db', '☃.a', '😀.a', 'xn--a.ü', 'ⅷ.a', 'ﬁ.a', `${'ü'.repeat(62)}.a`, `${'a'.repeat(70)}.ü`, '%C3%BC.de', '中国'.repeat(20)];
for (const host of hosts) console.log(JSON.stringify(host), look(`http://${host}/x?y#z`), look(`//u:p@${host}/`, 'https://h/'));
for (const input of ['data:', 'data:,', 'data:text/html,<a b="c">é\x01\x7f?q\'"<>`é#f `<é', 'DATA:,A', 'data:a b ', 'data:a b ?c', 'data:a #c', 'data:/a', 'data://a', 'data:\\a', 'mailto:a@b?subject=c d', 'javascript:a("b")#c',
                     'blob:http://h/x', 'blob:x', 'about:blank', 'urn:isbn:1', 'x-y+z.1:a', '1x:a', 'a:', 'a:#', 'a:?', 'tel:+1 2', `${'s'.repeat(40)}:x`, 'data:a/../b', 'http', 'web+x:a']) {
  console.log(JSON.stringify(input), look(input), look(input, 'http://h/'), look('#f', input), look('x', input));
}

// What is set, on either way.
const values = ['', 'a', '/a/b', 'a b', '?a=b', '#a', 'é', '..', '/a/../b', '80', '443', '8081', '99999', '1x', 'h.example', 'H', 'h:9', '[::1]', 'a/b', 'a?b', 'a#b', '\\a', '%41', '%', '\ta\n', "'", 'https', 'https:', 'ws', 'file', 'x', '//', '/.', '\0'];
let set = 0;
for (const start of ['http://u:p@h:8080/a?b=c#d', 'https://h', 'file:///a?b', 'data:x?y#z', 'http://[::1]:5/', 'foo://h/a']) {
  for (const name of [...names, 'href'].filter((one) => one !== 'origin')) {
    for (const value of values) {
      const one = new URL(start);
      const params = one.searchParams;
      try {
        one[name] = value;
        one.hash += '1';
        one.searchParams.append('k', value);
        one.pathname += '/z';
      } catch (error) {
        set = (set * 31 + error.code.length) % 4294967291;
      }
      const found = `${names.map((part) => one[part]).join(' | ')} ${params} ${one.searchParams === params}`;
      for (let k = 0; k < found.length; k++) set = (set * 31 + found.charCodeAt(k)) % 4294967291;
    }
    console.log(start, name, set);
  }
}

// URLSearchParams.
const queries = ['', '?', '??a', 'a', 'a=', '=a', '=', '&', 'a&b', 'a=b&a=c&&d', 'a+b=c+d', '%2', '%2g', '%zz=%41%', '%C3%A9=%E9', 'é=😀', '\ud800=\udc00', '%EF%BB%BFa=%ef%bb%bf', 'a=b=c', 'a%26b=c%3Dd', "!~'()*-._", 'a\0b=\n', '%F0%9F%98%80', '%F0%9F'];
for (const query of queries) {
  const params = new URLSearchParams(query);
  console.log(JSON.stringify(query), JSON.stringify([...params]), `${params}`, params.size, params.get('a'), JSON.stringify(params.getAll('a')), params.has('a'), params.has('a', 'b'));
}
for (const init of [[['a', 'b'], ['c', 1]], { a: 1, b: [2, 3] }, new Map([['x', 'y']]), new URLSearchParams('q=1&q=2'), null, undefined, 5, { '\ud835x': '1', '\udc53x': '2' }, [], new FormData(), function f() {}, [new Set(['s', 't'])]]) {
  console.log(`${new URLSearchParams(init)}`);
}
for (const init of [[['a']], [['a', 'b', 'c']], [1], [null], { [Symbol.iterator]: 1 }, Symbol('s'), { a: Symbol('s') }, [['a', Symbol('s')]]]) {
  try {
    console.log(`${new URLSearchParams(init)}`);
  } catch (error) {
    console.log(error.name, error.code, error.message);
  }
}
{
  const params = new URLSearchParams('c=3&a=1&b=2&a=0');
  params.sort();
  console.log(`${params}`);
  params.set('a', '9');
  params.delete('b', '3');
  params.delete('c');
  console.log(`${params}`, Object.prototype.toString.call(params), Object.prototype.toString.call(params.keys()));
  const walk = params.entries();
  console.log(walk.next().value.join(), [...walk].join(), walk.next().done);
  params.forEach(function (value, name, all) { console.log(this.me, name, value, all === params); }, { me: 1 });
  for (const call of [() => params.append('x'), () => params.get(), () => params.forEach(1), () => URLSearchParams.prototype.get.call({}, 'a'), () => walk.next.call({}), () => URLSearchParams(), () => params.keys.call(1)]) {
    try {
      call();
    } catch (error) {
      console.log(error.name, error.code);
    }
  }
  console.log(params, params.keys(), params.entries(), new URLSearchParams(), { params }, Object.keys(URLSearchParams.prototype).join());
}

// Hosts that are none, hosts with encoded bytes, and numbers that are addresses: by chance, and some that are hard.
{
  const parts = ['a', 'B', '0', '1', '255', '256', '0x', '0X1f', '08', '017', '.', '.', '..', '-', '_', 'xn--', '%', '%2', '%41', '%2e', '%30', '%25', '%00', '%20', '%C3%BC', '%c3', '%E0%83%A9', '%EF%BB%BF', '%ED%A0%80', 'ü', '中',
                 '\u0338', '!', '"', '$', '*', '+', ';', '`', '{', '~', '|', '^', '<', '[', ']', ' ', '\x01', '\x7f', '@', ':', '4294967295', '4294967296', '99999999999999999999', '0xffffffff', '%3A', '%2F', '%5B', '%7f'];
  for (let i = 1; i <= 3000; i++) {
    let host = '';
    for (let k = next(5); k >= 0; k--) host += parts[next(parts.length)];
    const input = `http://${host}${['', '/x', ':81', ':x', ':99999', '?q'][next(6)]}`;
    const found = look(input, next(8) === 0 ? 'nope' : undefined);
    const can = URL.canParse(input);
    for (let k = 0; k < found.length; k++) digest = (digest * 31 + found.charCodeAt(k) + can) % 4294967291;
    if (i % 200 === 0) console.log(i, digest, JSON.stringify(input), found, can, URL.parse(input)?.host);
  }
  for (const host of ['<\u0338', '%3C%CC%B8', '<', '0', '1.', '1..', '.1', '.', '..', '0x.0x', '1.2.3.4.5', '1.65536', '1.2.256', '0x100000000', '%31%2e2', 'a%2Eb%2E', '%zz', `${'a'.repeat(300)}%41`]) console.log(host, look(`https://${host}/`));
  const target = new URL('http://u:p@h:8080/a/b?q#f');
  for (const value of ['/c', '/c/d.e/', '/c//d', '/.c', '/..', '/c/./d', 'e', '', '/', '/?#', '/c:@!', '/ü', '/%2e%2E/x', '/c\\d', '/c\t/d']) {
    target.pathname = value;
    console.log(JSON.stringify(value), target.href, target.pathname, target.search, target.hash, target.port);
  }
}
