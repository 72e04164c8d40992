// SPDX-License-Identifier: MIT
// require of an ES module, as Node 20.19 and later do it; small modules beside.
const made = require('./parts/with_default.mjs');
console.log(made.default(), made.named, made.live, made.more(), made.live, made.__esModule);
console.log(require('./parts/with_default.mjs') === made);
try { require('./parts/awaits.mjs'); } catch (error) { console.log(error.code); }
const crypto = require('crypto');
console.log(crypto.randomBytes(5).length, crypto.randomInt(3) < 3, crypto.randomInt(5, 6), crypto.randomUUID().length);
console.log(crypto.timingSafeEqual(Buffer.from('ab'), Buffer.from('ab')), crypto.timingSafeEqual(Buffer.from('ab'), Buffer.from('ac')));
try { crypto.timingSafeEqual(Buffer.from('a'), Buffer.from('ab')); } catch (error) { console.log(error.name, error.code, error.message); }
const { StringDecoder } = require('string_decoder');
const decoder = new StringDecoder('utf8');
console.log(JSON.stringify([decoder.write(Buffer.from([0xe2, 0x82])), decoder.write(Buffer.from([0xac, 0x41])), decoder.end(Buffer.from([0xf0]))]));
const base64 = new StringDecoder('base64');
console.log(base64.write(Buffer.from('ab')), base64.write(Buffer.from('cd')), base64.end());
const qs = require('querystring');
console.log(qs.parse('a=1&a=2&b=%20x+y&c&=d&e=%zz'), qs.stringify({ a: [1, 2], b: 'x y', c: true, d: null, e: NaN }), qs.escape('a b&'), qs.unescape('%41%zz'));
console.log(require('tty').isatty(-1), require('tty').isatty(999));
const channel = require('diagnostics_channel').channel('c');
const heard = (message, name) => console.log('heard', message, name);
console.log(channel.hasSubscribers, channel.subscribe(heard), channel.hasSubscribers);
channel.publish({ a: 1 });
console.log(channel.unsubscribe(heard), channel.unsubscribe(heard));
const { parseArgs } = require('util');
const options = { a: { type: 'boolean', short: 'a' }, b: { type: 'string', short: 'b', multiple: true }, c: { type: 'string', default: 'd' } };
const tried = (args, more) => {
  try {
    const { values, positionals } = parseArgs({ args, options, ...more });
    console.log(values, positionals);
  } catch (error) {
    console.log(error.code, error.message);
  }
};
tried(['-ab', '1', '--b=2']);
tried(['-b2', '-a', '--c', 'x']);
tried(['x'], {});
tried(['x', '--', '-a'], { allowPositionals: true });
tried(['--nope']);
tried(['--nope'], { strict: false });
tried(['--b']);
tried(['--a=1']);
tried(['--b', '-a']);
