'use strict';
// Many buffers in one call, file systems, links themselves, files that are flushed, and what a FileHandle can do with them.
const fs = require('fs');
const os = require('os');
const path = require('path');
const util = require('util');

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'vigil-vectors-'));
const at = (name) => path.join(folder, name);
const say = (...words) => console.log(...words);
function refused(what, call) {
  try {
    call();
    say(what, 'nothing was thrown');
  } catch (error) {
    say(what, error.name, error.code, error.message);
  }
}

const fd = fs.openSync(at('a'), 'w+');
say(fs.writevSync(fd, [Buffer.from('one '), new Uint8Array([116, 119, 111]), Buffer.alloc(0)]), fs.readFileSync(at('a'), 'utf8'));
const pieces = [Buffer.alloc(2), Buffer.alloc(4), Buffer.alloc(10)];
say(fs.readvSync(fd, pieces, 0), pieces.map(String).map((text) => text.replaceAll('\0', '.')));
say(fs.writevSync(fd, [Buffer.from('X')], 3), fs.readFileSync(at('a'), 'utf8'));
for (const wrong of [undefined, 'text', [1], {}]) refused('buffers', () => fs.readvSync(fd, wrong));
refused('fd', () => fs.writev('x', [], () => {}));
refused('cb', () => fs.writev(fd, [Buffer.from('x')]));
for (const wrong of [null, '', 1.5, -1]) refused('close', () => fs.close(wrong));
refused('uid', () => fs.fchown(fd, 'me', 0, () => {}));
refused('gid', () => fs.lchownSync(at('a'), 0, -2));
refused('mode', () => fs.fchmodSync(fd, undefined));
refused('time', () => fs.utimesSync(at('a'), {}, 1));
refused('type', () => fs.symlinkSync('a', at('l'), 'hard'));
refused('recursive', () => fs.mkdirSync(at('f'), { recursive: 'yes' }));
refused('flush', () => fs.writeFileSync(at('b'), 'x', { flush: 1 }));
refused('empty', () => fs.readSync(fd, Buffer.alloc(0), 0, 1, 0));
refused('position', () => fs.readSync(fd, Buffer.alloc(1), 0, 1, 'x'));
refused('encoding', () => fs.createReadStream(at('a'), 'nothing'));
say('end', fs.readSync(fd, Buffer.alloc(1), 0, 1, 1000n));
fs.ftruncateSync(fd, 3);
say(fs.fstatSync(fd).size);
fs.closeSync(fd);

fs.symlinkSync('nowhere', at('link'), 'file');
fs.lutimesSync(at('link'), 100, 200);
say(fs.lstatSync(at('link')).mtimeMs, fs.lstatSync(at('link'), { bigint: true }).atimeNs);
fs.lchownSync(at('link'), process.getuid(), process.getgid());
say(Object.keys(fs.statfsSync(folder)).join(), typeof fs.statfsSync(folder, { bigint: true }).bsize);
say(new fs.Stats(1, 0o100644, 1, 0, 0, 0, 4096, 7, 3, 8, 1, 2, 3, 4).isFile());

fs.writeFileSync(at('b'), 'flushed', { flush: true });
fs.appendFileSync(at('b'), '!', { flush: true });
say(fs.readFileSync(at('b'), 'utf8'));

(async () => {
  const read = await util.promisify(fs.readv)(fs.openSync(at('b'), 'r'), [Buffer.alloc(3), Buffer.alloc(2)], 1);
  say(read.bytesRead, read.buffers.map(String));
  const file = await fs.promises.open(at('c'), 'w+');
  say(await file.writev([Buffer.from('first\n'), Buffer.from('second\n')]));
  await file.write('third', 13, 99); // what is no encoding counts as none
  say((await file.readv([Buffer.alloc(5)], 0)).buffers.map(String));
  await file.chown(process.getuid(), process.getgid());
  await file.close();
  for (const call of ['stat', 'sync', 'read', 'truncate']) await file[call]().catch((error) => say(call, error.code, error.syscall));
  const lines = [];
  for await (const line of (await fs.promises.open(at('c'))).readLines()) lines.push(line);
  say(lines);
  async function* parts() {
    yield 'a part, ';
    yield Buffer.from('and another');
  }
  await fs.promises.writeFile(at('d'), parts());
  say(await fs.promises.readFile(at('d'), 'utf8'));
  let text = '';
  for await (const chunk of (await fs.promises.open(at('d'))).readableWebStream()) text += Buffer.from(chunk);
  say(text);
  await fs.promises.copyFile(at('d'), at('e'), 'x').catch((error) => say(error.code));
  fs.exists('a\0b', (found) => say('exists', found));
  fs.rmSync(folder, { recursive: true });
})();
