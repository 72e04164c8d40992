// SPDX-License-Identifier: MIT
// Histograms of node:perf_hooks. Values are counted in groups that are exact to so many decimal figures, as those of Node are.
'use strict';

const { codes, validateInteger, validateObject } = load('errors');
const { setInterval, clearInterval } = load('sched');
const kMake = Symbol('make');
const kState = Symbol('state');
const kRecord = Symbol('record');
const kAdd = Symbol('add');

class Histogram {
  constructor(token, options) {
    if (token !== kMake) throw new codes.ERR_ILLEGAL_CONSTRUCTOR();
    const { lowest = 1, highest = Number.MAX_SAFE_INTEGER, figures = 3 } = options ?? {};
    const exact = 2 * 10 ** figures; // up to here every value has a group of its own
    Object.defineProperty(this, kState, { value: { lowest, highest, slots: 2 ** Math.ceil(Math.log2(exact)) } });
    this.reset();
  }
  // How many values share the group of this one.
  #width(value) {
    const { slots } = this[kState];
    return value < slots ? 1 : 2 ** (Math.floor(Math.log2(value)) - Math.log2(slots) + 1);
  }
  #first(value) {
    const width = this.#width(value);
    return Math.floor(value / width) * width;
  }
  #last(value) { return this.#first(value) + this.#width(value) - 1; }
  #middle(value) { return this.#first(value) + Math.floor(this.#width(value) / 2); }
  #put(value, times) {
    const state = this[kState];
    const group = this.#first(value);
    state.groups.set(group, (state.groups.get(group) ?? 0) + times);
    state.count += times;
    state.least = Math.min(state.least, value);
    state.most = Math.max(state.most, value);
  }
  #sorted() { return [...this[kState].groups].sort((a, b) => a[0] - b[0]); }
  [kRecord](value) {
    if (value > this[kState].highest) {
      this[kState].exceeds++;
      return;
    }
    this.#put(value, 1);
  }
  [kAdd](other) {
    for (const [group, times] of other[kState].groups) this.#put(group, times);
    const mine = this[kState];
    mine.exceeds += other[kState].exceeds;
    if (other[kState].count === 0) return;
    mine.least = Math.min(mine.least, other[kState].least);
    mine.most = Math.max(mine.most, other[kState].most);
  }
  get count() { return this[kState].count; }
  get countBigInt() { return BigInt(this.count); }
  get min() { return this.count === 0 ? Number(9223372036854775807n) : this.#first(this[kState].least); }
  get minBigInt() { return this.count === 0 ? 9223372036854775807n : BigInt(this.min); }
  get max() { return this.count === 0 ? 0 : this.#last(this[kState].most); }
  get maxBigInt() { return BigInt(this.max); }
  get exceeds() { return this[kState].exceeds; }
  get exceedsBigInt() { return BigInt(this.exceeds); }
  get mean() {
    let sum = 0;
    for (const [group, times] of this[kState].groups) sum += this.#middle(group) * times;
    return sum / this.count;
  }
  get stddev() {
    const { mean } = this;
    let sum = 0;
    for (const [group, times] of this[kState].groups) sum += (this.#middle(group) - mean) ** 2 * times;
    return Math.sqrt(sum / this.count);
  }
  percentile(percentile) {
    if (typeof percentile !== 'number') throw new codes.ERR_INVALID_ARG_TYPE('percentile', 'number', percentile);
    if (!(percentile > 0 && percentile <= 100)) throw new codes.ERR_OUT_OF_RANGE('percentile', '> 0 && <= 100', percentile);
    const wanted = Math.max(1, Math.floor(percentile / 100 * this.count + 0.5));
    let seen = 0;
    for (const [group, times] of this.#sorted()) {
      seen += times;
      if (seen >= wanted) return this.#last(group);
    }
    return 0;
  }
  percentileBigInt(percentile) { return BigInt(this.percentile(percentile)); }
  // Half of what is left in each step: 0, 50, 75, 87.5 ... 100.
  get percentiles() {
    const map = new Map();
    if (this.count === 0) return map.set(100, 0);
    map.set(0, this.#last(this.#sorted()[0][0]));
    for (let left = 50; left * this.count >= 100; left /= 2) map.set(100 - left, this.percentile(100 - left));
    return map.set(100, this.max);
  }
  get percentilesBigInt() { return new Map([...this.percentiles].map(([key, value]) => [key, BigInt(value)])); }
  reset() { Object.assign(this[kState], { groups: new Map(), count: 0, exceeds: 0, least: Infinity, most: 0, previous: undefined }); }
  toJSON() {
    const { count, min, max, mean, exceeds, stddev } = this;
    return { count, min, max, mean, exceeds, stddev, percentiles: Object.fromEntries(this.percentiles) };
  }
}

class RecordableHistogram extends Histogram {
  record(value) {
    if (typeof value === 'bigint') {
      this[kRecord](Number(value));
      return;
    }
    validateInteger(value, 'val', 1);
    this[kRecord](value);
  }
  // The nanoseconds since the last call.
  recordDelta() {
    const now = Math.round(binding.preciseNow() * 1e6);
    const { previous } = this[kState];
    this[kState].previous = now;
    if (previous !== undefined) this[kRecord](Math.max(1, now - previous));
  }
  add(other) {
    if (!(other instanceof RecordableHistogram)) throw new codes.ERR_INVALID_ARG_TYPE('other', 'RecordableHistogram', other);
    this[kAdd](other);
  }
}

// How late a timer is, and with it everything else on the loop.
class IntervalHistogram extends Histogram {
  #timer;
  #resolution;
  constructor(token, resolution) {
    super(token, undefined);
    this.#resolution = resolution;
  }
  enable() {
    if (this.#timer !== undefined) return false;
    let last = binding.preciseNow();
    this.#timer = setInterval(() => {
      const now = binding.preciseNow();
      this[kRecord](Math.max(1, Math.round((now - last) * 1e6)));
      last = now;
    }, this.#resolution).unref();
    return true;
  }
  disable() {
    if (this.#timer === undefined) return false;
    clearInterval(this.#timer);
    this.#timer = undefined;
    return true;
  }
}

function createHistogram(options = {}) {
  validateObject(options, 'options');
  const { lowest = 1, highest = Number.MAX_SAFE_INTEGER, figures = 3 } = options;
  if (typeof lowest !== 'bigint') validateInteger(lowest, 'options.lowest', 1);
  if (typeof highest !== 'bigint') validateInteger(highest, 'options.highest', 2 * Number(lowest));
  else if (highest < 2n * BigInt(lowest)) throw new codes.ERR_INVALID_ARG_VALUE('options.highest', highest);
  validateInteger(figures, 'options.figures', 1, 5);
  return new RecordableHistogram(kMake, { lowest: Number(lowest), highest: Number(highest), figures });
}
function monitorEventLoopDelay(options = {}) {
  validateObject(options, 'options');
  const { resolution = 10 } = options;
  validateInteger(resolution, 'options.resolution', 1);
  return new IntervalHistogram(kMake, resolution);
}

module.exports = { createHistogram, monitorEventLoopDelay, RecordableHistogram };
