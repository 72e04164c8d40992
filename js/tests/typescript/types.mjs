// SPDX-License-Identifier: MIT
// TypeScript whose types can be stripped, its kinds of modules, and what cannot be stripped.
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import shapes, { area, first, Kind } from './parts/shapes.ts';
import * as script from './parts/script.ts';

console.log(shapes.map(area), first(['a', 'b']), Kind.round);
console.log(script.default);
console.log((await import('./parts/module.mts')).name, (await import('./parts/common.cts')).default);
const require = createRequire(import.meta.url);
console.log(require('./parts/common.cts'), require('./parts/module.mts').name);

const folder = mkdtempSync(join(tmpdir(), 'vigil-types-'));
const attempt = async (name, text) => {
  const file = join(folder, name);
  writeFileSync(file, text);
  try {
    await import(file);
    console.log(name, 'runs');
  } catch (error) {
    console.log(name, error.name, error.code, error.message.split('\n')[0].replace('file://', '').replaceAll(folder, ''));
  }
};
await attempt('enum.ts', 'export {};\nenum A { B }\n');
await attempt('namespace.ts', 'export {};\nnamespace N { export const a = 1; }\n');
await attempt('types_only.ts', 'export {};\nnamespace N { export type A = 1; }\ndeclare enum E { F }\n');
await attempt('parameter.mts', 'class A { constructor(private x: number) {} }\n');
await attempt('equals.cts', 'import fs = require("fs");\n');
await attempt('wrong.ts', 'let a: = 2;\n');
mkdirSync(join(folder, 'node_modules/typed'), { recursive: true });
await attempt('node_modules/typed/index.mts', 'export const a: number = 1;\n');
// Lines and columns stay.
const main = join(folder, 'main.ts');
writeFileSync(main, 'interface A {\n  b: string;\n}\nconst a: A = { b: "text" };\nconsole.log(process.argv[1].endsWith("main.ts"), a.b);\n(a as any).c.d = 1;\n');
const { stdout, stderr, status } = spawnSync(process.execPath, [main], { encoding: 'utf8' });
console.log(stdout.trim(), status, /main\.ts:6\b/.test(stderr));
rmSync(folder, { recursive: true });
