'use strict';
// Ways of old code: Buffer as a function, timers of any object, decoders that are called, texts of coded errors.
process.noDeprecation = true;
const timers = require('timers');
const { StringDecoder } = require('string_decoder');
const querystring = require('querystring');
const util = require('util');
const buffer = require('buffer');
function refused(what, call) {
  try {
    console.log(what, call());
  } catch (error) {
    console.log(what, `${error}`, error.code);
  }
}
console.log(Buffer('abc'), new Buffer(3), Buffer([1, 2]), new Buffer('ff', 'hex'), buffer.SlowBuffer(2).length);
refused('Buffer', () => new Buffer(42, 'utf8'));
refused('Buffer', () => Buffer.alloc('3'));
refused('isUtf8', () => buffer.isUtf8('text'));
refused('INSPECT_MAX_BYTES', () => { buffer.INSPECT_MAX_BYTES = 'x'; });
refused('range', () => Buffer.alloc(8).writeBigUInt64BE(2n ** 64n));
console.log(Buffer.from('abc').toString('latin1', 1, -Infinity) === '', Buffer.from('abc').toString('utf8', -5, 2), Buffer.from('ff').indexOf(Buffer.from('f'), 1, 'ucs2'));

function Own() {
  StringDecoder.call(this, 'utf8');
}
util.inherits(Own, StringDecoder);
const own = new Own();
console.log(own.write(Buffer.from([0xe2, 0x82])), own.lastNeed, own.lastTotal, own.write(Buffer.from([0xac])), own.end());
refused('decoder', () => new StringDecoder(1));
refused('decoder', () => StringDecoder.prototype.write.call({}, Buffer.alloc(1)).length);

refused('escape', () => querystring.escape('\ud800'));
console.log(querystring.escape('\ud801test'), querystring.stringify({ a: [1, 'b c'] }, null, null));
console.log(util.callbackify(async function name(a, b) {}).name, util.callbackify(async (a, b) => {}).length);
refused('encoding', () => Buffer.from('abc').toString(null));
refused('view', () => Buffer.copyBytesFrom());
const booleanish = Object.setPrototypeOf(new Boolean(true), String.prototype);
console.log(util.isDeepStrictEqual(booleanish, new String('true')), util.isDeepStrictEqual(Object(1n), Object(1n)));
util.callbackify(async function () { return this.name; }).call({ name: 'self' }, function (error, value) { console.log(error, value, this.name); });
refused('system', () => util.getSystemErrorName(1));
refused('system', () => util.getSystemErrorName('x'));
console.log(util.getSystemErrorMap().get(-2));
refused('inherits', () => util.inherits(function A() {}, () => {}));
util.aborted(AbortSignal.abort(), null).catch((error) => console.log('aborted', error.code));
const { scheduler } = require('timers/promises');
refused('scheduler', () => new scheduler.constructor());

const item = { _onTimeout() { console.log('the item ran'); } };
timers.enroll(item, 1);
timers.active(item);
const other = { _onTimeout() { console.log('never'); } };
timers.enroll(other, 1);
timers.active(other);
timers.unenroll(other);
refused('enroll', () => timers.enroll({}, -1));
