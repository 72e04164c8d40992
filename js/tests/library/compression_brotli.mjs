// SPDX-License-Identifier: MIT
// CompressionStream and DecompressionStream with the format 'brotli' (RFC 7932).
// Node 26 wrote the output: Node 20 has not all of it.
const text = (bytes) => new TextDecoder().decode(bytes);
async function through(stream, pieces) {
  const writer = stream.writable.getWriter();
  const writing = (async () => {
    for (const piece of pieces) await writer.write(piece);
    await writer.close();
  })();
  writing.catch(() => {});
  const chunks = [];
  for await (const chunk of stream.readable) chunks.push(chunk);
  await writing;
  return Buffer.concat(chunks);
}
const tried = async (run) => {
  try {
    return await run();
  } catch (error) {
    return `${error.name}`;
  }
};
const unpack = (...pieces) => through(new DecompressionStream('brotli'), pieces);

// "a sentence that was packed elsewhere", as another program packed it.
const packed = Buffer.from('GyMA+KVBwubu5CGWiJKBmCRTUqZvPCkA', 'base64');
console.log(text(await unpack(packed)));
console.log(text(await unpack(...[...packed].map((byte) => Uint8Array.of(byte)))));
console.log(await tried(() => unpack(packed.subarray(0, -1))), await tried(() => unpack(packed, Uint8Array.of(0))), await tried(() => unpack(new Uint8Array(0))));
console.log(await tried(() => unpack(Uint8Array.from([255, 254, 253, 1, 2, 3]))), await tried(() => unpack('text')));

const long = Buffer.alloc(300000, 'a long text that repeats itself; ');
const noise = Buffer.alloc(200000);
for (let i = 0, state = 1; i < noise.length; i++) noise[i] = (state = (state * 1103515245 + 12345) % 2147483648) >>> 16;
for (const data of [Buffer.alloc(0), Buffer.from('x'), long, noise]) {
  const small = await through(new CompressionStream('brotli'), [data.subarray(0, 1000), data.subarray(1000)]);
  const back = await unpack(small.subarray(0, 7), small.subarray(7));
  console.log(data.length, data.length < 1000 || small.length < data.length + 100, data === long ? small.length < 1000 : true, data.equals(back));
}
console.log(await tried(() => new CompressionStream('Brotli')));
