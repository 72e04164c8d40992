// SPDX-License-Identifier: MIT
// node:os
'use strict';

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

module.exports = {
  EOL: '\n', devNull: '/dev/null',
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
    const models = typeof file === 'string' ? [...file.matchAll(/^model name\s*:\s*(.*)$/gm)].map((match) => match[1]) : [];
    return Array.from({ length: info().cpus }, (_, i) => ({
      model: models[i] ?? 'unknown', speed: 0, times: { user: 0, nice: 0, sys: 0, idle: 0, irq: 0 },
    }));
  },
  userInfo() {
    const { user, home, shell } = info();
    return { uid: process.getuid(), gid: process.getgid(), username: user, homedir: home, shell };
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
  constants: { errno: errors(), signals: { ...binding.signals } },
};
