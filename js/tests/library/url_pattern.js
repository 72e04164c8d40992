// SPDX-License-Identifier: MIT
// URLPattern, from the URL Pattern Standard. Node 20 has none: a newer Node wrote the output.
// The order of keys is nobody's promise.
const sorted = (key, value) => value === null || typeof value !== 'object' || Array.isArray(value) ? value
  : Object.fromEntries(Object.keys(value).sort().map((name) => [name, value[name]]));
const show = (name, run) => {
  try {
    console.log(name, JSON.stringify(run(), sorted));
  } catch (error) {
    console.log(name, error.name);
  }
};
const partsOf = (p) => [p.protocol, p.username, p.password, p.hostname, p.port, p.pathname, p.search, p.hash];

show('nothing given', () => partsOf(new URLPattern()));
show('a path', () => partsOf(new URLPattern({ pathname: '/books/:id' })));
show('a text', () => partsOf(new URLPattern('https://*.example.com:8080/files/*?page=:page#top')));
show('a text and a base', () => partsOf(new URLPattern('/books/:id', 'https://example.com')));
show('base in the object', () => partsOf(new URLPattern({ pathname: 'b', baseURL: 'https://example.com/x/y?q#f' })));
show('default port', () => partsOf(new URLPattern({ protocol: 'https', port: '443' })));
show('encoded', () => partsOf(new URLPattern({ pathname: '/café', search: 'a b', hash: 'ö' })));
show('host of other letters', () => partsOf(new URLPattern({ hostname: 'müller.example' })));

show('relative without a base', () => new URLPattern('/books'));
show('object and base', () => new URLPattern({ pathname: '/' }, 'https://example.com'));
show('unclosed group', () => new URLPattern({ pathname: '/(' }));
show('two groups of one name', () => new URLPattern({ pathname: '/:a/:a' }));
show('bad base', () => new URLPattern('/a', 'nothing'));

const books = new URLPattern({ hostname: '{:sub.}?example.com', pathname: '/books/:id(\\d+)/:page?' });
for (const url of ['https://example.com/books/12', 'https://www.example.com/books/12/3', 'https://example.com/books/x', 'https://example.org/books/1', 'no url']) {
  show(url, () => [books.test(url), books.exec(url)?.hostname, books.exec(url)?.pathname]);
}
show('an object as input', () => books.exec({ hostname: 'example.com', pathname: '/books/5' }));
show('input with a base', () => books.exec('/books/5', 'https://example.com'));
show('object input with a base', () => books.exec({ pathname: '/books/5' }, 'https://example.com'));
show('wildcards', () => new URLPattern('https://example.com/*/b/*').exec('https://example.com/1/2/b/3').pathname);
show('repeated', () => new URLPattern({ pathname: '/a/:rest+' }).exec({ pathname: '/a/b/c/d' }).pathname);
show('repeated or none', () => ['/a', '/a/b/c', '/ab'].map((pathname) => new URLPattern({ pathname: '/a/:rest*' }).test({ pathname })));
show('case', () => [new URLPattern({ pathname: '/A' }).test({ pathname: '/a' }), new URLPattern({ pathname: '/A' }, { ignoreCase: true }).test({ pathname: '/a' })]);
show('groups of a RegExp', () => [new URLPattern({ pathname: '/:a' }).hasRegExpGroups, books.hasRegExpGroups]);
show('name', () => Object.prototype.toString.call(books));
show('enumerable', () => Object.keys(URLPattern.prototype).sort());
