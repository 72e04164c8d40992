// SPDX-License-Identifier: MIT
// node:perf_hooks, and the global performance.
'use strict';

const { Performance, PerformanceEntry, PerformanceMark, PerformanceMeasure, PerformanceObserver, PerformanceObserverEntryList, performance } =
  load('perf_timeline');

module.exports = {
  performance, Performance, PerformanceEntry, PerformanceMark, PerformanceMeasure, PerformanceObserver, PerformanceObserverEntryList,
  createHistogram: (options) => load('perf_histogram').createHistogram(options),
  monitorEventLoopDelay: (options) => load('perf_histogram').monitorEventLoopDelay(options),
};
