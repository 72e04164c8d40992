// SPDX-License-Identifier: MIT
// The classes of performance: marks and measures (User Timing), the timeline and its observers (Performance Timeline).
'use strict';

const { codes } = load('errors');
const { DOMException, EventTarget } = load('eventtarget');
const { expose, dictionary, double, isObject, need } = load('idl');
const sched = load('sched');

const custom = Symbol.for('nodejs.util.inspect.custom');
const kMake = Symbol('make');
const entries = []; // the timeline
const observers = new Set(); // those that observe
const KINDS = Object.freeze(['function', 'mark', 'measure']);

// ---- entries ------------------------------------------------------------------------------------------------------

class PerformanceEntry {
  #name;
  #entryType;
  #startTime;
  #duration;
  constructor(key = undefined, name = '', entryType = '', startTime = 0, duration = 0) {
    if (key !== kMake) throw new codes.ERR_ILLEGAL_CONSTRUCTOR();
    this.#name = name;
    this.#entryType = entryType;
    this.#startTime = startTime;
    this.#duration = duration;
  }
  get name() { return this.#name; }
  get entryType() { return this.#entryType; }
  get startTime() { return this.#startTime; }
  get duration() { return this.#duration; }
  toJSON() { return { name: this.#name, entryType: this.#entryType, startTime: this.#startTime, duration: this.#duration }; }
  [custom](depth, options, inspect) {
    if (depth < 0) return this.constructor.name;
    return `${this.constructor.name} ${inspect(this.toJSON(), { ...options, depth: options.depth === null ? null : options.depth - 1 })}`;
  }
}
const detailOf = (options) => options.detail === undefined || options.detail === null ? null : load('clone').structuredClone(options.detail);

class PerformanceMark extends PerformanceEntry {
  #detail;
  constructor(name, options = undefined) {
    need(arguments.length, 1, 'PerformanceMark');
    const title = `${name}`;
    const { startTime } = options = dictionary(options, 'PerformanceMark');
    const start = startTime === undefined ? binding.preciseNow() : double(startTime, 'startTime');
    if (start < 0) throw new codes.ERR_PERFORMANCE_INVALID_TIMESTAMP(start);
    super(kMake, title, 'mark', start, 0);
    this.#detail = detailOf(options);
  }
  get detail() { return this.#detail; }
  toJSON() { return { ...super.toJSON(), detail: this.#detail }; }
}
class PerformanceMeasure extends PerformanceEntry {
  #detail;
  constructor(key = undefined, name = '', start = 0, duration = 0, detail = null) {
    super(key, name, 'measure', start, duration);
    this.#detail = detail;
  }
  get detail() { return this.#detail; }
  toJSON() { return { ...super.toJSON(), detail: this.#detail }; }
}
Object.defineProperty(PerformanceMeasure, 'length', { value: 0 });
// Has the arguments of the call, together and one by one.
class FunctionEntry extends PerformanceEntry {
  constructor(key, name, start, duration, args) {
    super(key, name, 'function', start, duration);
    Object.defineProperty(this, 'detail', { value: args, configurable: true, writable: true });
    for (let i = 0; i < args.length; i++) this[i] = args[i];
  }
  toJSON() { return { ...super.toJSON(), detail: this.detail }; }
}
Object.defineProperty(FunctionEntry.prototype, 'constructor', { value: PerformanceEntry });

const sorted = (list) => list.slice().sort((a, b) => a.startTime - b.startTime);
const named = (list, name, type) => list.filter((one) => one.name === name && (type === undefined || one.entryType === type));

// ---- observers ----------------------------------------------------------------------------------------------------

class PerformanceObserverEntryList {
  #list;
  constructor(key = undefined, list = []) {
    if (key !== kMake) throw new codes.ERR_ILLEGAL_CONSTRUCTOR();
    this.#list = sorted(list);
  }
  getEntries() { return this.#list.slice(); }
  getEntriesByType(type) {
    need(arguments.length, 1, 'getEntriesByType');
    const wanted = `${type}`;
    return this.#list.filter((one) => one.entryType === wanted);
  }
  getEntriesByName(name, type = undefined) {
    need(arguments.length, 1, 'getEntriesByName');
    return named(this.#list, `${name}`, type === undefined ? undefined : `${type}`);
  }
}

let due = false;
// One task tells all observers.
function tellSoon() {
  if (due) return;
  due = true;
  sched.setImmediate(() => {
    due = false;
    for (const observer of [...observers]) deliver(observer);
  });
}

let take, deliver; // set by the class
class PerformanceObserver {
  #callback;
  #types = new Set();
  #kind = null; // 'multiple' after entryTypes, 'single' after type
  #buffer = [];
  #told = false;
  constructor(callback) {
    if (typeof callback !== 'function') throw new codes.ERR_INVALID_ARG_TYPE('callback', 'Function', callback);
    this.#callback = callback;
  }
  static {
    take = (observer, entry) => {
      if (observer.#types.has(entry.entryType)) observer.#buffer.push(entry);
      return observer.#buffer.length > 0;
    };
    deliver = (observer) => {
      if (observer.#buffer.length === 0) return;
      const list = observer.takeRecords();
      const options = observer.#told ? {} : { droppedEntriesCount: 0 };
      observer.#told = true;
      try {
        observer.#callback.call(observer, new PerformanceObserverEntryList(kMake, list), observer, options);
      } catch (error) {
        process.nextTick(() => {
          throw error;
        });
      }
    };
  }
  observe(options = undefined) {
    options = dictionary(options, 'observe');
    const { buffered, entryTypes, type } = options;
    if (entryTypes === undefined && type === undefined) throw new codes.ERR_MISSING_ARGS('options.entryTypes', 'options.type');
    if (entryTypes !== undefined && (type !== undefined || buffered !== undefined)) {
      throw new codes.ERR_INVALID_ARG_VALUE('options.entryTypes', entryTypes, 'can not be set with options.type or options.buffered');
    }
    const kind = entryTypes === undefined ? 'single' : 'multiple';
    if (this.#kind !== null && this.#kind !== kind) {
      throw new DOMException('PerformanceObserver can not change to observe in another way', 'InvalidModificationError');
    }
    let wanted;
    if (kind === 'multiple') {
      if (!isObject(entryTypes) || typeof entryTypes[Symbol.iterator] !== 'function') throw new codes.ERR_INVALID_ARG_TYPE('options.entryTypes', 'string[]', entryTypes);
      wanted = [...entryTypes].map((one) => `${one}`).filter((one) => KINDS.includes(one));
    } else {
      wanted = [`${type}`].filter((one) => KINDS.includes(one));
    }
    this.#kind = kind;
    if (wanted.length === 0) return;
    if (kind === 'multiple') this.#types.clear();
    for (const one of wanted) this.#types.add(one);
    observers.add(this);
    if (!buffered) return;
    for (const entry of entries) if (entry.entryType === wanted[0]) this.#buffer.push(entry);
    tellSoon();
  }
  disconnect() {
    observers.delete(this);
    this.#buffer = [];
    this.#types.clear();
    this.#kind = null;
  }
  takeRecords() {
    const list = this.#buffer;
    this.#buffer = [];
    return list;
  }
  static get supportedEntryTypes() { return KINDS; }
}

// To those who observe the kind of the entry.
function announce(entry) {
  let somebody = false;
  for (const observer of observers) somebody = take(observer, entry) || somebody;
  if (somebody) tellSoon();
}
// An entry that is new on the timeline.
function add(entry) {
  entries.push(entry);
  announce(entry);
  return entry;
}
// A call of a function that was wrapped by timerify: it is not on the timeline.
function announceCall(name, start, duration, args) {
  announce(new FunctionEntry(kMake, name, start, duration, args));
}

// ---- performance --------------------------------------------------------------------------------------------------

// A mark's name, or a time.
function timeOf(place) {
  if (typeof place === 'number') {
    const time = double(place, 'measure');
    if (time < 0) throw new codes.ERR_PERFORMANCE_INVALID_TIMESTAMP(time);
    return time;
  }
  const name = `${place}`;
  const mark = entries.findLast((entry) => entry.entryType === 'mark' && entry.name === name);
  if (mark === undefined) throw new DOMException(`The "${name}" performance mark has not been set`, 'SyntaxError');
  return mark.startTime;
}
function clear(type, name) {
  for (let i = entries.length - 1; i >= 0; i--) {
    if (entries[i].entryType === type && (name === undefined || entries[i].name === name)) entries.splice(i, 1);
  }
}
const origin = Date.now() - binding.preciseNow();

class Performance extends EventTarget {
  #own = true;
  constructor(key = undefined) {
    if (key !== kMake) throw new codes.ERR_ILLEGAL_CONSTRUCTOR();
    super();
  }
  // Another object has none of the methods.
  static #check(value) { void value.#own; }
  now() {
    Performance.#check(this);
    return binding.preciseNow();
  }
  get timeOrigin() {
    Performance.#check(this);
    return origin;
  }
  mark(name, options = undefined) {
    Performance.#check(this);
    need(arguments.length, 1, 'mark');
    return add(new PerformanceMark(name, options));
  }
  measure(name, startOrOptions = undefined, endMark = undefined) {
    Performance.#check(this);
    need(arguments.length, 1, 'measure');
    const title = `${name}`;
    const isName = startOrOptions !== undefined && startOrOptions !== null && !isObject(startOrOptions);
    const { detail, duration, end: last, start: first } = isName ? {} : startOrOptions ?? {};
    if (first !== undefined || last !== undefined || duration !== undefined || detail !== undefined) {
      if (endMark !== undefined) throw new TypeError('measure: options and an end cannot be given together');
      if (first === undefined && last === undefined) throw new TypeError('measure: options need a start or an end');
      if (first !== undefined && last !== undefined && duration !== undefined) throw new TypeError('measure: a start, an end and a duration are too many');
    }
    const length = duration === undefined ? undefined : timeOf(double(duration, 'duration'));
    let end;
    if (endMark !== undefined) end = timeOf(endMark);
    else if (last !== undefined) end = timeOf(last);
    else if (first !== undefined && length !== undefined) end = timeOf(first) + length;
    else end = binding.preciseNow();
    let start = 0;
    if (first !== undefined) start = timeOf(first);
    else if (length !== undefined) start = end - length;
    else if (isName) start = timeOf(startOrOptions);
    return add(new PerformanceMeasure(kMake, title, start, end - start, detailOf({ detail })));
  }
  clearMarks(name = undefined) {
    Performance.#check(this);
    clear('mark', name === undefined ? undefined : `${name}`);
  }
  clearMeasures(name = undefined) {
    Performance.#check(this);
    clear('measure', name === undefined ? undefined : `${name}`);
  }
  getEntries() {
    Performance.#check(this);
    return sorted(entries);
  }
  getEntriesByName(name, type = undefined) {
    Performance.#check(this);
    need(arguments.length, 1, 'getEntriesByName');
    return named(sorted(entries), `${name}`, type === undefined ? undefined : `${type}`);
  }
  getEntriesByType(type) {
    Performance.#check(this);
    need(arguments.length, 1, 'getEntriesByType');
    const wanted = `${type}`;
    return sorted(entries).filter((one) => one.entryType === wanted);
  }
  // Since the start; since `before`; or between two of its answers.
  eventLoopUtilization(later, before) {
    const of = (idle, active) => ({ idle, active, utilization: idle + active === 0 ? 0 : active / (idle + active) });
    if (later !== undefined && before !== undefined) return of(later.idle - before.idle, later.active - before.active);
    const { idle, active } = binding.loopTimes();
    return later === undefined ? of(idle, active) : of(idle - later.idle, active - later.active);
  }
  timerify(fn, options) { return load('perf_timerify').timerify(fn, options); }
  toJSON() {
    Performance.#check(this);
    return { timeOrigin: origin, eventLoopUtilization: this.eventLoopUtilization() };
  }
}
expose(PerformanceEntry, PerformanceMark, PerformanceMeasure, PerformanceObserver, PerformanceObserverEntryList, Performance);

module.exports = {
  Performance, PerformanceEntry, PerformanceMark, PerformanceMeasure, PerformanceObserver, PerformanceObserverEntryList,
  performance: new Performance(kMake), announceCall,
};
