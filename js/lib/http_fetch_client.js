// SPDX-License-Identifier: MIT
// fetch: the Fetch Standard's main steps for a program without an origin, on http.request.
'use strict';

const { Headers, Request, Response, peek, chunks, describe } = load('http_fetch');
const { Buffer } = load('buffer');

const REDIRECTS = [301, 302, 303, 307, 308];
const EMPTY = [101, 103, 204, 205, 304];
const MOST_REDIRECTS = 20;
// Ports of other protocols, whose servers could be made to do something (the standard's list).
const BAD_PORTS = new Set([0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110, 111,
  113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587,
  601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697,
  10080]);

function failed(cause) {
  const error = new TypeError('fetch failed');
  if (cause !== undefined) Object.defineProperty(error, 'cause', { value: cause, configurable: true, writable: true });
  return error;
}

function fetch(input, init = undefined) {
  if (arguments.length === 0) {
    return Promise.reject(new TypeError("fetch: 1 argument required, but only 0 present."));
  }
  let request;
  try {
    request = new Request(input, init);
  } catch (error) {
    return Promise.reject(error);
  }
  return run(request);
}
async function run(request) {
  const { signal } = request;
  signal.throwIfAborted();
  const url = new URL(request.url);
  switch (url.protocol) {
    case 'data:':
      return fromData(request, url);
    case 'blob:':
      return fromBlob(request);
    case 'http:':
    case 'https:':
      return overHttp(request, url);
    default:
      throw failed(new Error('unknown scheme'));
  }
}

// ---- data: and blob: ----------------------------------------------------------------------------------------------

