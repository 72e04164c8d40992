// SPDX-License-Identifier: MIT
'use strict';

const { after, afterEach, before, beforeEach, describe, it, test } = require('node:test');
const log = [];
const note = (word) => () => { log.push(word); };

describe('outer', () => {
  before(note('before outer'));
  after(note('after outer'));
  beforeEach(note('each outer'));
  afterEach(note('end outer'));
  it('a', note('a'));
  describe('inner', () => {
    before(note('before inner'));
    beforeEach(note('each inner'));
    afterEach(note('end inner'));
    it('b', note('b'));
    it('c', (t, done) => { log.push('c'); setImmediate(done); });
  });
});
describe('a hook that fails', () => {
  beforeEach(() => { throw new Error('no'); });
  it('d', note('d'));
});
describe('a body that throws', () => { throw new TypeError('body'); });
describe.skip('skipped', () => { it('never', note('never')); });
test('too long', { timeout: 1 }, () => new Promise((resolve) => setTimeout(resolve, 100000).unref()));
test('calls back with an error', (t, done) => done(new RangeError('back')));
test('the order', (t) => { t.diagnostic(log.join(', ')); });
