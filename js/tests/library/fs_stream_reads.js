// Chunks of a read stream have memory of their own; a program's own fs.read is used; whole files of all kinds of sizes.
'use strict';
const fs = require('fs');
const os = require('os');
const path = require('path');

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'stream-reads-'));
const file = path.join(folder, 'file');
const bytes = Buffer.alloc(200000).map((_, i) => i % 251);
fs.writeFileSync(file, bytes);

async function chunksOf(options) {
  const stream = fs.createReadStream(file, options);
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return { chunks, read: stream.bytesRead };
}
async function main() {
  for (const options of [{}, { highWaterMark: 1000 }, { start: 10, end: 70000 }, { start: 199999 }, { start: 200000 }, { start: 5, end: 5 }]) {
    const { chunks, read } = await chunksOf(options);
    const { start = 0, end = Infinity } = options;
    console.log(JSON.stringify(options), chunks.length, read, chunks.every(Buffer.isBuffer),
      Buffer.concat(chunks).equals(bytes.subarray(start, end + 1)));
  }
  const { chunks } = await chunksOf({ highWaterMark: 4096 });
  chunks[0].fill(255);
  console.log(chunks[1].equals(bytes.subarray(4096, 8192)), chunks[0].buffer !== chunks[1].buffer);

  const { read } = fs;
  let calls = 0;
  fs.read = function (...args) {
    calls++;
    return Reflect.apply(read, this, args);
  };
  console.log((await chunksOf({ highWaterMark: 65536 })).read, calls);
  fs.read = read;

  await new Promise((resolve) => fs.createReadStream(folder).resume().on('error', (error) => {
    console.log(error.code, error.syscall, error.message);
    resolve();
  }));

  for (const size of [0, 1, 8191, 8192, 8193]) {
    const one = path.join(folder, `${size}`);
    fs.writeFileSync(one, bytes.subarray(0, size));
    const whole = await fs.promises.readFile(one);
    const text = await fs.promises.readFile(one, 'latin1');
    console.log(size, whole.equals(bytes.subarray(0, size)), text.length, fs.readFileSync(one).length);
  }
  console.log((await fs.promises.readFile('/proc/self/status', 'utf8')).startsWith('Name:'), fs.readFileSync('/proc/self/stat').length > 10);
  const fd = fs.openSync(file, 'r');
  fs.readSync(fd, Buffer.alloc(1000), 0, 1000, null);
  await new Promise((resolve) => fs.readFile(fd, (error, rest) => {
    console.log(error, rest.length, rest[0] === bytes[1000]);
    resolve();
  }));
  fs.closeSync(fd);
  fs.rmSync(folder, { recursive: true });
  const failed = fs.promises.readFile(`${file}\0`);
  console.log(await failed.catch((error) => error.code), await fs.promises.readFile({}).catch((error) => error.code));
}
main();
