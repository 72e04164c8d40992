// SPDX-License-Identifier: MIT
// fs.watch and fs.promises.watch by inotify, fs.watchFile by looking again and again.
//
// All watchers of a program share one inotify descriptor, which is a link like a socket. The kernel knows a file by its number (wd) and gives
// the same one to everybody who asks for the same file, so each has a list of watchers.
'use strict';

const EventEmitter = load('events');
const path = load('path');
const { Buffer } = load('buffer');
const { adopt } = load('net_link');
const { make: systemError } = load('fserrors');
const { codes, AbortError, validateAbortSignal, validateFunction, validateInteger } = load('errors');
const { setTimeout, clearTimeout } = load('sched');
const native = binding.inotify();

// The kernel's numbers.
const MODIFY = 2;
const ATTRIB = 4;
const MOVED_TO = 0x80;
const CREATE = 0x100;
const ALL = MODIFY | ATTRIB | 0x40 /* moved from */ | MOVED_TO | CREATE | 0x200 /* deleted */ | 0x400 /* itself */ | 0x800 /* itself moved */;
const OVERFLOW = 0x4000;
const ISDIR = 0x40000000;

let descriptor = -1;
let link;
const places = new Map(); // wd -> a list of { watcher, prefix }
let holding = 0; // watchers that keep the program alive

function open() {
  if (descriptor >= 0) return 0;
  const made = native.open();
  if (made < 0) return made;
  link = adopt(made);
  if (typeof link === 'number') return link;
  descriptor = made;
  link.onData = receive;
  link.unref();
  link.readStart();
  return 0;
}
function hold(change) {
  holding += change;
  link.setRef(holding > 0);
}
function receive(bytes) {
  for (let at = 0; at + 16 <= bytes.length;) {
    const wd = bytes.readInt32LE(at);
    const mask = bytes.readUInt32LE(at + 4);
    const length = bytes.readUInt32LE(at + 12);
    let end = at + 16;
    while (end < at + 16 + length && bytes[end] !== 0) end++;
    const name = bytes.subarray(at + 16, end);
    at += 16 + length;
    if (mask & OVERFLOW) continue;
    const list = places.get(wd);
    if (list === undefined) continue;
    for (const one of list.slice()) one.watcher[kEvent](mask, name, one);
  }
}
function add(file, place) {
  const wd = native.add(descriptor, file, ALL);
  if (wd < 0) return wd;
  const list = places.get(wd);
  if (list === undefined) places.set(wd, [place]);
  else list.push(place);
  return wd;
}
function remove(wd, watcher) {
  const list = places.get(wd)?.filter((one) => one.watcher !== watcher);
  if (list === undefined) return;
  if (list.length > 0) {
    places.set(wd, list);
    return;
  }
  places.delete(wd);
  native.remove(descriptor, wd);
}

const kEvent = Symbol('event');

