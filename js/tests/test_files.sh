#!/bin/sh
# SPDX-License-Identifier: MIT
# test_files.sh PROGRAM: `vigil run --test`: which files it takes, what it reports of each, and its exit status.
set -u
program=$1
failed=0
check() { # name, expected, got
    [ "$2" = "$3" ] && return
    echo "$1: expected '$2', got '$3'"
    failed=1
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 2
mkdir -p good/test/deep good/node_modules/x good/.hidden bad
for name in good/a.test.js good/b_test.cjs good/c-test.mjs good/test-d.js good/test.js good/test/deep/e.js good/other.js good/atest.js \
    good/node_modules/x/f.test.js good/.hidden/g.test.js; do
    echo "0;" > "$name"
done
names() {
    "$program" --test "$@" | sed -n 's/^ok [0-9]* - //p' | tr '\n' ' '
}
cd good || exit 2
check 'names of tests' "a.test.js b_test.cjs c-test.mjs test-d.js test.js test/deep/e.js " "$(names)"
check 'a folder' "good/a.test.js good/b_test.cjs good/c-test.mjs good/test-d.js good/test.js good/test/deep/e.js " "$(cd .. && names good)"
check 'files' "other.js test.js " "$(names test.js other.js)"
check 'a pattern' "a.test.js atest.js other.js test-d.js test.js " "$(names '*.js')"
check 'alternatives' "b_test.cjs c-test.mjs " "$(names '**/*test.{cjs,mjs}')"
check 'an optional part' "a.test.js atest.js c-test.mjs " "$(names '[a-c]*test.?(m)js')"
check 'folders' "test/deep/e.js " "$(names 'test/**/*.js')"
check 'a file twice' "test.js " "$(names test.js 'test.js' 'tes?.js')"
"$program" --test test.js > /dev/null
check 'status of success' 0 "$?"
check 'nothing there' "Could not find 'none*.js'" "$("$program" --test 'none*.js' 2>&1)"
"$program" --test none.js 2> /dev/null
check 'status of nothing there' 1 "$?"
"$program" --test --test-reporter dots > /dev/null 2>&1
check 'status of an unknown reporter' 9 "$?"
mkdir ../empty
check 'no tests at all' "TAP version 13 1..0 0" "$(cd ../empty && { "$program" --test; echo $?; } | grep -v '^#' | tr '\n' ' ' | sed 's/ $//')"

cd ../bad || exit 2
cat > a.test.mjs <<'END'
import test, { describe, it } from 'node:test';
import assert from 'node:assert';
import { spawnSync } from 'node:child_process';
console.log('to standard output');
console.error('to standard error');
test('one', (t) => { t.diagnostic('a word'); });
test.todo('later');
describe('suite', () => {
  it('fails', () => assert.deepStrictEqual({ a: 1 }, { a: 2 }));
  it.skip('is skipped');
  // What a test starts is none of this run's business.
  it('starts another', () => assert.match(spawnSync(process.execPath, ['b.inner.js'], { encoding: 'utf8' }).stdout, /ok 1 - inner/));
});
END
echo "require('node:test')('inner', () => {})" > b.inner.js
echo "throw new Error('at the top')" > c.test.js
echo "process.exit(3)" > d.test.js
echo "process.kill(process.pid, 'SIGKILL')" > e.test.js
echo "require('node:test')('uncaught', () => new Promise(() => { setTimeout(() => { throw new Error('nobody caught it') }, 1) }))" > f.test.js
echo "require('node:test')('ends', () => process.exit(0))" > g.test.js
echo "require('node:test')('fine', () => {}); setTimeout(() => { throw new Error('after all') }, 50)" > h.test.js
cat > expected <<'END'
TAP version 13
# to standard output
# to standard error
# Subtest: one
ok 1 - one
  ---
  ...
# a word
# Subtest: later
ok 2 - later # TODO
  ---
  ...
# Subtest: suite
    # Subtest: fails
    not ok 1 - fails
      ---
      failureType: 'testCodeFailure'
      error: |-
        Expected values to be strictly deep-equal:
        + actual - expected
        
          {
        +   a: 1
        -   a: 2
          }
      code: 'ERR_ASSERTION'
      name: 'AssertionError'
      expected: { a: 2 }
      actual: { a: 1 }
      operator: 'deepStrictEqual'
      ...
    # Subtest: is skipped
    ok 2 - is skipped # SKIP
      ---
      ...
    # Subtest: starts another
    ok 3 - starts another
      ---
      ...
    1..3
not ok 3 - suite
  ---
  type: 'suite'
  failureType: 'subtestsFailed'
  error: '1 subtest failed'
  code: 'ERR_TEST_FAILURE'
  ...
# Error: at the top
# Subtest: c.test.js
not ok 4 - c.test.js
  ---
  failureType: 'testCodeFailure'
  exitCode: 1
  signal: ~
  error: 'test failed'
  code: 'ERR_TEST_FAILURE'
  ...
# Subtest: d.test.js
not ok 5 - d.test.js
  ---
  failureType: 'testCodeFailure'
  exitCode: 3
  signal: ~
  error: 'test failed'
  code: 'ERR_TEST_FAILURE'
  ...
# Subtest: e.test.js
not ok 6 - e.test.js
  ---
  failureType: 'testCodeFailure'
  exitCode: ~
  signal: 'SIGKILL'
  error: 'test failed'
  code: 'ERR_TEST_FAILURE'
  ...
# Subtest: uncaught
not ok 7 - uncaught
  ---
  failureType: 'uncaughtException'
  error: 'nobody caught it'
  code: 'ERR_TEST_FAILURE'
  ...
# Subtest: ends
not ok 8 - ends
  ---
  failureType: 'cancelledByParent'
  error: 'the program ended before the test did'
  code: 'ERR_TEST_FAILURE'
  ...
# Error: after all
# Subtest: fine
ok 9 - fine
  ---
  ...
# Subtest: h.test.js
not ok 10 - h.test.js
  ---
  failureType: 'testCodeFailure'
  exitCode: 1
  signal: ~
  error: 'test failed'
  code: 'ERR_TEST_FAILURE'
  ...
1..10
# tests 12
# suites 1
# pass 3
# fail 6
# cancelled 1
# skipped 1
# todo 1
END
for most in 1 4; do
    "$program" --test --test-concurrency "$most" > got 2> errors
    check "status with $most at a time" 1 "$?"
    # Times and places differ, and so does what the host says about an error.
    awk '/^ *stack: /{skip = 1; next} /^ *\.\.\./{skip = 0} skip || /duration_ms|location:/{next} /^# (Error|to|a|Subtest|tests|suites|pass|fail|cancelled|skipped|todo)/ || !/^#/' \
        got > kept
    check "with $most at a time" "" "$(diff expected kept)"
    check "errors with $most at a time" "" "$(cat errors)"
done
"$program" --test --test-reporter spec a.test.mjs | sed 's/ ([0-9.e-]*ms)//; /duration/d; /^test at/d; / at /d' > got
cat > expected <<'END'
to standard output
to standard error
✔ one
ℹ a word
⚠ later # TODO
▶ suite
  ✖ fails
  ﹣ is skipped # SKIP
  ✔ starts another
✖ suite
ℹ tests 5
ℹ suites 1
ℹ pass 2
ℹ fail 1
ℹ cancelled 0
ℹ skipped 1
ℹ todo 1

✖ failing tests:

✖ fails
  AssertionError [ERR_ASSERTION]: Expected values to be strictly deep-equal:
  + actual - expected
  
    {
  +   a: 1
  -   a: 2
    }
END
check 'for people' "" "$(diff expected got)"
exit $failed
