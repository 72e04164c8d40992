// SPDX-License-Identifier: MIT
// node:cluster in a program that has no workers of it. It cannot have any: they would share sockets, which messages here do not carry.
'use strict';

const EventEmitter = load('events');
const { codes } = load('errors');

const cluster = new EventEmitter();
Object.assign(cluster, {
  isWorker: false, isMaster: true, isPrimary: true, workers: {}, settings: {}, SCHED_NONE: 1, SCHED_RR: 2, schedulingPolicy: 2,
  fork() { throw new codes.ERR_FEATURE_UNAVAILABLE_ON_PLATFORM('cluster.fork: a program here shares no sockets with children; worker_threads and child_process.fork are there, and cluster'); },
  setupPrimary(settings) { Object.assign(cluster.settings, settings); },
  disconnect(callback) { if (callback !== undefined) process.nextTick(callback); },
});
cluster.setupMaster = cluster.setupPrimary;

module.exports = cluster;
