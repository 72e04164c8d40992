// SPDX-License-Identifier: MIT
// node:test as a program sees it: a child runs tests, and what it prints is compared without times and places.
import { spawnSync } from 'node:child_process';

for (const file of ['all.mjs', 'hooks.cjs', 'never.mjs', 'good.mjs']) {
  const { status, stdout } = spawnSync(process.execPath, [`parts/${file}`], { encoding: 'utf8' });
  let stack = false;
  const kept = stdout.split('\n').filter((line) => {
    if (/^ *stack: /.test(line)) stack = true;
    else if (/^ *(\.\.\.|error|code)/.test(line)) stack = false;
    return !stack && !/duration_ms|location:/.test(line);
  });
  console.log(`${file}: status ${status}\n${kept.join('\n')}`);
}
