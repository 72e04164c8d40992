// SPDX-License-Identifier: MIT
// TextDecoder with the tables of the Encoding Standard (Node 20 has windows-1252 wrong), in pieces too.
'use strict';
const all = Uint8Array.from({ length: 256 }, (_, i) => i);
const names = 'ibm866 iso-8859-2 iso-8859-3 iso-8859-4 iso-8859-5 iso-8859-6 iso-8859-7 iso-8859-8 iso-8859-8-i iso-8859-10 iso-8859-13 iso-8859-14 ' +
  'iso-8859-15 iso-8859-16 koi8-r koi8-u macintosh windows-874 windows-1250 windows-1251 windows-1252 windows-1253 windows-1254 windows-1255 ' +
  'windows-1256 windows-1257 windows-1258 x-mac-cyrillic x-user-defined';
for (const name of names.split(' ')) {
  const text = new TextDecoder(name).decode(all);
  let sum = 0;
  for (let i = 0; i < text.length; i++) sum = (Math.imul(sum, 31) + text.charCodeAt(i)) | 0;
  console.log(name, sum);
}
console.log(new TextDecoder('latin1').encoding, new TextDecoder(' ASCII\n').encoding, new TextDecoder('l5').encoding, new TextDecoder('utf-16').encoding);
console.log(new TextDecoder('windows-1252').decode(Uint8Array.of(0x80, 0x85, 0x99, 0x9f)));
for (const name of ['utf-16le', 'utf-16be', 'utf-8']) {
  const bytes = name === 'utf-8' ? new TextEncoder().encode('\ufeffa😀é') : Uint8Array.from([...'\ufeffa😀é'].flatMap((c) =>
    Array.from({ length: c.length }, (_, i) => c.charCodeAt(i)).flatMap((u) => (name === 'utf-16le' ? [u & 255, u >> 8] : [u >> 8, u & 255]))));
  for (let cut = 0; cut <= bytes.length; cut++) {
    const decoder = new TextDecoder(name);
    const text = decoder.decode(bytes.subarray(0, cut), { stream: true }) + decoder.decode(bytes.subarray(cut));
    if (text !== 'a😀é') console.log('wrong', name, cut, text);
  }
  const decoder = new TextDecoder(name, { fatal: true });
  try {
    decoder.decode(bytes.subarray(0, 5 + (name === 'utf-8' ? 1 : 0)));
    console.log('not noticed', name);
  } catch (error) {
    console.log(name, error.code, decoder.decode(bytes));
  }
}
for (const [name, bytes] of [['gbk', [0xc4, 0xe3]], ['big5', [0xa7, 0x41]], ['euc-jp', [0xa4, 0xa2]], ['shift_jis', [0x82, 0xa0]], ['euc-kr', [0xb0, 0xa1]],
                             ['iso-2022-jp', [0x1b, 0x24, 0x42, 0x24, 0x22]], ['gb18030', [0x94, 0x39, 0xda, 0x33]]]) {
  const decoder = new TextDecoder(name);
  let text = '';
  for (const byte of bytes) text += decoder.decode(Uint8Array.of(byte), { stream: true });
  console.log(name, text + decoder.decode());
}
for (const name of ['replacement', 'hz-gb-2312', 'nope', '']) {
  try {
    new TextDecoder(name);
  } catch (error) {
    console.log(name, error.name, error.code);
  }
}