class FSWatcher extends EventEmitter {
  #file;
  #numbers = new Set();
  #held = false;
  #closed = false;
  #encoding;
  #recursive;
  #last;
  constructor(file, { persistent, recursive, encoding }) {
    super();
    this.#file = file;
    this.#encoding = encoding;
    this.#recursive = recursive;
    let status = open();
    if (status >= 0) status = this.#add(file, '');
    if (status < 0) throw Object.assign(systemError(status, 'watch', file), { filename: file });
    this.#last = Buffer.from(path.basename(file));
    if (persistent) this.ref();
  }
  // A folder, and those in it if they are wanted too; `tell`: what is found there is new.
  #add(file, prefix, tell = false) {
    const wd = add(file, { watcher: this, prefix });
    if (wd < 0) return wd;
    this.#numbers.add(wd);
    if (!this.#recursive) return 0;
    const fs = load('fs');
    let entries;
    try {
      entries = fs.readdirSync(file, { withFileTypes: true });
    } catch {
      return 0; // it is a file, or has gone again
    }
    for (const entry of entries) {
      const name = path.join(prefix, entry.name);
      if (tell) process.nextTick(() => this.#tell('rename', Buffer.from(name)));
      if (entry.isDirectory()) this.#add(path.join(file, entry.name), name, tell);
    }
    return 0;
  }
  [kEvent](mask, name, { prefix }) {
    let full = name;
    if (name.length === 0) full = prefix === '' ? this.#last : Buffer.from(prefix);
    else if (prefix !== '') full = Buffer.concat([Buffer.from(`${prefix}/`), name]);
    // The folder itself, seen from within: the one above it tells.
    if (name.length === 0 && prefix !== '') return;
    if (this.#recursive && mask & ISDIR && mask & (CREATE | MOVED_TO)) {
      const inner = full.toString();
      this.#add(path.join(this.#file, inner), inner, true);
    }
    this.#tell((mask & ~(MODIFY | ATTRIB)) !== 0 ? 'rename' : 'change', full);
  }
  #tell(kind, name) {
    if (this.#closed) return;
    this.emit('change', kind, this.#encoding === 'buffer' ? Buffer.from(name) : name.toString(this.#encoding));
  }
  close() {
    if (this.#closed) return;
    this.unref();
    this.#closed = true;
    for (const wd of this.#numbers) remove(wd, this);
    process.nextTick(() => this.emit('close'));
  }
  ref() {
    if (!this.#held && !this.#closed) hold(1);
    this.#held = !this.#closed;
    return this;
  }
  unref() {
    if (this.#held) hold(-1);
    this.#held = false;
    return this;
  }
}

function optionsOf(options) {
  if (typeof options === 'string') options = { encoding: options };
  options = { persistent: true, recursive: false, encoding: 'utf8', ...options };
  if (options.recursive && typeof options.recursive !== 'boolean') throw new codes.ERR_INVALID_ARG_TYPE('options.recursive', 'boolean', options.recursive);
  if (options.encoding !== 'buffer' && !Buffer.isEncoding(options.encoding)) {
    throw new codes.ERR_INVALID_ARG_VALUE('encoding', options.encoding, 'is invalid encoding');
  }
  if (options.signal !== undefined) validateAbortSignal(options.signal, 'options.signal');
  return options;
}

// ---- looking again and again --------------------------------------------------------------------------------------

const statWatchers = new Map(); // file -> StatWatcher

class StatWatcher extends EventEmitter {
  #file;
  #options;
  #timer;
  #held = true;
  #previous;
  #stopped = false;
  constructor(file, options) {
    super();
    this.#file = file;
    this.#options = options;
    this.#held = options.persistent;
    this.#look();
  }
  #look() {
    const fs = load('fs');
    fs.stat(this.#file, { bigint: this.#options.bigint }, (error, found) => {
      if (this.#stopped) return;
      const now = error ? this.#nothing(fs) : found;
      const before = this.#previous;
      this.#previous = now;
      // The first look only tells what is not there.
      if (before === undefined ? error : differ(now, before)) this.emit('change', now, before ?? now);
      if (this.#stopped) return;
      this.#timer = setTimeout(() => this.#look(), this.#options.interval);
      if (!this.#held) this.#timer.unref();
    });
  }
  #nothing(fs) {
    const { bigint } = this.#options;
    return fs[Symbol.for('vigil.host')].statsOf(new Array(20).fill(0), { bigint });
  }
  stop() {
    if (this.#stopped) return;
    this.#stopped = true;
    clearTimeout(this.#timer);
    process.nextTick(() => this.emit('stop'));
  }
  ref() {
    this.#held = true;
    this.#timer?.ref();
    return this;
  }
  unref() {
    this.#held = false;
    this.#timer?.unref();
    return this;
  }
}
function differ(a, b) {
  return ['dev', 'ino', 'mode', 'nlink', 'uid', 'gid', 'size', 'mtimeMs', 'ctimeMs', 'birthtimeMs'].some((name) => a[name] !== b[name]);
}

// ---- what node:fs has ---------------------------------------------------------------------------------------------

const pathOf = (file) => `${load('fs')[Symbol.for('vigil.host')].toPath(file)}`;
function watch(file, options, listener) {
  if (typeof options === 'function') [listener, options] = [options, undefined];
  const wanted = optionsOf(options);
  const watcher = new FSWatcher(pathOf(file), wanted);
  if (listener !== undefined) {
    validateFunction(listener, 'listener');
    watcher.on('change', listener);
  }
  if (wanted.signal !== undefined) {
    const abort = () => watcher.close();
    if (wanted.signal.aborted) process.nextTick(abort);
    wanted.signal.addEventListener('abort', abort, { once: true });
    watcher.once('close', () => wanted.signal.removeEventListener('abort', abort));
  }
  return watcher;
}
function watchFile(file, options, listener) {
  if (typeof options === 'function') [listener, options] = [options, undefined];
  const name = path.resolve(pathOf(file));
  validateFunction(listener, 'listener');
  const { interval = 5007, persistent = true, bigint = false } = options ?? {};
  if (typeof interval !== 'number') validateInteger(interval, 'interval');
  let watcher = statWatchers.get(name);
  if (watcher === undefined) {
    watcher = new StatWatcher(name, { interval, persistent, bigint });
    statWatchers.set(name, watcher);
  }
  watcher.addListener('change', listener);
  return watcher;
}
function unwatchFile(file, listener) {
  const name = path.resolve(pathOf(file));
  const watcher = statWatchers.get(name);
  if (watcher === undefined) return;
  if (typeof listener === 'function') watcher.removeListener('change', listener);
  else watcher.removeAllListeners('change');
  if (watcher.listenerCount('change') > 0) return;
  watcher.stop();
  statWatchers.delete(name);
}

// fs.promises.watch
async function* iterate(file, options) {
  const wanted = optionsOf(options);
  const { signal } = wanted;
  const aborted = () => new AbortError(undefined, { cause: signal.reason });
  if (signal?.aborted) throw aborted();
  const watcher = new FSWatcher(pathOf(file), wanted);
  const events = [];
  let wake = () => {};
  watcher.on('change', (eventType, filename) => {
    events.push({ eventType, filename });
    wake();
  });
  const abort = () => wake();
  signal?.addEventListener('abort', abort, { once: true });
  try {
    for (;;) {
      if (signal?.aborted) throw aborted();
      if (events.length > 0) yield events.shift();
      else await new Promise((resolve) => { wake = resolve; });
    }
  } finally {
    signal?.removeEventListener('abort', abort);
    watcher.close();
  }
}

module.exports = { watch, watchFile, unwatchFile, iterate };
