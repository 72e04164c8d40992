// Streams over files: ranges, descriptors, handles, errors, closes, and standard input.
const fs = require('fs');
const path = require('path');
const os = require('os');
const { pipeline, finished } = require('stream/promises');
const { text } = require('stream/consumers');
const { once } = require('events');
const log = (...args) => console.log(...args);
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'streams-'));
const at = (name) => path.join(folder, name);
const short = (error) => `${error.code} ${error.syscall}`;
(async () => {
  const events = [];
  const to = fs.createWriteStream(at('a'));
  for (const type of ['open', 'ready', 'finish', 'close']) to.on(type, () => events.push(type));
  log(to.pending, to.path === at('a'), to.write('hello '));
  to.end('world');
  await once(to, 'close');
  log(events, to.bytesWritten, to.closed, to.fd, fs.readFileSync(at('a'), 'utf8'));

  log(await text(fs.createReadStream(at('a'), { start: 3, end: 6 })));
  log(await text(fs.createReadStream(at('a'), { highWaterMark: 3, encoding: 'latin1' })));
  const sizes = [];
  for await (const chunk of fs.createReadStream(at('a'), { highWaterMark: 4 })) sizes.push(chunk.length);
  log(sizes);
  const from = fs.createReadStream(at('a'));
  from.resume();
  await finished(from);
  log(from.bytesRead, from instanceof fs.ReadStream);

  await pipeline(fs.createReadStream(at('a')), fs.createWriteStream(at('b'), { flags: 'a' }));
  await pipeline(fs.createReadStream(at('a')), fs.createWriteStream(at('b'), { start: 6, flags: 'r+' }));
  log(fs.readFileSync(at('b'), 'utf8'));

  const fd = fs.openSync(at('a'), 'r');
  log(await text(fs.createReadStream('', { fd, autoClose: false, start: 0 })), fs.fstatSync(fd).size);
  fs.closeSync(fd);
  const handle = await fs.promises.open(at('a'));
  log(await text(handle.createReadStream({ start: 6 })), handle.fd);
  const second = await fs.promises.open(at('c'), 'w');
  const out = second.createWriteStream();
  out.end('handle');
  await finished(out);
  log(fs.readFileSync(at('c'), 'utf8'));

  await text(fs.createReadStream(at('none'))).catch((error) => log(short(error)));
  await text(fs.createReadStream(folder)).catch((error) => log(short(error)));
  await finished(fs.createWriteStream(at('no/where')).end('x')).catch((error) => log(short(error)));
  for (const options of [{ start: 4, end: 2 }, { start: -1 }, { start: 'x' }, 5]) {
    try {
      fs.createReadStream(at('a'), options);
      log('made');
    } catch (error) {
      log(error.code);
    }
  }
  const cut = fs.createReadStream(at('a'));
  cut.on('close', () => log('cut close', cut.destroyed));
  cut.on('data', () => cut.destroy());
  await once(cut, 'close');
  const closed = fs.createWriteStream(at('d'));
  await new Promise((resolve) => closed.close(resolve));
  log('closed', fs.existsSync(at('d')));

  const big = Buffer.alloc(3000000, 'abcdefghij');
  const slow = fs.createWriteStream(at('big'));
  for (let i = 0; i < big.length; i += 1000) slow.write(big.subarray(i, i + 1000));
  slow.end();
  await finished(slow);
  log(fs.readFileSync(at('big')).equals(big));
  fs.rmSync(folder, { recursive: true });
  log(typeof process.stdin.pipe, process.stdin.fd);
})();
