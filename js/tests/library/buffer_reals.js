// Reals in Buffers, bit by bit; Buffers that methods of typed arrays make; util.inspect of simple values.
'use strict';
const util = require('node:util');
process.on('warning', (warning) => console.log(warning.code));
const values = [0, -0, 1, -1.5, NaN, Infinity, -Infinity, Math.PI, 5e-324, Number.MAX_VALUE, 1e40, 2 ** -149, '2.5', undefined, null, true];
for (const value of values) {
  const buffer = Buffer.alloc(24);
  console.log(buffer.writeFloatLE(value, 0), buffer.writeFloatBE(value, 4), buffer.writeDoubleLE(value, 8), buffer.writeDoubleBE(value, 16), buffer.toString('hex'),
    buffer.readFloatLE(0), buffer.readFloatBE(4), buffer.readDoubleLE(8), buffer.readDoubleBE(16));
}
for (const name of ['readFloatLE', 'readDoubleBE', 'writeFloatBE', 'writeDoubleLE']) {
  for (const offset of [undefined, 0, 1, 5, 9, -1, 1.5, NaN, '0', null, Infinity]) {
    const buffer = Buffer.alloc(8, 1);
    try {
      console.log(name, offset, name.startsWith('read') ? buffer[name](offset) : buffer[name](1, offset));
    } catch (error) {
      console.log(name, offset, error.code, error.message);
    }
  }
}
try {
  Buffer.alloc(3).writeFloatLE(1);
} catch (error) {
  console.log(error.code);
}
for (const made of [Buffer.of(1, 300, '3'), Buffer.from([1, 2]).map((x) => x * 2), Buffer.from('abc').filter((x) => x > 97), Buffer.from('abc').slice(1)]) {
  console.log(Buffer.isBuffer(made), made instanceof Buffer, made);
}
console.log([1, -0, 0.1, NaN, true, undefined, null, 'a b', "it's", '"', '\\', '\n', 'é', '', 'x'.repeat(100), 10n, Symbol('s')].map((value) => util.inspect(value)).join(' '));
console.log(['a', 1].map(util.inspect), util.inspect('a', { colors: true }), util.inspect('abc', { maxStringLength: 1 }), util.inspect.length);
util.inspect.defaultOptions.colors = true;
console.log(util.inspect('a'), util.inspect(1));
util.inspect.defaultOptions = { colors: false, maxStringLength: 2 };
console.log(util.inspect('abc'));
