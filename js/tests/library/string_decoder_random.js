// StringDecoder: chunks cut at any byte, with characters that never get complete. A sum per encoding over 12000 random cases, and the
// corners one by one; `node string_decoder_random.js all` prints every case.
'use strict';
const { StringDecoder } = require('string_decoder');

let seed = 3;
function random(most) {
  seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
  return (seed >>> 8) % most;
}
const encodings = ['utf8', 'utf16le', 'base64', 'base64url', 'hex', 'latin1', 'ascii'];
const words = {
  utf8: ['61', 'c3a9', 'e282ac', 'f09f9880', 'ed9fbf', 'f48fbfbf', 'ff', 'c080', 'eda080', 'f490', 'e080', 'f0', 'e282', 'c2', '80', 'f5', 'f08f', 'f8'],
  utf16le: ['6100', '3dd8', '4ddc', 'd8', 'dc', '00', '00d8', 'ffdb', 'd8d8', 'ac20'],
};
function chunk(encoding) {
  let hex = '';
  for (let count = random(5); count > 0; count--) {
    const list = words[encoding];
    hex += list !== undefined && random(5) > 0 ? list[random(list.length)] : random(256).toString(16).padStart(2, '0');
  }
  const bytes = Buffer.from(hex, 'hex');
  return bytes.length > 1 && random(2) === 0 ? bytes.subarray(0, 1 + random(bytes.length - 1)) : bytes;
}
const about = (decoder) => `${decoder.lastNeed} ${decoder.lastTotal} ${decoder.lastChar.toString('hex')}`;
function decode(encoding, chunks) {
  const decoder = new StringDecoder(encoding);
  const out = [];
  for (const one of chunks) out.push(one === null ? decoder.end() : decoder.write(one), about(decoder));
  out.push(decoder.end(), about(decoder));
  return JSON.stringify(out);
}

const sums = Object.fromEntries(encodings.map((encoding) => [encoding, 0]));
for (let i = 0; i < 12000; i++) {
  const encoding = encodings[random(encodings.length)];
  const chunks = [];
  for (let count = 1 + random(6); count > 0; count--) chunks.push(random(12) === 0 ? null : chunk(encoding));
  const text = decode(encoding, chunks);
  if (process.argv[2] === 'all') console.log(encoding, chunks.map((one) => one?.toString('hex') ?? 'end').join(' '), text);
  for (let at = 0; at < text.length; at++) sums[encoding] = (Math.imul(sums[encoding], 31) + text.charCodeAt(at)) >>> 0;
}
console.log(sums);

for (const [encoding, ...chunks] of [
  ['utf16le', '3dd8'], ['utf16le', '3d', 'd8'], ['utf16le', '3dd8', '4ddc'], ['utf16le', '3dd8', '4d', 'dc'], ['utf16le', '3dd84d'],
  ['utf16le', '3dd8', '3dd8', '4ddc'], ['utf16le', '61', '003d', 'd8'], ['utf16le', '3dd8', '4d'], ['utf8', 'f5', '80'], ['utf8', 'c0', '80'],
  ['utf8', 'e2', '82', '41'], ['utf8', 'f0', '9f', '98', 'f0'], ['utf8', 'f8', '88'], ['base64', '01', '02'], ['base64url', 'ff', 'ff', 'ff', 'ff'],
]) console.log(encoding, chunks.join(' '), decode(encoding, chunks.map((hex) => Buffer.from(hex, 'hex'))));
const kept = new StringDecoder('utf8');
kept.write(Buffer.from('e282', 'hex'));
console.log(kept.text(Buffer.from('6162', 'hex'), 1), kept.end(Buffer.from('c3', 'hex')), kept.end());
