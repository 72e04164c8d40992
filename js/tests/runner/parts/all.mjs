// SPDX-License-Identifier: MIT
import test, { describe, it, before, after, beforeEach, afterEach, mock } from 'node:test';
import assert from 'node:assert';
test('one', () => {});
test('bad', async () => { assert.strictEqual(1, 2); });
test('skip', { skip: true }, () => {});
test('skipm', { skip: 'why' }, () => {});
test('todo', { todo: true }, () => { throw new Error('x'); });
test.todo('todo2');
test('cb', (t, done) => setTimeout(done, 2));
test('subs', async (t) => { t.diagnostic('hello'); await t.test('s1', () => {}); await t.test('s2', () => { throw new Error('boom'); }); t.beforeEach(()=>{}); });
describe('suite', () => { before(() => {}); beforeEach(() => {}); it('i1', () => {}); describe('in', () => { it('x', async () => {}); it.skip('y'); }); after(() => {}); });
describe('empty', () => {});
test('mock', (t) => { const f = t.mock.fn((a) => a + 1); f(1); assert.equal(f.mock.calls[0].result, 2); const o = { m() { return 1; } }; t.mock.method(o, 'm', () => 5); assert.equal(o.m(), 5); });
test('skipin', (t) => { t.skip('later'); });
