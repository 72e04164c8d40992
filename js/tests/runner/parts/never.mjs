// SPDX-License-Identifier: MIT
import test from 'node:test';

test('settles', async () => {});
test('never settles', () => new Promise(() => {}));
