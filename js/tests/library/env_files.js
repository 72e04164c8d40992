// SPDX-License-Identifier: MIT
// util.parseEnv and process.loadEnvFile.
'use strict';
const { parseEnv } = require('node:util');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const text = `
# a comment
PLAIN=value
SPACES =   padded value   # and a comment
EMPTY=
EMPTY_QUOTES=''
export EXPORTED=yes
DOUBLE="a # b\\nnext"
SINGLE='a # b\\nnext'
BACK=\`it's "here"\`
LINES="one
two
three"
AFTER=1
EQUALS=a=b=c
JSON={"a":1}
LAST="not closed
END=end`;
const shown = (found) => JSON.stringify(Object.fromEntries(Object.entries(found).sort()), null, 1);
console.log(shown(parseEnv(text)));
console.log(shown(parseEnv(text.replaceAll('\n', '\r\n'))));
console.log(shown(parseEnv('')), shown(parseEnv('A')), shown(parseEnv('A=')), shown(parseEnv('A=1\nA=2')));
try {
  parseEnv(1);
} catch (error) {
  console.log(error.code, error.message);
}
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'env-'));
process.env.THERE_BEFORE = 'stays';
fs.writeFileSync(path.join(folder, '.env'), 'THERE_BEFORE=no\nNEW_ONE=new\n');
console.log(process.loadEnvFile(path.join(folder, '.env')), process.env.THERE_BEFORE, process.env.NEW_ONE);
try {
  process.loadEnvFile(path.join(folder, 'missing'));
} catch (error) {
  console.log(error.code);
}
fs.rmSync(folder, { recursive: true });
