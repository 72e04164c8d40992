// SPDX-License-Identifier: MIT
// Headers of the Fetch Standard: what the constructor takes, iterators that see changes, and headers that are fixed.
// Node 26 wrote the output: Node 20 has not all of it.
const tried = (run) => {
  try {
    return JSON.stringify(run());
  } catch (error) {
    return error.name;
  }
};
const show = (name, run) => console.log(name, tried(run));
const list = (init) => [...new Headers(init)];

show('nothing', () => [list(), list(undefined), list({}), list([])]);
show('null', () => list(null));
show('number', () => list(5));
show('record', () => list({ b: 1, A: undefined, c: null }));
show('pairs', () => list([['b', '1'], ['a', '2'], ['B', '3']]));
show('pairs of other kinds', () => list(new Map([['x', 'y']])));
show('short pair', () => list([['a']]));
show('long pair', () => list([['a', 'b', 'c']]));
show('text as pair', () => list(['ab']));
show('own and enumerable', () => list(Object.assign(Object.create({ inherited: 1 }), { seen: 3 })));
show('symbol', () => list({ [Symbol('s')]: 1, a: 'b' }));
show('bad name', () => list({ 'a b': 1 }));
show('empty name', () => list({ '': 1 }));
show('bad value', () => list({ a: 'b\nc' }));
show('wide value', () => list({ a: '\u0100' }));
show('latin value', () => list({ a: ' \t\xff\r\n ' }));
show('order of reading', () => {
  const seen = [];
  const init = new Proxy({ a: 1, 'b c': 2, d: 3 }, {
    get(target, key) {
      seen.push(String(key));
      return target[key];
    },
  });
  try {
    new Headers(init);
  } catch (error) {
    seen.push(error.name);
  }
  return seen;
});
for (const method of ['append', 'delete', 'get', 'has', 'set', 'forEach']) show(`${method} without arguments`, () => new Headers()[method]());

const headers = new Headers([['x', '1'], ['set-cookie', 'b=1'], ['set-cookie', 'a=2'], ['a', '3']]);
show('cookies', () => [...headers, headers.getSetCookie(), headers.get('set-cookie')]);
const seen = [];
for (const [name] of headers) {
  seen.push(name);
  if (name === 'a') headers.append('b', 'new');
  if (name === 'b') headers.delete('set-cookie');
}
show('changed on the way', () => seen);
const iterator = headers.entries();
show('iterator', () => [Object.prototype.toString.call(iterator), typeof iterator.next, iterator[Symbol.iterator]() === iterator]);
show('foreign iterator', () => iterator.next.call({}));
show('prototype', () => Object.getPrototypeOf(Object.getPrototypeOf(iterator)) === Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]())));
show('forEach', () => {
  const calls = [];
  headers.forEach(function (value, name, all) { calls.push(`${name}=${value}`, this.self, all === headers); }, { self: 'me' });
  return calls;
});
show('another this', () => Headers.prototype.get.call({}, 'a'));
show('fixed', () => Response.error().headers.append('a', 'b'));
show('fixed redirect', () => Response.redirect('http://a/').headers.set('a', 'b'));
show('enumerable', () => Object.keys(Headers.prototype).sort());
