// SPDX-License-Identifier: MIT
// Numbers in Buffers: the npm package's arithmetic behind Node's checks and messages.
'use strict';

const { codes } = load('errors');

function checkNumber(value, name) {
  if (typeof value !== 'number') throw new codes.ERR_INVALID_ARG_TYPE(name, 'number', value);
}
function outside(value, most, name) {
  checkNumber(value, name ?? 'offset');
  if (Math.floor(value) !== value) return new codes.ERR_OUT_OF_RANGE(name ?? 'offset', 'an integer', value);
  if (most < 0) return new codes.ERR_BUFFER_OUT_OF_BOUNDS();
  return new codes.ERR_OUT_OF_RANGE(name ?? 'offset', `>= ${name ? 1 : 0} and <= ${most}`, value);
}
function checkOffset(buffer, offset, size) {
  checkNumber(offset, 'offset');
  if (!(offset >= 0 && offset + size <= buffer.length && Math.floor(offset) === offset)) {
    throw outside(offset, buffer.length - size);
  }
}
function checkValue(value, min, max, size) {
  if (value <= max && value >= min) return;
  if (typeof min === 'number' && Number.isNaN(value)) return;
  const n = typeof min === 'bigint' ? 'n' : '';
  let range;
  if (size > 4) {
    range = min == 0 ? `>= 0${n} and < 2${n} ** ${size * 8}${n}`
      : `>= -(2${n} ** ${size * 8 - 1}${n}) and < 2${n} ** ${size * 8 - 1}${n}`;
  } else {
    range = `>= ${min}${n} and <= ${max}${n}`;
  }
  throw new codes.ERR_OUT_OF_RANGE('value', range, value);
}
function limits(size, signed, big) {
  if (big) return signed ? [-(2n ** 63n), 2n ** 63n - 1n] : [0n, 2n ** 64n - 1n];
  const bits = size * 8;
  return signed ? [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1] : [0, 2 ** bits - 1];
}

// ---- reals --------------------------------------------------------------------------------------------------------

// Through two arrays over the same memory. Each function stands for itself: the engine compiles it for its one size.
const single = new Float32Array(1);
const four = new Uint8Array(single.buffer);
const double = new Float64Array(1);
const eight = new Uint8Array(double.buffer);
const reals = {
  readFloatLE(offset = 0) {
    checkOffset(this, offset, 4);
    for (let i = 0; i < 4; i++) four[i] = this[offset + i];
    return single[0];
  },
  readFloatBE(offset = 0) {
    checkOffset(this, offset, 4);
    for (let i = 0; i < 4; i++) four[3 - i] = this[offset + i];
    return single[0];
  },
  readDoubleLE(offset = 0) {
    checkOffset(this, offset, 8);
    for (let i = 0; i < 8; i++) eight[i] = this[offset + i];
    return double[0];
  },
  readDoubleBE(offset = 0) {
    checkOffset(this, offset, 8);
    for (let i = 0; i < 8; i++) eight[7 - i] = this[offset + i];
    return double[0];
  },
  writeFloatLE(value, offset = 0) {
    single[0] = +value;
    checkOffset(this, offset, 4);
    for (let i = 0; i < 4; i++) this[offset + i] = four[i];
    return offset + 4;
  },
  writeFloatBE(value, offset = 0) {
    single[0] = +value;
    checkOffset(this, offset, 4);
    for (let i = 0; i < 4; i++) this[offset + i] = four[3 - i];
    return offset + 4;
  },
  writeDoubleLE(value, offset = 0) {
    double[0] = +value;
    checkOffset(this, offset, 8);
    for (let i = 0; i < 8; i++) this[offset + i] = eight[i];
    return offset + 8;
  },
  writeDoubleBE(value, offset = 0) {
    double[0] = +value;
    checkOffset(this, offset, 8);
    for (let i = 0; i < 8; i++) this[offset + i] = eight[7 - i];
    return offset + 8;
  },
};

// ---- all of them --------------------------------------------------------------------------------------------------

function install(prototype) {
  const reads = [];
  for (const name of Object.getOwnPropertyNames(prototype)) {
    const match = /^(read|write)(U?Int|BigU?Int|Float|Double)(8|16|32|64)?(LE|BE)?$/.exec(name);
    if (match !== null && reals[name] === undefined) reads.push([name, ...match.slice(1)]);
  }
  // The processors of this host are little-endian.
  for (const name of Object.keys(reals)) prototype[name] = reals[name];
  for (const [name, verb, kind, bits] of reads) {
    const slow = prototype[name];
    const size = bits === undefined ? 0 : bits / 8;
    const signed = !kind.includes('U');
    const big = kind.startsWith('Big');
    let made;
    if (size === 0 && verb === 'read') {
      made = function (offset, byteLength) {
        if (offset === undefined) throw new codes.ERR_INVALID_ARG_TYPE('offset', 'number', offset);
        checkNumber(byteLength, 'byteLength');
        if (!(byteLength >= 1 && byteLength <= 6 && Math.floor(byteLength) === byteLength)) throw outside(byteLength, 6, 'byteLength');
        checkOffset(this, offset, byteLength);
        return slow.call(this, offset, byteLength, true);
      };
    } else if (size === 0) {
      made = function (value, offset, byteLength) {
        checkNumber(byteLength, 'byteLength');
        if (!(byteLength >= 1 && byteLength <= 6 && Math.floor(byteLength) === byteLength)) throw outside(byteLength, 6, 'byteLength');
        value = +value;
        const [min, max] = limits(byteLength, signed, false);
        checkValue(value, min, max, byteLength);
        checkOffset(this, offset, byteLength);
        return slow.call(this, value, offset, byteLength, true);
      };
    } else if (verb === 'read') {
      made = function (offset = 0) {
        checkOffset(this, offset, size);
        return slow.call(this, offset, true);
      };
    } else {
      const [min, max] = limits(size, signed, big);
      made = function (value, offset = 0) {
        if (!big) value = +value;
        else if (typeof value !== 'bigint') throw new codes.ERR_INVALID_ARG_TYPE('value', 'bigint', value);
        checkValue(value, min, max, size);
        checkOffset(this, offset, size);
        return slow.call(this, value, offset, true);
      };
    }
    Object.defineProperty(made, 'name', { value: name });
    prototype[name] = made;
  }
}

module.exports = { install };
