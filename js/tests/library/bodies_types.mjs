// SPDX-License-Identifier: MIT
// Bodies and their types: media types, data: and blob: URLs, what was read already, and clones.
// Node 26 wrote the output: Node 20 has not all of it.
const tried = async (run) => {
  try {
    return JSON.stringify(await run());
  } catch (error) {
    return error.name;
  }
};
const show = async (name, run) => console.log(name, await tried(run));

// The Blob of a response has the media type of its headers, as it is parsed.
for (const type of ['TEXT/HTML;CHARSET=gbk', 'text/html;charset=gbk(', 'text/html;charset=gbk;charset=x', ' text/html ; a=b ', 'text/html;a="b;c"', 'text/html;a="b\\"c"',
                    'text', 'text/', '/html', 'a b/c', 'x/y;', 'x/y;a', 'x/y;a=', 'x/y;a="";b=1', 'text/html, x/y', 'text/html;charset=a, text/html', '*/*', 'x/y;a="b']) {
  await show(type, async () => (await new Response('', { headers: { 'content-type': type } }).blob()).type);
}

// data: URLs.
for (const url of ['data:,a%20b', 'data:text/plain;charset=x,%41', 'data:TEXT/Html;base64,QUI=', 'data:;base64,QQ', 'data:;charset=y,z', 'data:x,1', 'data://h/,X', 'data:x/y;base64,A', 'data:x/y;base64,QQ=',
                   'data:x/y ;  BASE64,QUJD', 'data:nothing', 'data:,a#b']) {
  await show(url, async () => {
    const response = await fetch(url);
    return [response.status, response.statusText, response.headers.get('content-type'), await response.text(), response.url === url.replace(/#.*/, '') || response.url === url];
  });
}
await show('HEAD', async () => (await fetch('data:,x', { method: 'HEAD' })).text());

// blob: URLs.
const blob = new Blob(['some ', 'text'], { type: 'text/x' });
const url = URL.createObjectURL(blob);
await show('blob', async () => {
  const response = await fetch(url);
  return [url.startsWith('blob:'), response.status, response.headers.get('content-type'), response.headers.get('content-length'), await response.text()];
});
await show('unique', () => URL.createObjectURL(blob) !== url);
await show('fragment', async () => (await fetch(`${url}#there`)).text());
await show('query', async () => (await fetch(`${url}?there`)).text());
await show('POST', async () => (await fetch(url, { method: 'POST', body: 'x' })).text());
const begun = fetch(url);
URL.revokeObjectURL(url);
await show('revoked', async () => (await fetch(url)).text());
await show('begun before', async () => (await begun).text());
await show('no blob', () => URL.createObjectURL({}));
await show('no argument', () => URL.createObjectURL());

// Blobs of what changes while it is read.
await show('pop', () => {
  const list = [{ toString() { list.pop(); return 'kept'; } }, { toString: () => 'gone' }];
  return new Blob(list).text();
});

// What was read cannot be read again.
for (const how of ['text', 'bytes', 'blob']) {
  await show(`read as ${how}`, async () => {
    const response = new Response('body');
    const reading = response[how]();
    const before = [response.bodyUsed, response.body.locked];
    await reading;
    return [before, await tried(() => response.text())];
  });
}
const stream = (...chunks) => new ReadableStream({
  start(controller) {
    for (const chunk of chunks) controller.enqueue(chunk);
    controller.close();
  },
});
await show('chunk of text', () => new Response(stream('text')).text());
await show('chunk of bytes', () => new Response(stream(new TextEncoder().encode('bytes'))).text());
await show('clone', async () => {
  const chunk = new Uint8Array([1, 2, 3]);
  const response = new Response(stream(chunk));
  const copy = response.clone();
  const [one, two] = await Promise.all([response.body.getReader().read(), copy.body.getReader().read()]);
  return [one.value === chunk, two.value.buffer === chunk.buffer, [...two.value]];
});
await show('prototype', () => [Object.getPrototypeOf(Request.prototype) === Object.prototype, Object.keys(Response.prototype).filter((name) => name !== 'textStream').sort()]);
