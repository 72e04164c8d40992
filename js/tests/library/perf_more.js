// Histograms, observers, loop delay and wrapped functions of node:perf_hooks; punycode, sys and the constants of http2.
const { performance, createHistogram, monitorEventLoopDelay, PerformanceObserver } = require('node:perf_hooks');

const histogram = createHistogram();
console.log(histogram.count, histogram.min, histogram.max, histogram.mean, histogram.percentile(50), [...histogram.percentiles]);
for (let i = 1; i <= 1000; i++) histogram.record(i);
console.log(histogram.count, histogram.min, histogram.max, histogram.mean, histogram.exceeds, histogram.stddev.toFixed(3));
console.log([1, 10, 50, 90, 99, 99.9, 100].map((one) => histogram.percentile(one)), histogram.percentileBigInt(50), histogram.maxBigInt);
histogram.record(123456789);
histogram.record(5000000n);
console.log(histogram.max, histogram.percentile(99.95), histogram.countBigInt);
const other = createHistogram({ lowest: 1, highest: 1000, figures: 2 });
other.record(5);
other.record(2000);
other.record(777);
console.log(other.count, other.exceeds, other.max, other.min);
histogram.add(other);
console.log(histogram.count);
histogram.reset();
console.log(histogram.count, histogram.recordDelta(), histogram.count, histogram.recordDelta(), histogram.count);
for (const make of [() => histogram.record(0), () => histogram.record('1'), () => histogram.percentile(0), () => createHistogram({ figures: 6 }), () => createHistogram(1),
                    () => new PerformanceObserver(), () => new PerformanceObserver(() => {}).observe({}), () => performance.timerify(1), () => monitorEventLoopDelay({ resolution: 0 })]) {
  try {
    make();
    console.log('no error');
  } catch (error) {
    console.log(error.name, error.code);
  }
}

const delay = monitorEventLoopDelay({ resolution: 1 });
console.log(delay.enable(), delay.enable());
const seen = [];
const observer = new PerformanceObserver((list, self) => {
  console.log(self === observer, list.getEntries().map((entry) => `${entry.entryType} ${entry.name}`), list.getEntriesByName('a').length, list.getEntriesByType('measure').length);
  seen.push(...list.getEntries());
  if (seen.length < 4) return;
  observer.disconnect();
  performance.mark('not heard');
  const look = setInterval(() => {
    if (delay.count === 0) return;
    clearInterval(look);
    console.log(delay.disable(), delay.disable(), delay.min > 0, delay.max >= delay.min);
  }, 1);
});
observer.observe({ entryTypes: ['mark', 'measure', 'function', 'unknown'] });
performance.mark('a');
performance.mark('b');
performance.measure('c', 'a', 'b');
const wrapped = performance.timerify(function sum(x, y) { return x + y; }, { histogram });
console.log(wrapped(1, 2), wrapped.name, wrapped.length, histogram.count);
const buffered = new PerformanceObserver((list) => {
  console.log('buffered', list.getEntries().length);
  buffered.disconnect();
});
buffered.observe({ type: 'mark', buffered: true });
const before = performance.eventLoopUtilization();
const since = performance.eventLoopUtilization(before);
console.log(since.active >= 0, since.idle >= 0, performance.eventLoopUtilization(before, before));

console.log(require('node:sys') === require('node:util'));
const punycode = require('punycode');
console.log(punycode.toASCII('ma\u00f1ana.com'), punycode.toUnicode('xn--maana-pta.com'), punycode.encode('b\u00fccher'), punycode.ucs2.decode('\ud83d\ude00'));
const http2 = require('node:http2');
console.log(Object.keys(http2.constants).sort().map((name) => `${name}=${http2.constants[name]}`).join('\n'));
console.log(http2.getDefaultSettings(), http2.getPackedSettings({ enablePush: false, maxFrameSize: 20000 }),
            http2.getUnpackedSettings(http2.getPackedSettings({ headerTableSize: 1, enableConnectProtocol: true, maxHeaderListSize: 7 })));
console.log(Object.keys(http2).sort().join(), {} instanceof http2.Http2ServerRequest);
const util = require('node:util');
const old = util.deprecate((x) => x + 1, 'old', 'DEP_OWN');
const older = util.deprecate((x) => x + 2, 'old', 'DEP_OWN');
let warnings = 0;
process.on('warning', (warning) => { if (warning.code === 'DEP_OWN') warnings++; });
console.log(old(1), old(2), older(1), util._extend({ a: 1 }, { b: 2 }), util.isBuffer(Buffer.alloc(1)));
setImmediate(() => console.log('warnings', warnings));
const faces = require('node:os').networkInterfaces();
const local = Object.values(faces).flat().find((one) => one.address === '127.0.0.1');
console.log(local === undefined || (local.family === 'IPv4' && local.internal && local.cidr === '127.0.0.1/8' && local.mac === '00:00:00:00:00:00'));
