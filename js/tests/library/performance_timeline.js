// SPDX-License-Identifier: MIT
// User Timing and Performance Timeline: marks, measures and observers.
// Node 26 wrote the output: Node 20 has not all of it.
const tried = (run) => {
  try {
    return run();
  } catch (error) {
    return error.name;
  }
};
const show = (entry) => `${entry.constructor.name} ${entry.entryType} ${entry.name} ${entry.startTime} ${entry.duration} ${JSON.stringify(entry.detail)}`;

const detail = { a: [1] };
const mark = performance.mark('one', { startTime: 10, detail });
console.log(show(mark), mark.detail !== detail, mark instanceof PerformanceEntry);
console.log(show(performance.mark('two', { startTime: 30 })), show(new PerformanceMark('three', { startTime: 5 })));
console.log(performance.getEntriesByType('mark').map((one) => one.name).join(), performance.getEntriesByName('three').length);
console.log(show(performance.measure('m1', 'one', 'two')));
console.log(show(performance.measure('m2', { start: 'one', end: 25, detail: 'd' })));
console.log(show(performance.measure('m3', { start: 1, duration: 4 })), show(performance.measure('m4', { end: 'two', duration: 4 })));
console.log(performance.measure('m5').startTime, performance.measure('m6', undefined, 'two').duration, performance.measure('m7', null, 'two').duration);
console.log(performance.getEntries().map((one) => one.startTime).every((time, i, all) => i === 0 || all[i - 1] <= time));

for (const wrong of [
  () => performance.mark(), () => performance.mark('x', { startTime: -1 }), () => performance.measure('x', 'none'),
  () => performance.measure('x', { start: 'one' }, 'two'),
  () => performance.measure('x', { start: 1, end: 2, duration: 1 }), () => performance.measure('x', { start: -1 }), () => new PerformanceEntry(),
  () => new PerformanceMeasure(), () => new Performance(), () => performance.mark('x', { detail: () => {} }), () => new PerformanceObserver(),
  () => performance.now.call({}),
]) console.log(`${wrong}`.slice(6), tried(wrong));

performance.clearMarks('one');
console.log(performance.getEntriesByName('one').length, performance.getEntriesByName('two', 'mark').length, performance.getEntriesByName('two', 'measure').length);
performance.clearMarks();
performance.clearMeasures();
console.log(performance.getEntries().length);

console.log(Object.isFrozen(PerformanceObserver.supportedEntryTypes), PerformanceObserver.supportedEntryTypes.includes('measure'));
const seen = [];
const many = new PerformanceObserver((list, observer) => {
  seen.push(`many ${list.constructor.name} ${observer === many} ${list.getEntries().map((one) => one.name).join()} ${list.getEntriesByType('mark').length} ${list.getEntriesByName('late').length}`);
  many.disconnect();
  setImmediate(() => {
    single.disconnect();
    performance.mark('unseen');
    setImmediate(() => setImmediate(finish));
  });
});
const single = new PerformanceObserver((list) => seen.push(`single ${list.getEntries().map((one) => one.name).join()}`));
performance.mark('early', { startTime: 1 });
many.observe({ entryTypes: ['mark', 'measure', 'nothing'] });
single.observe({ type: 'mark', buffered: true });
console.log(tried(() => many.observe({ type: 'mark' })), tried(() => single.observe({ entryTypes: ['mark'] })), tried(() => many.observe({})),
            tried(() => many.observe({ entryTypes: ['mark'], type: 'mark' })));
performance.measure('late', { start: 3, end: 4 });
performance.mark('middle', { startTime: 2 });
const taker = new PerformanceObserver(() => seen.push('taken, and told all the same'));
taker.observe({ entryTypes: ['mark'] });
performance.mark('taken', { startTime: 6 });
console.log(taker.takeRecords().map((one) => one.name).join(), taker.takeRecords().length);
taker.disconnect();
function finish() {
  for (const line of seen.sort()) console.log(line);
  console.log(Object.prototype.toString.call(performance), JSON.stringify(mark));
}
