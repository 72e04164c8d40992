// SPDX-License-Identifier: MIT
// Buffers from and to text, in all encodings and at all lengths, searching, comparing, filling: also with plain Uint8Arrays.
'use strict';
let sum = 0;
const note = (value) => {
  const text = typeof value === 'string' ? value : Buffer.isBuffer(value) ? value.toString('hex') : `${value}`;
  for (let i = 0; i < text.length; i++) sum = (Math.imul(sum, 31) + text.charCodeAt(i)) | 0;
};
const encodings = ['utf8', 'latin1', 'hex', 'base64', 'base64url', 'ascii', 'utf16le', 'ucs2', 'binary', 'UTF-8', 'Base64'];
const any = 'aé€😀z\ud800\udc00\ud800x0123456789abcdefABCDEF==-_+/ \n';
const digits = 'azx0123456789abcdefABCDEFGHIJKLmnop==-_+/ \n!';
for (const encoding of encodings) {
  const source = /^base64/i.test(encoding) ? digits : any;
  for (let length = 0; length < 80; length++) {
    let text = '';
    for (let i = 0; i < length; i++) text += source[(i * 7 + length) % source.length];
    const bytes = Buffer.from(text, encoding);
    note(bytes);
    note(Buffer.byteLength(text, encoding));
    for (const other of encodings) note(bytes.toString(other));
    note(bytes.toString(encoding, 3, 9));
    const target = Buffer.alloc(40, 1);
    note(target.write(text, 3, 20, encoding));
    note(target);
    if (bytes.length > 0) note(Buffer.alloc(33).fill(text, 2, 31, encoding));
  }
  console.log(encoding, sum);
}
const hay = Buffer.from('the quick brown fox jumps over the lazy dog the end');
const plain = new Uint8Array(hay);
const needles = ['the', 'x', '', 'end', 'nope', 'the lazy', 'd', 116, 116 + 256, -140, 3.7, Buffer.from('fox'), new Uint8Array([111, 118]), new Uint8Array(0)];
const offsets = [undefined, 0, 1, 5, 31, 44, 51, 52, 60, -1, -5, -51, -60, NaN, null, {}, Infinity, -Infinity, 2.9];
for (const needle of needles) {
  for (const offset of offsets) {
    note(hay.indexOf(needle, offset));
    note(hay.lastIndexOf(needle, offset));
    note(hay.includes(needle, offset));
  }
}
console.log('search', sum);
const wide = Buffer.from('abcabcaabb', 'utf16le');
console.log(wide.indexOf('ab', 'utf16le'), wide.indexOf('bc', 3, 'ucs2'), wide.lastIndexOf('ab', 'utf16le'), wide.indexOf('b', 1, 'utf16le'));
console.log(hay.equals(plain), hay.equals(new Uint8Array(3)), Buffer.compare(hay, plain), Buffer.compare(new Uint8Array([1, 2]), Buffer.from([1, 3])));
console.log(hay.compare(plain, 0, 3, 31, 34), hay.compare(plain, 4, 9), Buffer.from('b').compare(Buffer.from('a')), hay.compare(plain, 5, 5, 2, 2));
const into = new Uint8Array(8);
console.log(hay.copy(into, 2, 4, 9), into, hay.copy(into, 8), hay.copy(into, 0, 51));
console.log(Buffer.alloc(5, new Uint8Array([1, 2])), Buffer.alloc(7, 'ab'), Buffer.alloc(3).fill(257), Buffer.alloc(3).fill(-1), Buffer.alloc(4).fill('é'));
for (const wrong of [() => hay.equals('x'), () => hay.indexOf({}), () => hay.indexOf('x', 0, 'nope'), () => hay.compare('x'), () => hay.copy({}),
                     () => Buffer.from('x', 'nope'), () => hay.toString('nope'), () => hay.write('x', 'nope'), () => hay.fill('zz', 'hex'),
                     () => hay.fill('x', 0, 4, 'nope'), () => Buffer.compare(hay, 'x'), () => hay.copy(into, -1), () => hay.fill(new Uint8Array(0))]) {
  try {
    console.log(wrong());
  } catch (error) {
    console.log(error.name, error.code, error.message);
  }
}
