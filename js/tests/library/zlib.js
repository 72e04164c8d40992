// node:zlib: formats, levels, dictionaries, errors, streams, and the web's compression streams.
const zlib = require('node:zlib');
const { promisify } = require('util');
const { pipeline } = require('stream/promises');
const { Readable, Writable, PassThrough } = require('stream');
const { buffer, text } = require('stream/consumers');
const log = (...args) => console.log(...args);
const sample = Buffer.from('the quick brown fox jumps over the lazy dog. '.repeat(400));
const short = (error) => `${error.name} ${error.code} ${error.errno} ${error.message}`;
const tried = (call) => {
  try {
    const value = call();
    log('made', value?.length);
  } catch (error) {
    log(error.name, error.code, error.message);
  }
};
(async () => {
  for (const [pack, unpack] of [['gzip', 'gunzip'], ['deflate', 'inflate'], ['deflateRaw', 'inflateRaw'], ['gzip', 'unzip'], ['deflate', 'unzip']]) {
    const packed = zlib[`${pack}Sync`](sample);
    log(pack, packed.length < 400, zlib[`${unpack}Sync`](packed).equals(sample));
    const later = await promisify(zlib[pack])(sample, { level: 9 });
    log((await promisify(zlib[unpack])(later)).equals(sample), later.equals(zlib[`${pack}Sync`](sample, { level: 9 })));
  }
  log(zlib.inflateSync(zlib.deflateSync('')).length, zlib.gunzipSync(zlib.gzipSync('text', { level: 0 })).toString());
  const dictionary = Buffer.from('quick brown fox');
  const withIt = zlib.deflateSync('the quick brown fox', { dictionary });
  log(zlib.inflateSync(withIt, { dictionary }).toString());
  tried(() => zlib.inflateSync(withIt));
  tried(() => zlib.inflateSync(withIt, { dictionary: Buffer.from('other') }));
  const raw = zlib.deflateRawSync('the quick brown fox', { dictionary });
  log(zlib.inflateRawSync(raw, { dictionary }).toString());

  tried(() => zlib.gunzipSync('not packed'));
  tried(() => zlib.gunzipSync(zlib.gzipSync('cut').subarray(0, 15)));
  tried(() => zlib.inflateSync(Buffer.alloc(0)));
  tried(() => zlib.gunzipSync(zlib.gzipSync(sample), { maxOutputLength: 100 }));
  tried(() => zlib.gzipSync('x', { level: 12 }));
  tried(() => zlib.gzipSync('x', { windowBits: 20 }));
  tried(() => zlib.gzipSync(5));
  tried(() => zlib.createGzip({ chunkSize: 1 }));
  log(zlib.gunzipSync(zlib.gzipSync('cut').subarray(0, 15), { finishFlush: zlib.constants.Z_SYNC_FLUSH }).length >= 0);
  log(zlib.gunzipSync(Buffer.concat([zlib.gzipSync('one '), zlib.gzipSync('two')])).toString());
  tried(() => zlib.gunzipSync(Buffer.concat([zlib.gzipSync('one'), Buffer.from('garbage')])));
  tried(() => zlib.gunzipSync(Buffer.concat([zlib.gzipSync('one'), Buffer.alloc(5)])));
  tried(() => zlib.inflateSync(Buffer.concat([zlib.deflateSync('one'), Buffer.from('garbage')])));
  tried(() => zlib.unzipSync(Buffer.concat([zlib.deflateSync('one'), Buffer.from('garbage')])));
  await promisify(zlib.gunzip)('bad').catch((error) => log('later', short(error)));

  const packed = await buffer(Readable.from([sample, sample]).pipe(zlib.createGzip()));
  const bytes = [...packed].map((byte) => Buffer.from([byte]));
  log((await buffer(Readable.from(bytes).pipe(zlib.createGunzip()))).equals(Buffer.concat([sample, sample])));
  await pipeline(Readable.from([Buffer.from('garbage')]), zlib.createInflate(), new PassThrough()).catch((error) => log(short(error)));
  await pipeline(Readable.from([packed.subarray(0, 50)]), zlib.createGunzip(), new Writable({ write(c, e, cb) { cb(); } })).catch((error) => log(short(error)));
  const two = Buffer.concat([zlib.gzipSync('first '), zlib.gzipSync('second')]);
  log(await text(Readable.from([two.subarray(0, 20), two.subarray(20)]).pipe(zlib.createGunzip())));

  const flushed = zlib.createDeflate();
  const out = zlib.createInflate();
  const seen = [];
  flushed.pipe(out).on('data', (chunk) => seen.push(`${chunk}`));
  const arrived = new Promise((resolve) => out.once('data', resolve));
  flushed.write('part');
  flushed.flush();
  await arrived;
  log(seen, flushed.bytesWritten);
  await new Promise((resolve) => flushed.params(0, zlib.constants.Z_DEFAULT_STRATEGY, resolve));
  flushed.end(' rest');
  await new Promise((resolve) => out.on('end', resolve));
  log(seen.join(''));
  const closing = zlib.createGzip();
  closing.close(() => log('closed', closing.destroyed));
  await new Promise((resolve) => closing.on('close', resolve));

  const bomb = zlib.gzipSync(Buffer.alloc(20000000));
  let most = 0;
  let total = 0;
  const inflating = zlib.createGunzip();
  inflating.end(bomb);
  for await (const chunk of inflating) {
    total += chunk.length;
    most = Math.max(most, inflating.readableLength);
  }
  log(total, most <= 65536);

  const web = new Blob([sample]).stream().pipeThrough(new CompressionStream('gzip'));
  const back = web.pipeThrough(new DecompressionStream('gzip'));
  log((await buffer(back)).equals(sample));
  for (const format of ['deflate', 'deflate-raw']) {
    log((await buffer(new Blob(['abc']).stream().pipeThrough(new CompressionStream(format)).pipeThrough(new DecompressionStream(format)))).toString());
  }
  await buffer(new Blob(['nonsense']).stream().pipeThrough(new DecompressionStream('gzip'))).catch((error) => log(error instanceof Error));
  await buffer(new Blob([zlib.gzipSync('cut').subarray(0, 12)]).stream().pipeThrough(new DecompressionStream('gzip'))).catch((error) => log(error instanceof Error));
  try {
    new CompressionStream('lzma');
  } catch (error) {
    log(error.name);
  }
  log(zlib.createGzip() instanceof zlib.Gzip, zlib.Gzip() instanceof require('stream').Transform);
  log(zlib.constants.Z_BEST_COMPRESSION, zlib.codes.Z_DATA_ERROR, zlib.codes['-3']);
})();
