'use strict';
// Brotli in node:zlib, gzip members that come in pieces, and files of both.
const zlib = require('zlib');
const { pipeline, Readable } = require('stream');
const { promisify } = require('util');
const text = 'a text that is worth packing, '.repeat(50);

console.log(zlib.brotliCompressSync(text).toString('hex'), zlib.brotliDecompressSync(zlib.brotliCompressSync(text)).toString() === text);
const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_LGWIN, BROTLI_PARAM_MODE, BROTLI_MODE_TEXT } = zlib.constants;
for (const params of [{ [BROTLI_PARAM_QUALITY]: 1 }, { [BROTLI_PARAM_QUALITY]: 5, [BROTLI_PARAM_LGWIN]: 16 }, { [BROTLI_PARAM_MODE]: BROTLI_MODE_TEXT }]) {
  console.log(zlib.brotliCompressSync(text, { params }).toString('hex'));
}
for (const options of [{ params: { 99: 1 } }, { params: { [BROTLI_PARAM_QUALITY]: 'much' } }, { flush: 9 }, { chunkSize: 1 }]) {
  try {
    zlib.createBrotliCompress(options);
  } catch (error) {
    console.log(error.name, error.code);
  }
}
try {
  zlib.brotliDecompressSync(Buffer.from('this is no Brotli'));
} catch (error) {
  console.log(error instanceof Error);
}
async function collect(stream) {
  const parts = [];
  for await (const part of stream) parts.push(part);
  return Buffer.concat(parts);
}
function pieces(bytes, size) {
  const list = [];
  for (let i = 0; i < bytes.length; i += size) list.push(bytes.subarray(i, i + size));
  return list;
}
(async () => {
  console.log((await promisify(zlib.brotliDecompress)(await promisify(zlib.brotliCompress)(text))).toString() === text);
  const packed = await collect(pipeline(Readable.from(pieces(Buffer.from(text), 100)), zlib.createBrotliCompress(), () => {}));
  console.log((await collect(pipeline(Readable.from(pieces(packed, 7)), zlib.createBrotliDecompress(), () => {}))).toString() === text);
  const flushed = zlib.createBrotliCompress();
  flushed.write('first');
  await new Promise((resolve) => flushed.flush(resolve));
  console.log(flushed.read().length > 0);
  flushed.destroy();

  const two = Buffer.concat([zlib.gzipSync('abc'), zlib.gzipSync('def')]);
  for (const size of [1, 2, 23, two.length]) {
    for (const make of [zlib.createGunzip, zlib.createUnzip]) {
      console.log(size, (await collect(pipeline(Readable.from(pieces(two, size)), make(), () => {}))).toString());
    }
  }
  const padded = Buffer.concat([zlib.gzipSync('abc'), Buffer.alloc(10)]);
  console.log((await collect(pipeline(Readable.from(pieces(padded, 5)), zlib.createGunzip(), () => {}))).toString());
})();
