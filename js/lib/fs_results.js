// SPDX-License-Identifier: MIT
// What fs says about files: Stats, BigIntStats, StatFs and Dirent. C gives the numbers (fs_op.c).
'use strict';

const { S_IFMT, S_IFREG, S_IFDIR, S_IFLNK, S_IFIFO, S_IFSOCK, S_IFBLK, S_IFCHR } = load('fs').constants;

class Times {
  constructor(atimeMs, mtimeMs, ctimeMs, birthtimeMs) {
    this.atimeMs = atimeMs;
    this.mtimeMs = mtimeMs;
    this.ctimeMs = ctimeMs;
    this.birthtimeMs = birthtimeMs;
  }
}
function dates(stats) {
  for (const name of ['atime', 'mtime', 'ctime', 'birthtime']) stats[name] = new Date(Math.round(Number(stats[`${name}Ms`])));
  return stats;
}
const METHODS = { isDirectory: S_IFDIR, isFile: S_IFREG, isBlockDevice: S_IFBLK, isCharacterDevice: S_IFCHR, isSymbolicLink: S_IFLNK, isFIFO: S_IFIFO, isSocket: S_IFSOCK };

function StatsBase(dev, mode, nlink, uid, gid, rdev, blksize, ino, size, blocks) {
  Object.assign(this, { dev, mode, nlink, uid, gid, rdev, blksize, ino, size, blocks });
}
for (const name of Object.keys(METHODS)) {
  const kind = METHODS[name];
  StatsBase.prototype[name] = { [name]() { return (Number(this.mode) & S_IFMT) === kind; } }[name];
}
function Stats(dev, mode, nlink, uid, gid, rdev, blksize, ino, size, blocks, atimeMs, mtimeMs, ctimeMs, birthtimeMs) {
  Reflect.apply(StatsBase, this, [dev, mode, nlink, uid, gid, rdev, blksize, ino, size, blocks]);
  Object.assign(this, new Times(atimeMs, mtimeMs, ctimeMs, birthtimeMs));
  dates(this);
}
Object.setPrototypeOf(Stats.prototype, StatsBase.prototype);
Object.setPrototypeOf(Stats, StatsBase);
function BigIntStats(...numbers) {
  Reflect.apply(StatsBase, this, numbers);
}
Object.setPrototypeOf(BigIntStats.prototype, StatsBase.prototype);
Object.setPrototypeOf(BigIntStats, StatsBase);

// C's numbers: ten of the file, then seconds and nanoseconds of four times, then the halves of the inode's number.
function stats(v) {
  const ms = (at) => v[at] * 1000 + v[at + 1] / 1e6;
  return new Stats(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9], ms(10), ms(12), ms(14), ms(16));
}
function bigStats(v) {
  const numbers = v.slice(0, 10).map(BigInt);
  numbers[7] = BigInt(v[18]) << 32n | BigInt(v[19]);
  const found = new BigIntStats(...numbers);
  const ns = [10, 12, 14, 16].map((at) => BigInt(v[at]) * 1000000000n + BigInt(v[at + 1]));
  Object.assign(found, new Times(...ns.map((one) => one / 1000000n)));
  ['atime', 'mtime', 'ctime', 'birthtime'].forEach((name, i) => {
    found[`${name}Ns`] = ns[i];
  });
  return dates(found);
}

class StatFs {
  constructor(type, bsize, blocks, bfree, bavail, files, ffree) {
    Object.assign(this, { type, bsize, blocks, bfree, bavail, files, ffree });
  }
}
function statFs(v, options) {
  const numbers = v.slice(0, 7);
  return new StatFs(...(options?.bigint ? numbers.map(BigInt) : numbers));
}

class Dirent {
  #type;
  constructor(name, type, folder) {
    this.name = name;
    this.parentPath = folder;
    this.path = folder;
    this.#type = type;
  }
  isFile() { return this.#type === 8; }
  isDirectory() { return this.#type === 4; }
  isSymbolicLink() { return this.#type === 10; }
  isFIFO() { return this.#type === 1; }
  isSocket() { return this.#type === 12; }
  isBlockDevice() { return this.#type === 6; }
  isCharacterDevice() { return this.#type === 2; }
}

module.exports = { Stats, Dirent, stats, bigStats, statFs };
