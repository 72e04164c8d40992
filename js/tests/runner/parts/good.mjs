// SPDX-License-Identifier: MIT
import assert from 'node:assert';
import { mock, test } from 'node:test';

test('mocks', async (t) => {
  const add = mock.fn((a, b) => a + b);
  assert.deepEqual([add(1, 2), add.mock.callCount(), add.mock.calls[0].arguments], [3, 1, [1, 2]]);
  add.mock.mockImplementationOnce(() => 'once');
  assert.deepEqual([add(1, 2), add(2, 2)], ['once', 4]);
  const object = { value: 1, get twice() { return this.value * 2; }, method() { return this.value; } };
  t.mock.method(object, 'method', () => 'other');
  t.mock.getter(object, 'twice', () => 'two');
  assert.deepEqual([object.method(), object.twice, object.method.mock.callCount()], ['other', 'two', 1]);
  t.mock.restoreAll();
  assert.deepEqual([object.method(), object.twice], [1, 2]);
  const failing = t.mock.fn(() => { throw new Error('x'); });
  assert.throws(failing, /x/);
  assert.equal(failing.mock.calls[0].error.message, 'x');
});
await test('can be awaited', async (t) => {
  const seen = [];
  await t.test('first', () => { seen.push(1); });
  t.test('second', async () => { seen.push(2); });
  t.diagnostic(`${t.name}: ${seen[0]}`);
});
test('after that', (t) => t.skip('why'));
