// SPDX-License-Identifier: MIT
// node:perf_hooks: performance, with marks and measures.
'use strict';

const { codes } = load('errors');
const { DOMException, EventTarget } = load('eventtarget');
const entries = [];

class PerformanceEntry {
  constructor(name, entryType, startTime, duration, detail) {
    this.name = name;
    this.entryType = entryType;
    this.startTime = startTime;
    this.duration = duration;
    if (detail !== undefined) this.detail = detail;
  }
  toJSON() { return { ...this }; }
}
class PerformanceMark extends PerformanceEntry {}
class PerformanceMeasure extends PerformanceEntry {}

class Performance extends EventTarget {
  now() { return binding.preciseNow(); }
  get timeOrigin() { return origin; }
  mark(name, options = {}) {
    if (arguments.length === 0) throw new codes.ERR_MISSING_ARGS('name');
    const mark = new PerformanceMark(`${name}`, 'mark', options.startTime ?? this.now(), 0, options.detail ?? null);
    entries.push(mark);
    return mark;
  }
  measure(name, from, to) {
    const at = (place, fallback) => {
      if (place === undefined) return fallback;
      if (typeof place === 'number') return place;
      const mark = entries.findLast((entry) => entry.entryType === 'mark' && entry.name === `${place}`);
      if (mark === undefined) throw new DOMException(`The "${place}" performance mark has not been set`, 'SyntaxError');
      return mark.startTime;
    };
    let detail = null;
    let duration;
    if (from !== null && typeof from === 'object') ({ start: from, end: to, detail = null, duration } = from);
    const end = duration !== undefined && to === undefined ? at(from, 0) + duration : at(to, this.now());
    const start = duration !== undefined && from === undefined ? end - duration : at(from, 0);
    const measure = new PerformanceMeasure(`${name}`, 'measure', start, end - start, detail);
    entries.push(measure);
    return measure;
  }
  clearMarks(name) { clear('mark', name); }
  clearMeasures(name) { clear('measure', name); }
  getEntries() { return entries.slice().sort((a, b) => a.startTime - b.startTime); }
  getEntriesByName(name, type) {
    return this.getEntries().filter((entry) => entry.name === name && (type === undefined || entry.entryType === type));
  }
  getEntriesByType(type) { return this.getEntries().filter((entry) => entry.entryType === type); }
  eventLoopUtilization() {
    const { idle, active } = binding.loopTimes();
    return { idle, active, utilization: idle + active === 0 ? 0 : active / (idle + active) };
  }
  toJSON() { return { timeOrigin: origin, eventLoopUtilization: this.eventLoopUtilization() }; }
}
function clear(type, name) {
  for (let i = entries.length - 1; i >= 0; i--) {
    if (entries[i].entryType === type && (name === undefined || entries[i].name === name)) entries.splice(i, 1);
  }
}
const performance = new Performance();
const origin = Date.now() - performance.now();
module.exports = { performance, PerformanceEntry, PerformanceMark, PerformanceMeasure };
