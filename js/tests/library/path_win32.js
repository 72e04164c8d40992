// path.win32 on paths made of every piece that means something there. Suffixes of a bare root are left out.
const { win32, posix } = require('path');
const pieces = ['\\', '/', 'c:', 'D:', 'a', 'b.txt', '..', '.', '\\\\', '.x', 'x.'];
const paths = [''];
for (const one of pieces) {
  paths.push(one);
  for (const two of pieces) {
    paths.push(one + two);
    for (const three of pieces) paths.push(one + two + three, `${one}${two}\\${three}`);
  }
}
const lines = [];
for (const path of paths) {
  lines.push(JSON.stringify([path, win32.normalize(path), win32.dirname(path), win32.basename(path), win32.extname(path), win32.isAbsolute(path),
                             win32.parse(path), win32.join('a', path), win32.join(path, '..\\b'), win32.resolve('D:\\r', 'c:\\q', path)]));
}
let sum = 0;
for (const letter of lines.join('\n')) sum = (sum * 31 + letter.codePointAt(0)) >>> 0;
console.log(lines.length, sum);
for (const line of lines.slice(0, 12).concat(lines.filter((line, i) => i % 200 === 0))) console.log(line);
console.log(win32.relative('C:\\a\\b', 'c:\\A\\c'), win32.relative('c:\\a', 'd:\\b'), win32.format(win32.parse('c:\\x\\y.z')));
console.log(win32.toNamespacedPath('c:\\x'), win32.toNamespacedPath('\\\\s\\t\\u'), win32.sep, win32.delimiter, win32.posix === posix, posix.win32 === win32);
console.log(require('path/win32') === win32);
