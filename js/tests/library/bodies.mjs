// Blob, File, FormData, and bodies of Request and Response.
const log = (...args) => console.log(...args);
const threw = async (what) => {
  try {
    log('result', await what());
  } catch (error) {
    log(error.name);
  }
};
const blob = new Blob(['héllo', new Uint8Array([32, 119]), new Blob(['orld'])], { type: 'Text/Plain' });
log(blob.size, blob.type, await blob.text(), blob);
log(await blob.slice(1, 4).text(), await blob.slice(-4).text(), blob.slice(2, 1).size, blob.slice(0, 1, 'a/b').type);
log((await blob.arrayBuffer()).byteLength, `${blob}`, new Blob([1, null, { a: 1 }]).size);
const chunks = [];
for await (const chunk of new Blob([new Uint8Array(70000)]).stream()) chunks.push(chunk.length);
log(chunks.reduce((a, b) => a + b));
await threw(() => new Blob('text'));
await threw(() => new Blob([], { endings: 'other' }));
log(await new Blob(['a\r\nb\n'], { endings: 'transparent' }).text() === 'a\r\nb\n');
const file = new File(['abc'], 'name.txt', { type: 'text/x', lastModified: 5 });
log(file.name, file.lastModified, file.size, file instanceof Blob, `${file}`);
await threw(() => new File(['x']));
log(structuredClone(blob).size, (await structuredClone(blob).text()).length);

const form = new FormData();
form.append('a', '1');
form.append('a', 2);
form.append('f', new Blob(['q']), 'given.bin');
form.set('b', 'x');
log([...form.keys()], form.getAll('a'), form.get('f').name, form.get('none'), form.has('b'));
form.set('a', '3');
form.delete('b');
log([...form].map(([name, value]) => [name, typeof value]), `${form}`);
await threw(() => form.append('x', 'y', 'name'));

const response = new Response('héllo');
log(response.body instanceof ReadableStream, response.bodyUsed, response.body === response.body);
const copy = response.clone();
log(await copy.text(), await response.text(), response.bodyUsed);
await threw(() => response.text());
await threw(() => response.clone());
const request = new Request('http://example.org/p?q', { method: 'post', body: form });
log(request.method, request.headers.get('content-type').startsWith('multipart/form-data; boundary='));
const back = await request.clone().formData();
log(back.get('a'), back.get('f').name, await back.get('f').text(), back.get('f').type);
log((await request.blob()).type.startsWith('multipart/form-data'));
log([...await new Response(new URLSearchParams({ a: '1 2', b: 'é' })).formData()]);
await threw(() => new Response('x').formData());
await threw(() => new Response('--b\r\nbroken', { headers: { 'content-type': 'multipart/form-data; boundary=b' } }).formData());
log(await new Response(new ReadableStream({ start(c) { c.enqueue(new Uint8Array([104, 105])); c.close(); } })).text());
log(new Response(new Blob(['x'], { type: 'a/b' })).headers.get('content-type'), new Response(new Uint8Array(2)).headers.get('content-type'));
await threw(() => new Request('http://a', { body: 'x' }));
await threw(() => new Request('http://u:p@a'));
await threw(() => new Request('http://a', { method: 'TRACE' }));
await threw(() => new Request('http://a', { mode: 'none' }));
await threw(() => new Response('x', { status: 204 }));
log(Response.error().type, Response.error().status, Response.redirect('http://a/b').headers.get('location'));
log(request.mode, request.redirect, request.credentials, request.cache, request.keepalive, request.referrer, request.duplex);
const byob = new Response('abc').body.getReader({ mode: 'byob' });
log((await byob.read(new Uint8Array(2))).value, (await byob.read(new Uint8Array(2))).value, (await byob.read(new Uint8Array(2))).done);
const dropped = new Response('x');
await dropped.body.cancel();
log(dropped.bodyUsed, new Response().body, await new Response().text(), new Response().bodyUsed);
const source = new Uint8Array([65]);
const kept = new Response(source);
source[0] = 66;
log(await kept.text(), await Response.json({ a: [1] }).json());