const BAD_BASE64 = /[^A-Za-z0-9+/]/;
// What atob takes, too: padding whole or not at all.
function fromBase64(text) {
  let plain = text.replace(/[\t\n\f\r ]/g, '');
  if (plain.length % 4 === 0) plain = plain.replace(/={1,2}$/, '');
  if (plain.length % 4 === 1 || BAD_BASE64.test(plain)) throw failed(new Error('invalid base64 in a data URL'));
  return Buffer.from(plain, 'base64');
}
function fromData(request, url) {
  const { parseMime, writeMime } = load('mime');
  const text = url.href.slice(5).replace(/#.*$/s, '');
  const comma = text.indexOf(',');
  if (comma < 0) throw failed(new Error('invalid data URL'));
  let type = text.slice(0, comma).replace(/^[\t\n\f\r ]+|[\t\n\f\r ]+$/g, '');
  const plain = decodeBytes(text.slice(comma + 1));
  let bytes;
  if (/; *base64$/i.test(type)) {
    type = type.replace(/; *base64$/i, '');
    bytes = fromBase64(plain);
  } else {
    bytes = Buffer.from(plain, 'latin1');
  }
  if (type.startsWith(';')) type = `text/plain${type}`;
  const mime = parseMime(type);
  const headers = { 'content-type': mime === null ? 'text/plain;charset=US-ASCII' : writeMime(mime) };
  return describe(new Response(request.method === 'HEAD' ? null : bytes, { statusText: 'OK', headers }), { url: url.href });
}
// Percent signs to bytes, one in each character.
function decodeBytes(text) {
  return text.replace(/%([0-9a-f]{2})/gi, (all, hex) => String.fromCharCode(parseInt(hex, 16)));
}
function fromBlob(request) {
  const blob = load('blob').resolveObjectURL(request.url.replace(/#.*$/s, ''));
  if (blob === undefined || request.method !== 'GET') throw failed(new Error('invalid blob URL'));
  const headers = { 'content-length': `${blob.size}`, 'content-type': blob.type };
  return describe(new Response(blob, { statusText: 'OK', headers }), { url: request.url });
}

// ---- http: --------------------------------------------------------------------------------------------------------

async function overHttp(request, url) {
  let { method } = request;
  const headers = new Headers(request.headers);
  if (!headers.has('accept')) headers.set('accept', '*/*');
  if (!headers.has('accept-language')) headers.set('accept-language', '*');
  if (!headers.has('sec-fetch-mode')) headers.set('sec-fetch-mode', request.mode);
  if (!headers.has('user-agent')) headers.set('user-agent', 'vigil');
  if (!headers.has('accept-encoding')) headers.set('accept-encoding', binding.builtins.zlib === undefined ? 'identity' : 'gzip, deflate');
  // Text and bytes can be sent again after a redirect; a stream cannot.
  let whole = peek(request);
  let stream = whole === undefined ? chunks(request) : null;
  if (whole === '' || whole === undefined) whole = null;
  const hash = url.hash;
  for (let redirects = 0; ; redirects++) {
    const answer = await once(url, method, headers, whole, stream, request.signal);
    const { statusCode: status } = answer;
    const location = answer.headers.location;
    if (!REDIRECTS.includes(status) || location === undefined || request.redirect === 'manual') {
      return responseOf(answer, url, redirects > 0, request, method);
    }
    answer.destroy();
    if (request.redirect === 'error') throw failed(new Error('unexpected redirect'));
    if (redirects === MOST_REDIRECTS) throw failed(new Error('redirect count exceeded'));
    let next;
    try {
      next = new URL(location, url);
    } catch (error) {
      throw failed(error);
    }
    if (next.protocol !== 'http:' && next.protocol !== 'https:') throw failed(new Error('URL scheme must be a HTTP(S) scheme'));
    if (next.hash === '') next.hash = hash;
    if (stream !== null && status !== 303) throw failed(new Error('a body that is a stream cannot be sent twice'));
    if (((status === 301 || status === 302) && method === 'POST') || (status === 303 && method !== 'GET' && method !== 'HEAD')) {
      method = 'GET';
      whole = stream = null;
      for (const name of ['content-encoding', 'content-language', 'content-location', 'content-type', 'content-length']) headers.delete(name);
    }
    // Secrets are for the origin that they were given for.
    if (next.origin !== url.origin) for (const name of ['authorization', 'proxy-authorization', 'cookie', 'host']) headers.delete(name);
    url = next;
  }
}
// One request; its answer.
function once(url, method, headers, whole, stream, signal) {
  return new Promise((resolve, reject) => {
    const secure = url.protocol === 'https:';
    if (url.port !== '' && BAD_PORTS.has(+url.port)) {
      reject(failed(new Error('bad port')));
      return;
    }
    if (secure && binding.builtins.https === undefined) {
      reject(failed(new Error('this host has no TLS: https: cannot be fetched')));
      return;
    }
    const list = [];
    for (const [name, value] of headers) list.push(name, value);
    if (!headers.has('host')) list.unshift('host', url.host);
    if (!headers.has('connection')) list.unshift('connection', 'keep-alive');
    if (whole !== null && stream === null && !headers.has('content-length')) list.push('content-length', `${Buffer.byteLength(whole)}`);
    else if (stream !== null && !headers.has('content-length')) list.push('transfer-encoding', 'chunked');
    else if (whole === null && stream === null && (method === 'POST' || method === 'PUT' || method === 'PATCH')) list.push('content-length', '0');
    const { request: begin } = secure ? load('https') : load('http_client');
    const req = begin({
      protocol: url.protocol, hostname: url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname, port: url.port || undefined,
      path: `${url.pathname}${url.search}`, method, headers: list,
    });
    const abort = () => req.destroy(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    req.once('close', () => signal.removeEventListener('abort', abort));
    req.once('response', resolve);
    req.on('error', (error) => reject(signal.aborted ? signal.reason : failed(error)));
    if (stream === null) {
      req.end(whole ?? undefined);
      return;
    }
    pump(stream, req).catch((error) => {
      req.destroy();
      reject(error);
    });
  });
}
async function pump(stream, req) {
  for await (const chunk of stream) {
    if (!(chunk instanceof Uint8Array)) throw new TypeError('Received non-Uint8Array chunk');
    if (!req.write(chunk)) await new Promise((resolve) => req.once('drain', resolve).once('close', resolve));
    if (req.destroyed) return;
  }
  req.end();
}

// ---- the answer ---------------------------------------------------------------------------------------------------

function decoded(answer) {
  const codings = (answer.headers['content-encoding'] ?? '').toLowerCase().split(',').map((one) => one.trim()).filter((one) => one !== '');
  let stream = answer;
  for (let i = codings.length - 1; i >= 0; i--) {
    const zlib = binding.builtins.zlib === undefined ? undefined : load('zlib');
    let next;
    if (zlib === undefined) break;
    if (codings[i] === 'gzip' || codings[i] === 'x-gzip') next = zlib.createGunzip({ finishFlush: zlib.constants.Z_SYNC_FLUSH });
    else if (codings[i] === 'deflate') next = zlib.createInflate({ finishFlush: zlib.constants.Z_SYNC_FLUSH });
    else break;
    const from = stream;
    from.on('error', (error) => next.destroy(error));
    from.pipe(next);
    stream = next;
  }
  return stream;
}
function responseOf(answer, url, redirected, request, method) {
  const headers = new Headers();
  for (let i = 0; i + 1 < answer.rawHeaders.length; i += 2) headers.append(answer.rawHeaders[i], answer.rawHeaders[i + 1]);
  const { statusCode: status, statusMessage: statusText } = answer;
  let body = null;
  if (EMPTY.includes(status) || method === 'HEAD') {
    answer.resume();
  } else {
    const source = decoded(answer);
    const { signal } = request;
    let controls;
    let over = false;
    const abort = () => {
      if (over) return;
      over = true;
      controls.error(signal.reason);
      answer.destroy();
    };
    body = new (load('stream_web').ReadableStream)({
      type: 'bytes',
      start(controller) {
        controls = controller;
        source.on('data', (chunk) => {
          if (over) return;
          controller.enqueue(new Uint8Array(chunk));
          if (controller.desiredSize <= 0) source.pause();
        });
        source.on('end', () => {
          if (over) return;
          over = true;
          controller.close();
          controller.byobRequest?.respond(0);
        });
        const broken = (error) => {
          if (over) return;
          over = true;
          const wrapped = new TypeError('terminated');
          Object.defineProperty(wrapped, 'cause', { value: error, configurable: true, writable: true });
          controller.error(wrapped);
        };
        source.on('error', broken);
        answer.on('error', broken);
        answer.on('aborted', () => broken(Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' })));
        source.pause();
      },
      pull() { source.resume(); },
      cancel() {
        over = true;
        answer.destroy();
      },
    }, { highWaterMark: 65536 });
    signal.addEventListener('abort', abort, { once: true });
    answer.once('close', () => signal.removeEventListener('abort', abort));
  }
  const shown = new URL(url);
  shown.hash = '';
  const response = new Response(body, { status: status >= 200 && status <= 599 ? status : 200, statusText, headers });
  return describe(response, { url: shown.href, redirected, status });
}

module.exports = { fetch, BAD_PORTS };
