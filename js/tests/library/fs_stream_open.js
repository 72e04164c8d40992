'use strict';
// Streams of files with an open() of the program, with other calls than those of fs, and with options that are inherited.
const fs = require('fs');
const os = require('os');
const path = require('path');

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'vigil-open-'));
const file = path.join(folder, 'x');
fs.writeFileSync(file, 'abcdef');

function OwnStream(...args) {
  Reflect.apply(fs.ReadStream, this, args);
}
Object.setPrototypeOf(OwnStream.prototype, fs.ReadStream.prototype);
OwnStream.prototype.open = function () {
  fs.open(this.path, this.flags, this.mode, (error, fd) => {
    if (error) {
      this.emit('error', error);
      return;
    }
    this.fd = fd;
    this.emit('open', fd);
    this.emit('ready');
  });
};
const text = (stream) => new Promise((resolve) => {
  let all = '';
  stream.setEncoding('utf8').on('data', (part) => { all += part; }).on('error', (error) => resolve(error.code)).on('end', () => resolve(all));
});
(async () => {
  console.log(await text(new OwnStream(file)), await text(new OwnStream(path.join(folder, 'none'))));
  console.log(await text(fs.createReadStream(file, Object.create({ start: 1, end: 3 }))));
  const seen = [];
  const own = {};
  for (const name of ['open', 'write', 'writev', 'close']) {
    own[name] = (...args) => {
      seen.push(name);
      fs[name](...args);
    };
  }
  const out = fs.createWriteStream(path.join(folder, 'y'), { fs: own });
  out.write('one ');
  out.write('two ');
  out.end('three');
  await new Promise((resolve) => out.on('close', resolve));
  console.log(new Set(seen), fs.readFileSync(path.join(folder, 'y'), 'utf8'), out.bytesWritten, out.pending);
  for (const wrong of [{ fs: { open: null } }, { flush: 'yes' }, { signal: 1 }]) {
    try {
      fs.createWriteStream(file, wrong);
    } catch (error) {
      console.log(error.code, error.message);
    }
  }
  const handle = await fs.promises.open(file);
  const lent = handle.createReadStream({ start: 2 });
  handle.on('close', () => console.log('the handle is closed'));
  console.log(await text(lent));
  await new Promise((resolve) => lent.on('close', resolve));
  fs.rmSync(folder, { recursive: true });
})();
