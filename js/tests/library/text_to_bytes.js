// Text on its way out: every length around a block, every length of a character, and halves of pairs, which become U+FFFD.
'use strict';
const fs = require('fs');
const os = require('os');
const path = require('path');
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'text-'));
const file = path.join(folder, 'file');
const texts = {
  ascii: 'x', two: '\u00e9', three: '\u4e2d', four: '\u{1f600}', high: '\ud800', low: '\udc00', zero: '\0',
  wrongOrder: '\udc00\ud800', highThenLetter: '\ud83dz',
};
for (const [name, text] of Object.entries(texts)) {
  const sizes = [];
  for (const before of [0, 1, 15, 16, 17, 31, 32, 33, 500]) {
    const whole = `${'a'.repeat(before)}${text}b`;
    fs.writeFileSync(file, whole);
    const written = fs.readFileSync(file);
    const wanted = Buffer.from(whole);
    if (!written.equals(wanted) || !wanted.equals(Buffer.from(new TextEncoder().encode(whole)))) console.log('differ', name, before);
    if (written.toString() !== whole.toWellFormed()) console.log('lost', name, before);
    sizes.push(written.length);
  }
  console.log(name, sizes.join(' '), fs.readFileSync(file).subarray(499).toString('hex'));
}
// Long ones, in which the first character that is not ASCII comes late.
const long = `${'y'.repeat(100000)}\ud800${'\u4e2d'.repeat(1000)}`;
fs.writeFileSync(file, long);
console.log(fs.statSync(file).size, Buffer.byteLength(long));
fs.appendFileSync(file, '\ud800');
const fd = fs.openSync(file, 'a');
console.log(fs.writeSync(fd, '\u4e2d\ud800'), fs.writeSync(fd, ''), fs.writeSync(fd, 'ff', null, 'hex'));
fs.closeSync(fd);
console.log(fs.readFileSync(file).subarray(-10).toString('hex'));
console.log('[\ud800]', '\u{1f600}', 'end');
process.stdout.write('\udfff\n');
fs.writeFile(file, 'later \ud800', (error) => {
  console.log(error, fs.readFileSync(file).toString('hex'));
  fs.rmSync(folder, { recursive: true });
});
