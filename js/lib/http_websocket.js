// SPDX-License-Identifier: MIT
// WebSocket and CloseEvent: the client of the WebSockets Standard, on http.request and its 'upgrade'.
//
// What the network does becomes tasks, and these run in a turn of their own, in order: a program sees no event inside a call of its own,
// and a message comes before the end that follows it. The protocol itself (pings, the closing handshake) waits for no task.
'use strict';

const { codes } = load('errors');
const { Event, EventTarget, DOMException, handlerProperty } = load('eventtarget');
const { MessageEvent } = load('message_channel');
const { OP, frame, Receiver, Fault } = load('http_websocket_frames');
const { TOKEN } = load('http_names');
const { Blob, isBlob, partsOf } = load('blob');
const { Buffer } = load('buffer');
const { URL } = load('url');
const sched = load('sched');

const CONNECTING = 0;
const OPEN = 1;
const CLOSING = 2;
const CLOSED = 3;
const MARK = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'; // RFC 6455: what a server adds to the key
const MOST_REASON = 123; // bytes of a reason
const CLOSE_MS = 30000; // how long a server has for its part of the closing handshake

class CloseEvent extends Event {
  #wasClean;
  #code;
  #reason;
  constructor(type, init = {}) {
    super(type, init);
    this.#wasClean = !!init?.wasClean;
    this.#code = (init?.code ?? 0) & 0xffff;
    this.#reason = `${init?.reason ?? ''}`.toWellFormed();
  }
  get wasClean() { return this.#wasClean; }
  get code() { return this.#code; }
  get reason() { return this.#reason; }
}
load('idl').expose(CloseEvent);

// ---- arguments ----------------------------------------------------------------------------------------------------

function urlOf(text) {
  let url;
  try {
    url = new URL(`${text}`);
  } catch {
    throw new DOMException(`'${text}' is no URL`, 'SyntaxError');
  }
  if (url.protocol === 'http:') url.protocol = 'ws:';
  else if (url.protocol === 'https:') url.protocol = 'wss:';
  if (url.protocol !== 'ws:' && url.protocol !== 'wss:') throw new DOMException(`a WebSocket has no URL of ${url.protocol}`, 'SyntaxError');
  if (url.href.includes('#')) throw new DOMException('the URL of a WebSocket has no fragment', 'SyntaxError');
  return url;
}
function protocolsOf(value) {
  const list = value !== null && typeof value === 'object' && value[Symbol.iterator] ? Array.from(value, (one) => `${one}`) : [`${value}`];
  const seen = new Set();
  for (let i = 0; i < list.length; i++) {
    const lower = list[i].toLowerCase();
    if (!TOKEN.test(list[i]) || seen.has(lower)) throw new DOMException(`'${list[i]}' is no protocol, or stands twice`, 'SyntaxError');
    seen.add(lower);
  }
  return list;
}
// What send() was given, as it is now: the program may change its buffer afterwards.
function payloadOf(data) {
  if (ArrayBuffer.isView(data)) return [OP.BINARY, new Uint8Array(data.buffer, data.byteOffset, data.byteLength)];
  if (data instanceof ArrayBuffer) return [OP.BINARY, new Uint8Array(data)];
  if (isBlob(data)) return [OP.BINARY, Buffer.concat(partsOf(data))];
  return [OP.TEXT, Buffer.from(`${data}`.toWellFormed())];
}

// ---- the handshake ------------------------------------------------------------------------------------------------

// Why an answer is no agreement; undefined: it is one.
function refusal(answer, key, protocols) {
  const { headers } = answer;
  if (headers.upgrade?.toLowerCase() !== 'websocket') return 'the answer upgrades to something else';
  const accept = load('crypto_hash').createHash('sha1').update(key + MARK).digest('base64');
  if (headers['sec-websocket-accept'] !== accept) return 'the answer is not one to this key';
  if (headers['sec-websocket-extensions'] !== undefined) return 'the answer has extensions that nobody asked for';
  const protocol = headers['sec-websocket-protocol'];
  if (protocol === undefined ? protocols.length > 0 : !protocols.includes(protocol)) return 'the answer has none of the protocols';
  return undefined;
}
function ask(url, key, protocols, headers) {
  const secure = url.protocol === 'wss:';
  if (secure && binding.builtins.https === undefined) throw new Error('this host has no TLS: wss: cannot be connected to');
  if (load('http_fetch_client').BAD_PORTS.has(url.port === '' ? -1 : Number(url.port))) throw new Error('bad port');
  const client = load('http_client');
  const all = {
    ...headers, 'Connection': 'Upgrade', 'Upgrade': 'websocket', 'Sec-WebSocket-Key': key, 'Sec-WebSocket-Version': '13',
  };
  if (protocols.length > 0) all['Sec-WebSocket-Protocol'] = protocols.join(', ');
  const options = { ...client.urlOptions(url), protocol: secure ? 'https:' : 'http:', headers: all, agent: false };
  return (secure ? load('https') : client).request(options);
}

// ---- the class ----------------------------------------------------------------------------------------------------

class WebSocket extends EventTarget {
  #url;
  #protocol = '';
  #state = CONNECTING;
  #binaryType = 'blob';
  #buffered = 0;
  #request = null;
  #socket = null;
  #tasks = [];
  #due = false;
  #sentClose = false;
  #failed = null; // the error for which the connection has failed
  #end = null; // [code, reason] of the server's close
  #ping = null; // the newest one that was not answered
  constructor(url, protocols = []) {
    if (arguments.length === 0) throw new codes.ERR_MISSING_ARGS('url');
    super();
    const record = urlOf(url);
    // As in Node, an object has options.
    const options = protocols !== null && typeof protocols === 'object' && !protocols[Symbol.iterator] ? protocols : { protocols };
    const list = protocolsOf(options.protocols ?? []);
    this.#url = record.href;
    this.#connect(record, list, Object.fromEntries(new (load('http_fetch').Headers)(options.headers ?? {})));
  }
  get url() { return this.#url; }
  get readyState() { return this.#state; }
  get bufferedAmount() { return this.#buffered; }
  get extensions() { return ''; }
  get protocol() { return this.#protocol; }
  get binaryType() { return this.#binaryType; }
  set binaryType(value) {
    const type = `${value}`;
    if (type === 'blob' || type === 'arraybuffer') this.#binaryType = type;
  }
  send(data) {
    if (arguments.length === 0) throw new codes.ERR_MISSING_ARGS('data');
    if (this.#state === CONNECTING) throw new DOMException('The connection is not open yet', 'InvalidStateError');
    const [op, bytes] = payloadOf(data);
    const { length } = bytes;
    this.#buffered += length;
    // What nobody sends any more stays in the sum.
    if (this.#state === OPEN && !this.#sentClose) this.#write(frame(op, bytes), (error) => { if (!error) this.#buffered -= length; });
  }
  close(code = undefined, reason = undefined) {
    let bytes = Buffer.alloc(0);
    if (code !== undefined) {
      code = Math.min(Math.max(Math.round(+code) || 0, 0), 65535);
      if (code !== 1000 && !(code >= 3000 && code <= 4999)) throw new DOMException(`${code} is no code for close`, 'InvalidAccessError');
    }
    if (reason !== undefined) {
      bytes = Buffer.from(`${reason}`.toWellFormed());
      if (bytes.length > MOST_REASON) throw new DOMException(`A reason has at most ${MOST_REASON} bytes`, 'SyntaxError');
      if (bytes.length > 0) code ??= 1000;
    }
    if (this.#state === CONNECTING) this.#fail(new Error('closed before the connection was open'));
    else if (this.#state === OPEN) this.#sendClose(code, bytes);
    if (this.#state !== CLOSED) this.#state = CLOSING;
  }
  [Symbol.for('nodejs.util.inspect.custom')](depth, options, inspect) {
    const { url, readyState, protocol, binaryType, bufferedAmount } = this;
    return `WebSocket ${inspect({ url, readyState, protocol, binaryType, bufferedAmount }, options)}`;
  }

  // ---- tasks

  #task(run) {
    this.#tasks.push(run);
    if (this.#due) return;
    this.#due = true;
    sched.setImmediate(() => this.#run());
  }
  #run() {
    const tasks = this.#tasks;
    this.#tasks = [];
    this.#due = false;
    for (let i = 0; i < tasks.length; i++) {
      if (i > 0 && binding.canDrain) sched.betweenCallbacks(); // each is a callback of its own
      tasks[i]();
    }
  }

  // ---- the beginning

  #connect(url, protocols, headers) {
    const key = Buffer.from(load('crypto').crypto.getRandomValues(new Uint8Array(16))).toString('base64');
    let request;
    try {
      request = this.#request = ask(url, key, protocols, headers);
    } catch (error) {
      this.#fail(error);
      return;
    }
    request.on('error', (error) => this.#fail(error));
    const refused = (answer) => {
      answer.on?.('error', () => {}); // it is cut off
      this.#fail(new Error(`the server has answered with the status ${answer.statusCode}`));
    };
    request.on('response', refused);
    request.on('information', (answer) => { if (answer.statusCode === 101) refused(answer); }); // without "Connection: Upgrade"
    request.on('upgrade', (answer, socket, head) => {
      socket.on('error', () => {}); // what it ends is told by 'close'
      if (this.#failed !== null) {
        socket.destroy();
        return;
      }
      const why = refusal(answer, key, protocols);
      if (why !== undefined) {
        this.#fail(new Error(why));
        socket.destroy();
        return;
      }
      this.#open(socket, head, answer.headers['sec-websocket-protocol'] ?? '', url.origin);
    });
    request.end();
  }
  #open(socket, head, protocol, origin) {
    this.#socket = socket;
    this.#request = null;
    const give = (data) => this.#task(() => {
      if (this.#state !== OPEN) return;
      if (typeof data !== 'string') data = this.#binaryType === 'blob' ? new Blob([data]) : data.buffer;
      this.dispatchEvent(new MessageEvent('message', { data, origin }));
    });
    const receiver = new Receiver({
      text: give,
      binary: give,
      ping: (bytes) => {
        this.#ping = bytes;
        this.#pong();
      },
      close: (code, reason) => this.#received(code, reason),
    });
    const receive = (bytes) => {
      try {
        receiver.add(bytes);
      } catch (error) {
        this.#fail(error);
      }
    };
    // The program hears of 'open' before the first message.
    this.#task(() => {
      if (this.#state !== CONNECTING) return;
      this.#state = OPEN;
      this.#protocol = protocol;
      this.dispatchEvent(new Event('open'));
    });
    socket.setNoDelay?.(true);
    socket.on('drain', () => this.#pong());
    socket.on('close', () => {
      if (this.#end === null) this.#fail(new Error('the connection has ended without a close'));
      else this.#finish();
    });
    receive(head);
    socket.on('data', receive);
  }

  // ---- the protocol

  #write(bytes, done = undefined) {
    if (!this.#socket.destroyed && this.#socket.writable) this.#socket.write(bytes, done);
  }
  // While the server does not read, only its newest ping is kept.
  #pong() {
    if (this.#ping === null || this.#sentClose || this.#socket.writableNeedDrain) return;
    const bytes = this.#ping;
    this.#ping = null;
    this.#write(frame(OP.PONG, bytes));
  }
  #sendClose(code, reason) {
    const head = code === undefined ? [] : [Buffer.from([code >> 8, code & 255])];
    if (this.#sentClose) return;
    this.#sentClose = true;
    this.#write(frame(OP.CLOSE, Buffer.concat([...head, reason])));
    const socket = this.#socket;
    const timer = sched.setTimeout(() => socket.destroy(), CLOSE_MS).unref();
    socket.once('close', () => sched.clearTimeout(timer));
  }
  // The server's close: it is answered at once, the program hears of it after what came before.
  #received(code, reason) {
    this.#end = [code, reason];
    this.#sendClose(code === 1005 ? undefined : code, Buffer.alloc(0));
    this.#task(() => { if (this.#state === OPEN) this.#state = CLOSING; });
    this.#socket.end();
  }
  #fail(error) {
    if (this.#failed !== null || this.#state === CLOSED || this.#end !== null) return;
    this.#failed = error;
    const socket = this.#socket;
    if (socket === null) {
      this.#request?.destroy();
    } else if (!socket.destroyed) {
      if (error instanceof Fault) this.#sendClose(error.status, Buffer.alloc(0));
      socket.destroySoon();
    }
    this.#finish();
  }
  #finish() {
    this.#task(() => {
      if (this.#state === CLOSED) return;
      this.#state = CLOSED;
      const error = this.#failed;
      if (error !== null) this.dispatchEvent(Object.assign(new Event('error'), { message: error.message, error }));
      const [code, reason] = this.#end ?? [1006, ''];
      this.dispatchEvent(new CloseEvent('close', { wasClean: error === null, code, reason }));
    });
  }
}
for (const type of ['open', 'error', 'close', 'message']) handlerProperty(WebSocket.prototype, type);
for (const [name, value] of Object.entries({ CONNECTING, OPEN, CLOSING, CLOSED })) {
  Object.defineProperty(WebSocket, name, { value, enumerable: true });
  Object.defineProperty(WebSocket.prototype, name, { value, enumerable: true });
}
load('idl').expose(WebSocket);

module.exports = { WebSocket, CloseEvent };
