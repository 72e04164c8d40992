// Watching files. What the kernel tells apart may come in more events than are waited for here.
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'watch-'));
const file = (name) => path.join(folder, name);
const seen = [];
let look = () => {};
const until = (text) => new Promise((resolve) => {
  look = () => {
    if (!seen.includes(text)) return;
    look = () => {};
    console.log(text);
    resolve();
  };
  look();
});
const hear = (kind, name) => {
  seen.push(`${kind} ${name}`);
  look();
};
const error = (make) => {
  try {
    make();
  } catch (failure) {
    console.log(failure.name, failure.code, failure.syscall ?? '', `${failure.message}`.replace(folder, ''));
  }
};
(async () => {
  const watcher = fs.watch(folder, hear);
  fs.writeFileSync(file('new'), 'x');
  await until('rename new');
  await until('change new');
  seen.length = 0;
  fs.renameSync(file('new'), file('other'));
  await until('rename other');
  fs.unlinkSync(file('other'));
  watcher.once('close', () => console.log('closed'));
  watcher.close();
  watcher.close();
  await new Promise((resolve) => setImmediate(resolve));

  seen.length = 0;
  fs.writeFileSync(file('one'), '1');
  const single = fs.watch(file('one'), { encoding: 'buffer' }, (kind, name) => hear(kind, `${Buffer.isBuffer(name)} ${name}`));
  fs.appendFileSync(file('one'), '2');
  await until('change true one');
  single.close();

  // Two watchers of one folder; one goes, the other stays.
  const first = fs.watch(folder, () => console.log('closed already'));
  const second = fs.watch(folder, hear);
  first.close();
  fs.writeFileSync(file('two'), '');
  await until('rename two');
  second.close();

  error(() => fs.watch(file('none')));
  error(() => fs.watch(folder, 'no encoding'));

  const stop = new AbortController();
  const aborted = fs.watch(folder, { signal: stop.signal });
  const over = new Promise((resolve) => aborted.on('close', resolve));
  stop.abort();
  await over;

  // As an iterator.
  const leave = new AbortController();
  const events = fs.promises.watch(folder, { signal: leave.signal });
  const wanted = events.next();
  fs.writeFileSync(file('three'), '');
  console.log((await wanted).value);
  leave.abort();
  await events.next().catch((failure) => console.log(failure.name, failure.code)).then(() => events.return());

  // By looking again and again.
  fs.writeFileSync(file('polled'), '1');
  await new Promise((resolve) => {
    let size = 1;
    const more = setInterval(() => fs.appendFileSync(file('polled'), 'x'), 5);
    fs.watchFile(file('polled'), { interval: 5 }, (now, before) => {
      console.log(now.size > before.size, now.isFile());
      size = now.size;
      clearInterval(more);
      fs.unwatchFile(file('polled'));
      resolve(size);
    });
  });
  await new Promise((resolve) => {
    const polled = fs.watchFile(file('not there'), { interval: 5 }, (now, before) => {
      console.log(now.size, now.mtimeMs, before.nlink);
      polled.once('stop', resolve);
      fs.unwatchFile(file('not there'));
    });
  });
  error(() => fs.watchFile(file('x')));
  fs.watch(folder, { persistent: false }); // keeps nothing alive
  fs.watchFile(file('y'), { persistent: false }, () => {});
  fs.watch(folder).unref();
  fs.rmSync(folder, { recursive: true });
})();
