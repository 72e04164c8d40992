// SPDX-License-Identifier: MIT
// node:v8: values as bytes, the very ones that Node writes, and back.
'use strict';
const v8 = require('node:v8');
const { inspect } = require('node:util');
const { deepStrictEqual } = require('node:assert');

const round = { name: 'round' };
round.self = round;
const shared = { a: 1 };
const sparse = [1, , 3];
sparse[9] = 10;
const named = [1, 2];
named.more = 'x';
const values = [
  undefined, null, true, false, 0, -0, 1, -1, 63, 64, -64, -65, 2 ** 29, 2 ** 30 - 1, 2 ** 30, -(2 ** 30), -(2 ** 30) - 1, 2 ** 31, 2 ** 53, 1.5, NaN, Infinity,
  0n, 1n, -1n, 2n ** 64n, -(2n ** 200n) + 17n, '', 'plain', 'ünï', 'wide €', 'a€', 'ab€', '😀', 'x'.repeat(300), '€'.repeat(300),
  {}, { a: 1, b: { c: [] } }, { 1: 'a', 2: 'b', x: 'y', 4294967295: 1 }, [], [1, 'a', null, undefined], sparse, named, new Array(5), [[[]]],
  new Date(0), new Date(NaN), /a+/gi, /ü/su, /x/y, new Map([[1, { a: 2 }], ['x', new Map()]]), new Set([1, 'a', shared, shared]),
  [shared, shared], round, new Boolean(true), new Boolean(false), new Number(7), new String('abc'), Object(5n),
  new Uint8Array([1, 2, 3]), new Int16Array([-1, 5]), new Float64Array([1.5]), new BigInt64Array([5n]), Buffer.from('buffer'), new DataView(new ArrayBuffer(3), 1),
  new Uint8Array([1, 2, 3, 4]).subarray(1, 3), new Uint8Array([1, 2, 3]).buffer, new ArrayBuffer(0), new Uint8ClampedArray(2), new Uint32Array(1),
];
for (const value of values) {
  const bytes = v8.serialize(value);
  const back = v8.deserialize(bytes);
  if (!(value instanceof Date)) deepStrictEqual(back, value);
  console.log(inspect(value, { breakLength: Infinity }).slice(0, 60), bytes.toString('hex').slice(0, 160), bytes.length);
}
for (const Kind of [Error, TypeError, RangeError]) {
  const error = new Kind('text', { cause: { why: 1 } });
  error.extra = 1;
  const back = v8.deserialize(v8.serialize(error));
  console.log(back instanceof Kind, back.name, back.message, back.cause, back.extra, back.stack === error.stack);
}
for (const wrong of [() => 1, Symbol('s'), new WeakMap(), { f() {} }, Promise.resolve(1), [class {}]]) {
  try {
    v8.serialize(wrong);
    console.log('written');
  } catch (error) {
    console.log(error.name, error.message.replace(/\s+/g, ' '));
  }
}
for (const bytes of [Buffer.of(), Buffer.of(1, 2), Buffer.of(255, 15), Buffer.of(255, 15, 0x6f), Buffer.of(255, 15, 0x22, 200), Buffer.of(255, 15, 0x5e, 9)]) {
  try {
    console.log(v8.deserialize(bytes));
  } catch (error) {
    console.log(error.name);
  }
}
try {
  v8.deserialize('x');
} catch (error) {
  console.log(error.name, error.code);
}
class Own extends v8.Serializer {
  _writeHostObject(object) {
    this.writeUint32(7);
    this.writeUint64(1, 2);
    this.writeDouble(1.5);
    this.writeRawBytes(Buffer.from('raw'));
  }
}
const own = new Own();
own._setTreatArrayBufferViewsAsHostObjects(true);
own.writeHeader();
console.log(own.writeValue([new Uint8Array(2)]));
const bytes = own.releaseBuffer();
console.log(bytes.toString('hex'));
class Reader extends v8.Deserializer {
  _readHostObject() { return [this.readUint32(), this.readUint64(), this.readDouble(), `${this.readRawBytes(3)}`]; }
}
const reader = new Reader(bytes);
console.log(reader.readHeader(), reader.getWireFormatVersion(), reader.readValue());
const statistics = v8.getHeapStatistics();
console.log(statistics.used_heap_size > 0, statistics.total_heap_size >= statistics.used_heap_size);
