// SPDX-License-Identifier: MIT
// The channel between a program and a child that it has forked: messages over a pair of sockets, as Node writes them, so that either side may
// be Node. 'json': a text and a line end for each message. 'advanced': four bytes of length and what v8.serialize makes.
'use strict';

const { adopt, errnoError } = load('net_link');
const { Buffer } = load('buffer');
const { codes, validateObject } = load('errors');

const writers = {
  json: (message) => Buffer.from(`${JSON.stringify(message)}\n`),
  advanced(message) {
    const body = load('v8').serialize(message);
    const head = Buffer.alloc(4);
    head.writeUInt32BE(body.length);
    return Buffer.concat([head, body]);
  },
};
// Whether a message may have ended with these bytes, of which `total` are there now; and the messages, with what is left of the bytes.
const readers = {
  json: {
    complete: (bytes) => bytes.includes(10),
    take(bytes) {
      const messages = [];
      let start = 0;
      for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, start)) {
        messages.push(JSON.parse(bytes.toString('utf8', start, at)));
        start = at + 1;
      }
      return [messages, bytes.subarray(start)];
    },
  },
  advanced: {
    complete: (bytes, parts, total) => parts[0].length < 4 || total >= 4 + parts[0].readUInt32BE(0),
    take(bytes) {
      const messages = [];
      let start = 0;
      while (bytes.length - start >= 4) {
        const end = start + 4 + bytes.readUInt32BE(start);
        if (end > bytes.length) break;
        messages.push(load('v8').deserialize(bytes.subarray(start + 4, end)));
        start = end;
      }
      return [messages, bytes.subarray(start)];
    },
  },
};

// What programs see as `channel`. In a child it keeps the program alive only while somebody listens.
class Channel {
  #handle;
  #wanted; // whether it keeps the program alive; undefined: while somebody listens
  #listeners = 0;
  #sending = false;
  constructor(handle, wanted) {
    this.#handle = handle;
    this.#wanted = wanted;
    this.#update();
  }
  #update() { this.#handle.setRef(this.#sending || (this.#wanted ?? this.#listeners > 0)); }
  listen(change) {
    this.#listeners += change;
    this.#update();
  }
  // What was sent still goes out.
  sending(on) {
    this.#sending = on;
    this.#update();
  }
  ref() {
    this.#wanted = true;
    this.#update();
  }
  unref() {
    this.#wanted = false;
    this.#update();
  }
  hasRef() { return this.#handle.hasRef(); }
}

// Gives `target` (a ChildProcess, or process in the child) its half of the channel. closed() follows its end.
function setup(target, fd, serialization, inChild, closed = () => {}) {
  const handle = adopt(fd);
  if (typeof handle === 'number') throw errnoError(handle, 'channel');
  const channel = new Channel(handle, inChild ? undefined : true);
  const write = writers[serialization];
  const read = readers[serialization];
  let parts = []; // of a message that has not ended
  let total = 0;
  let waiting = []; // callbacks of messages that are not with the kernel yet
  let unheard = []; // messages that came before anybody listened
  let leaving = false;
  target.channel = channel;
  Object.defineProperty(target, '_channel', { configurable: true, enumerable: false, get() { return this.channel; }, set(value) { this.channel = value; } });
  target.connected = true;

  const deliver = (message) => {
    if (typeof message?.cmd === 'string' && message.cmd.startsWith('NODE_')) target.emit('internalMessage', message, undefined);
    else if (target.listenerCount('message') > 0) target.emit('message', message, undefined);
    else unheard.push(message);
  };
  const finish = () => {
    if (handle.id < 0) return;
    handle.close();
    target.channel = null;
    target.connected = false;
    process.nextTick(() => {
      target.emit('disconnect');
      closed();
    });
  };
  const leave = () => {
    leaving = true;
    target.connected = false;
    if (waiting.length === 0) finish();
  };
  handle.onData = (bytes) => {
    let messages;
    let rest;
    parts.push(bytes);
    total += bytes.length;
    if (!read.complete(bytes, parts, total)) return;
    try {
      [messages, rest] = read.take(parts.length === 1 ? bytes : Buffer.concat(parts));
      parts = rest.length === 0 ? [] : [rest];
      total = rest.length;
    } catch (error) {
      target.emit('error', error);
      finish();
      return;
    }
    for (const message of messages) process.nextTick(deliver, message);
  };
  handle.onEnd = finish;
  handle.onFail = finish;
  handle.onSent = (status) => {
    const done = waiting;
    waiting = [];
    channel.sending(false);
    for (const callback of done) if (typeof callback === 'function') callback(status < 0 ? errnoError(status, 'write') : null);
    if (leaving) finish();
  };
  target.on('newListener', (name) => {
    if (name !== 'message' && name !== 'disconnect') return;
    if (inChild) channel.listen(1);
    if (name !== 'message' || unheard.length === 0) return;
    const list = unheard;
    unheard = [];
    for (const message of list) process.nextTick(deliver, message);
  });
  if (inChild) {
    target.on('removeListener', (name) => {
      if (name === 'message' || name === 'disconnect') channel.listen(-1);
    });
  }
  target.send = function send(message, sent, options, callback) {
    if (typeof sent === 'function') [callback, sent, options] = [sent, undefined, undefined];
    else if (typeof options === 'function') [callback, options] = [options, undefined];
    else if (options !== undefined) validateObject(options, 'options');
    if (message === undefined) throw new codes.ERR_MISSING_ARGS('message');
    if (typeof message !== 'string' && typeof message !== 'object' && typeof message !== 'number' && typeof message !== 'boolean') {
      throw new codes.ERR_INVALID_ARG_TYPE('message', ['string', 'object', 'number', 'boolean'], message);
    }
    if (sent !== undefined && sent !== null && (typeof sent !== 'object' || typeof sent.on !== 'function')) throw new codes.ERR_INVALID_HANDLE_TYPE();
    if (sent !== undefined && sent !== null) throw new codes.ERR_FEATURE_UNAVAILABLE_ON_PLATFORM('a socket or server as part of a message');
    if (!target.connected) {
      const error = new codes.ERR_IPC_CHANNEL_CLOSED();
      process.nextTick(() => (typeof callback === 'function' ? callback(error) : target.emit('error', error)));
      return false;
    }
    const queued = handle.write(write(message));
    if (queued < 0) {
      const error = errnoError(queued, 'write');
      process.nextTick(() => (typeof callback === 'function' ? callback(error) : target.emit('error', error)));
      return false;
    }
    if (queued > 0) {
      waiting.push(callback);
      channel.sending(true);
    }
    if (queued === 0 && typeof callback === 'function') process.nextTick(callback, null);
    return queued < 65536 * 2;
  };
  target.disconnect = function disconnect() {
    if (!target.connected) {
      target.emit('error', new codes.ERR_IPC_DISCONNECTED());
      return;
    }
    leave();
  };
  target._disconnect = leave;
  handle.readStart();
}

// In a program that was forked: its parent has put the descriptor into the environment.
function begin() {
  const { env } = process;
  const fd = Number(env.NODE_CHANNEL_FD);
  const mode = env.NODE_CHANNEL_SERIALIZATION_MODE === 'advanced' ? 'advanced' : 'json';
  delete env.NODE_CHANNEL_FD;
  delete env.NODE_CHANNEL_SERIALIZATION_MODE;
  if (!Number.isInteger(fd) || fd < 3) return;
  setup(process, fd, mode, true);
}

module.exports = { setup, begin };
