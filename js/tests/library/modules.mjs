import { readFileSync } from 'node:fs';
import * as path from 'path';
import def, { x, inc, obj as o } from './parts/b.mjs';
import cjs, { named } from './parts/c.cjs';
export { x as rex } from './parts/b.mjs';
export * from './parts/d.mjs';
console.log(def(), x, o, cjs, named, path.basename(import.meta.url), typeof readFileSync, import.meta.filename.endsWith('a.mjs'));
inc(); console.log('live', x, { x }, `${x}`);
const m = await import('./parts/d.mjs'); console.log(m, m.default.name);
function f(x) { return x + 1; } console.log(f(10), (({x}) => x)({x: 5}), [1].map(x => x));
try { x = 3; } catch (e) { console.log(e.name); }
process.nextTick(() => console.log('tick')); queueMicrotask(() => console.log('micro'));
try { await import('nope'); } catch (e) { console.log(e.code, e.message.replace(/\/.*\//, '')); }
