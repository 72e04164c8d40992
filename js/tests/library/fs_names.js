// SPDX-License-Identifier: MIT
// stat with bigint and birthtime, names that are not UTF-8, encodings of names, promisify of read and write.
'use strict';
const fs = require('fs');
const os = require('os');
const path = require('path');
const { promisify } = require('util');
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'names-'));
const odd = Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0x66, 0xff, 0xfe])]);
fs.writeFileSync(odd, 'odd');
fs.writeFileSync(path.join(folder, 'grün'), 'plain');
console.log(fs.readFileSync(odd, 'utf8'), fs.statSync(odd).size, fs.existsSync(odd));
console.log(fs.readdirSync(folder).length, fs.readdirSync(folder, 'buffer').map((name) => name.toString('hex')).sort());
console.log(fs.readdirSync(folder, 'hex').sort(), fs.readdirSync(folder, { encoding: 'latin1' }).sort());
console.log(fs.readdirSync(folder, { encoding: 'buffer', withFileTypes: true }).map((entry) => [Buffer.isBuffer(entry.name), entry.isFile()]));
fs.symlinkSync('grün', path.join(folder, 'link'));
console.log(fs.readlinkSync(path.join(folder, 'link'), 'buffer').toString('hex'), fs.readlinkSync(path.join(folder, 'link'), 'latin1'));
console.log(fs.realpathSync(path.join(folder, 'link'), 'buffer').toString('hex').slice(-10), fs.realpathSync(path.join(folder, 'link'), 'hex').slice(-10));
fs.renameSync(odd, path.join(folder, 'even'));
const stats = fs.statSync(path.join(folder, 'even'), { bigint: true });
const plain = fs.statSync(path.join(folder, 'even'));
console.log(stats.constructor.name, Object.entries(stats).map(([key, value]) => `${key}:${typeof value}`).sort().join(' '));
console.log(stats.size, stats.isFile(), stats.isDirectory(), stats.mtimeNs / 1000000n === stats.mtimeMs, Number(stats.ino) === plain.ino);
console.log(stats.birthtimeMs <= stats.ctimeMs, Math.abs(Date.now() - plain.birthtimeMs) < 60000, plain.birthtime instanceof Date);
(async () => {
  const fd = fs.openSync(path.join(folder, 'even'), 'r+');
  const { bytesRead, buffer } = await promisify(fs.read)(fd, Buffer.alloc(8), 0, 8, 0);
  const { bytesWritten } = await promisify(fs.write)(fd, Buffer.from('new!'), 0, 4, 0);
  fs.closeSync(fd);
  console.log(bytesRead, buffer.toString('latin1', 0, 3), bytesWritten, fs.readFileSync(path.join(folder, 'even'), 'utf8'));
  console.log((await fs.promises.stat(folder, { bigint: true })).isDirectory(), (await fs.promises.readdir(folder, 'buffer')).length);
  try {
    fs.statSync(Buffer.from([0x2f, 0xff, 0xfe]));
  } catch (error) {
    console.log(error.code, error.syscall);
  }
  fs.rmSync(folder, { recursive: true });
})();
