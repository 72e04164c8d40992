// SPDX-License-Identifier: MIT
// node:os
'use strict';

const { codes, validateInteger, validateObject } = load('errors');

const info = () => binding.osInfo();
const text = (value) => {
  const fn = () => value();
  fn[Symbol.toPrimitive] = fn;
  return fn;
};
// The errors of the system: name -> number.
function errors() {
  const found = { __proto__: null };
  for (let number = 1; number <= 133; number++) {
    const [name] = binding.errorName(number);
    if (/^E[A-Z0-9]+$/.test(name)) found[name] ??= number;
  }
  return found;
}

const PRIORITY = {
  PRIORITY_LOW: 19, PRIORITY_BELOW_NORMAL: 10, PRIORITY_NORMAL: 0, PRIORITY_ABOVE_NORMAL: -7, PRIORITY_HIGH: -14, PRIORITY_HIGHEST: -20,
};
function checkPid(pid) {
  validateInteger(pid, 'pid', -2147483648, 2147483647);
}
// C answers an error as -100 - errno, because -1 is a niceness.
function niceness(syscall, ...args) {
  const result = binding.priority(...args);
  if (result > -100) return result;
  const errno = result + 100;
  const [code, message] = binding.errorName(-errno);
  throw new codes.ERR_SYSTEM_ERROR({ errno, code, message, syscall });
}

// The numbers of /proc/stat are hundredths of a second.
function processorTimes() {
  const file = binding.readText('/proc/stat');
  if (typeof file !== 'string') return [];
  return [...file.matchAll(/^cpu\d+ (\d+) (\d+) (\d+) (\d+) \d+ (\d+)/gm)]
    .map((found) => found.slice(1).map((count) => count * 10));
}

module.exports = {
  get EOL() { return '\n'; },
  get devNull() { return '/dev/null'; },
  arch: text(() => process.arch),
  platform: text(() => 'linux'),
  type: text(() => 'Linux'),
  endianness: text(() => (new Uint8Array(new Uint16Array([1]).buffer)[0] === 1 ? 'LE' : 'BE')),
  hostname: text(() => info().hostname),
  release: text(() => info().release),
  version: text(() => info().version),
  machine: text(() => info().machine),
  homedir: text(() => process.env.HOME || info().home || '/'),
  tmpdir: text(() => {
    const folder = process.env.TMPDIR || process.env.TMP || process.env.TEMP || '/tmp';
    return folder.length > 1 && folder.endsWith('/') ? folder.slice(0, -1) : folder;
  }),
  uptime: text(() => info().uptime),
  totalmem: text(() => info().total),
  freemem: text(() => info().free),
  availableParallelism: text(() => info().parallelism),
  loadavg() {
    const { load1, load5, load15 } = info();
    return [load1, load5, load15];
  },
  cpus() {
    const file = binding.readText('/proc/cpuinfo');
    const column = (name) => (typeof file === 'string' ? [...file.matchAll(new RegExp(`^${name}\\s*:\\s*(.*)$`, 'gm'))].map((match) => match[1]) : []);
    const models = column('model name');
    const speeds = column('cpu MHz');
    const all = processorTimes();
    return Array.from({ length: info().cpus }, (_, i) => {
      const [user = 0, nice = 0, sys = 0, idle = 0, irq = 0] = all[i] ?? [];
      return { model: models[i] ?? 'unknown', speed: Math.trunc(speeds[i] ?? 0), times: { user, nice, sys, idle, irq } };
    });
  },
  getPriority(pid = 0) {
    checkPid(pid);
    return niceness('uv_os_getpriority', pid);
  },
  setPriority(pid, priority) {
    if (priority === undefined) {
      priority = pid;
      pid = 0;
    }
    checkPid(pid);
    validateInteger(priority, 'priority', PRIORITY.PRIORITY_HIGHEST, PRIORITY.PRIORITY_LOW);
    niceness('uv_os_setpriority', pid, priority);
  },
  userInfo(options = {}) {
    validateObject(options ?? {}, 'options');
    const encoding = options?.encoding;
    const { user, home, shell } = info();
    const form = encoding === 'buffer' ? (text) => Buffer.from(text) : encoding && encoding !== 'utf8' ? (text) => Buffer.from(text).toString(encoding) : (text) => text;
    return { uid: process.getuid(), gid: process.getgid(), username: form(user), homedir: form(home), shell: form(shell) };
  },
  networkInterfaces() {
    const found = binding.interfaces();
    if (typeof found === 'number') throw load('net_link').errnoError(found, 'uv_interface_addresses');
    const faces = {};
    for (const [name, address, netmask, family, mac, internal, prefix, scopeid] of found) {
      const one = { address, netmask, family, mac, internal, cidr: `${address}/${prefix}` };
      if (scopeid >= 0) one.scopeid = scopeid;
      (faces[name] ??= []).push(one);
    }
    return faces;
  },
};
Object.defineProperty(module.exports, 'constants', {
  enumerable: true,
  value: Object.freeze({
    __proto__: null,
    UV_UDP_REUSEADDR: 4,
    dlopen: { __proto__: null, RTLD_LAZY: 1, RTLD_NOW: 2, RTLD_GLOBAL: 256, RTLD_LOCAL: 0, RTLD_DEEPBIND: 8 },
    errno: errors(),
    signals: Object.freeze({ __proto__: null, ...binding.signals }),
    priority: { __proto__: null, ...PRIORITY },
  }),
});
