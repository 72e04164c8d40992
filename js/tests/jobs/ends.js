// A program that ends with a queue open gives back what it was running: the next one runs it at once, and nothing counts as a crash.
const assert = require('assert');
const { spawnSync } = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');
const { open } = require('vigil:jobs');

if (process.argv[2] !== undefined) {
  open(process.argv[2]).then(async (queue) => {
    queue.handle('work', () => process.exit(7));
    queue.handle('other', () => new Promise(() => {}));
    await queue.start();
    await queue.enqueue('other');
    await queue.enqueue('work');
  });
} else {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'vigil-jobs-'));
  const where = process.env.VIGIL_TEST_QUEUE ?? path.join(folder, 'work.db');
  const child = spawnSync(process.execPath, [...process.execArgv, __filename, where]);
  assert.strictEqual(child.status, 7, String(child.stderr));
  open(where).then(async (queue) => {
    const ran = [];
    let both;
    const all = new Promise((resolve) => { both = resolve; });
    for (const kind of ['work', 'other']) {
      queue.handle(kind, (job) => {
        ran.push([kind, job.errors, job.crashes]);
        if (ran.length === 2) both();
      });
    }
    await queue.start();
    await all;
    await queue.close();
    assert.deepStrictEqual(ran.sort(), [['other', 0, 0], ['work', 0, 0]]);
    fs.rmSync(folder, { recursive: true });
    console.log('given back');
  });
}
