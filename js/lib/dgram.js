// SPDX-License-Identifier: MIT
// node:dgram: UDP sockets. Each is a link of C's (net_link.js) that reads datagrams.
'use strict';

const EventEmitter = load('events');
const { Buffer } = load('buffer');
const { Handle, errnoError, placeError } = load('net_link');
const { codes, validateAbortSignal, validateFunction, validateString } = load('errors');
const { BROADCAST, TTL, MULTICAST_TTL, MULTICAST_LOOPBACK, RECEIVE_BUFFER, SEND_BUFFER } = load('constants').datagram;
const native = binding.datagram();

const UNBOUND = 0;
const BINDING = 1;
const BOUND = 2;

function validatePort(port, name, zero) {
  const number = typeof port === 'string' && port.trim() !== '' ? Number(port) : port;
  if (typeof number !== 'number' || !Number.isInteger(number) || number < (zero ? 0 : 1) || number > 65535) {
    throw new codes.ERR_SOCKET_BAD_PORT(name, port, zero);
  }
  return number;
}
function validateNumber(value, name) {
  if (typeof value !== 'number') throw new codes.ERR_INVALID_ARG_TYPE(name, 'number', value);
}
function bytesOf(data, name, whole = data) {
  if (typeof data === 'string') return Buffer.from(data);
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  throw new codes.ERR_INVALID_ARG_TYPE(name, ['Buffer', 'TypedArray', 'DataView', 'string'], whole);
}

class Socket extends EventEmitter {
  #handle;
  #six;
  #state = UNBOUND;
  #connected = UNBOUND;
  #lookup;
  #options;
  #queue = []; // sends that wait for the kernel: { bytes, address, port, callback }
  #queuedBytes = 0;
  #afterBind = [];
  constructor(type, listener) {
    super();
    const options = type !== null && typeof type === 'object' ? type : { type };
    if (options.type !== 'udp4' && options.type !== 'udp6') throw new codes.ERR_SOCKET_BAD_TYPE();
    if (options.lookup !== undefined) validateFunction(options.lookup, 'lookup');
    for (const name of ['recvBufferSize', 'sendBufferSize']) if (options[name] !== undefined) validateNumber(options[name], `options.${name}`);
    this.type = options.type;
    this.#options = options;
    this.#six = options.type === 'udp6';
    this.#lookup = options.lookup;
    const id = native.open(this.#six);
    if (id < 0) throw errnoError(id, 'socket');
    this.#handle = new Handle(id);
    this.#handle.onDatagram = (bytes, address, family, port) => {
      this.emit('message', bytes, { address, family, port, size: bytes.length });
    };
    this.#handle.onFail = (number) => this.emit('error', errnoError(number, 'recvmsg'));
    this.#handle.onSent = () => this.#flush();
    if (listener !== undefined) this.on('message', listener);
    binding.publish('udp.socket', { socket: this });
    const { signal } = options;
    if (signal !== undefined) {
      validateAbortSignal(signal, 'options.signal');
      const abort = () => { if (this.#handle !== null) this.close(); };
      if (signal.aborted) process.nextTick(abort);
      else {
        signal.addEventListener('abort', abort);
        this.once('close', () => signal.removeEventListener('abort', abort));
      }
    }
  }
  #open() {
    if (this.#handle === null) throw new codes.ERR_SOCKET_DGRAM_NOT_RUNNING();
    return this.#handle;
  }
  #find(address, callback) {
    const any = this.#six ? '::1' : '127.0.0.1';
    const family = this.#six ? 6 : 4;
    const wanted = address || any;
    // The system's own functions take numbers of the right family as they are; so do we, in the same order of events.
    (this.#lookup ?? load('dns').lookup)(wanted, family, (error, found) => {
      if (this.#handle === null) return;
      callback(error, found);
    });
  }

  // ---- where it receives

  bind(port, address, ...rest) {
    this.#open();
    if (this.#state !== UNBOUND) throw new codes.ERR_SOCKET_ALREADY_BOUND();
    const callback = [port, address, ...rest].findLast((one) => typeof one === 'function');
    let exclusive = false;
    let fd;
    if (port !== null && typeof port === 'object') ({ port, address, exclusive = false, fd } = port);
    void exclusive; // nothing shares sockets here
    if (fd !== undefined) throw new codes.ERR_FEATURE_UNAVAILABLE_ON_PLATFORM('a datagram socket of a descriptor');
    if (typeof port === 'function' || port === undefined || port === null) port = 0;
    if (typeof address === 'function') address = '';
    if (address !== undefined && address !== null) validateString(address, 'address');
    this.#state = BINDING;
    if (callback !== undefined) {
      const failed = () => this.removeListener('listening', heard);
      const heard = () => {
        this.removeListener('error', failed);
        Reflect.apply(callback, this, []);
      };
      this.once('error', failed);
      this.once('listening', heard);
    }
    const go = (error, found) => {
      if (error) {
        this.#state = UNBOUND;
        this.emit('error', error);
        return;
      }
      const status = native.bind(this.#handle.id, found, Number(port), !!this.#options.reuseAddr, !!this.#options.ipv6Only);
      if (status < 0) {
        this.#state = UNBOUND;
        this.emit('error', placeError(status, 'bind', found, port));
        return;
      }
      this.#handle.readStart();
      this.#state = BOUND;
      if (this.#options.recvBufferSize) this.setRecvBufferSize(this.#options.recvBufferSize);
      if (this.#options.sendBufferSize) this.setSendBufferSize(this.#options.sendBufferSize);
      this.emit('listening');
      const waiting = this.#afterBind;
      this.#afterBind = [];
      for (const one of waiting) one();
    };
    this.#find(address || (this.#six ? '::' : '0.0.0.0'), go);
    return this;
  }
  // Sending needs a socket that is bound; a port of the system's choice is enough.
  #bound(action) {
    if (this.#state === BOUND) {
      action();
      return;
    }
    this.#afterBind.push(action);
    if (this.#state === UNBOUND) this.bind({ port: 0, exclusive: true });
  }
  connect(port, address, callback) {
    port = validatePort(port, 'Port', false);
    if (typeof address === 'function') [callback, address] = [address, ''];
    else if (address === undefined || address === null) address = '';
    validateString(address, 'address');
    this.#open();
    if (this.#connected !== UNBOUND) throw new codes.ERR_SOCKET_DGRAM_IS_CONNECTED();
    this.#connected = BINDING;
    if (callback !== undefined) this.once('connect', callback);
    this.#bound(() => this.#find(address, (error, found) => {
      const status = error ? 0 : native.connect(this.#handle.id, found, port);
      if (error || status < 0) {
        this.#connected = UNBOUND;
        const failure = error ?? placeError(status, 'connect', address, port);
        process.nextTick(() => {
          if (callback !== undefined) {
            this.removeListener('connect', callback);
            callback(failure);
          } else {
            this.emit('error', failure);
          }
        });
        return;
      }
      this.#connected = BOUND;
      process.nextTick(() => this.emit('connect'));
    }));
  }
  disconnect() {
    this.#open();
    if (this.#connected !== BOUND) throw new codes.ERR_SOCKET_DGRAM_NOT_CONNECTED();
    const status = native.connect(this.#handle.id);
    if (status < 0) throw errnoError(status, 'connect');
    this.#connected = UNBOUND;
  }

  // ---- sending: (data, [offset, length,] [port, [address,]] [callback])

  sendto(data, offset, length, port, address, callback) {
    for (const [name, value] of [['offset', offset], ['length', length], ['port', port]]) validateNumber(value, name);
    validateString(address, 'address');
    this.send(data, offset, length, port, address, callback);
  }
  send(data, offset, length, port, address, callback) {
    const connected = this.#connected === BOUND;
    const part = connected ? typeof length === 'number' : Boolean(address || (port && typeof port !== 'function'));
    let bytes;
    if (part) {
      if (typeof data === 'string') data = Buffer.from(data);
      bytes = bytesOf(data, 'buffer');
      offset >>>= 0;
      length >>>= 0;
      if (offset > bytes.length) throw new codes.ERR_BUFFER_OUT_OF_BOUNDS('offset');
      if (offset + length > bytes.length) throw new codes.ERR_BUFFER_OUT_OF_BOUNDS('length');
      bytes = bytes.subarray(offset, offset + length);
      if (connected) [callback, port, address] = [port, undefined, undefined];
    } else {
      if (connected) [callback, port, address] = [offset, undefined, undefined];
      else [port, address, callback] = [offset, length, port];
      if (Array.isArray(data)) bytes = Buffer.concat(data.map((one) => bytesOf(one, 'buffer list arguments', data)));
      else bytes = bytesOf(data, 'buffer');
    }
    if (connected) {
      if (typeof callback !== 'function') callback = undefined;
    } else {
      port = validatePort(port, 'Port', false);
      if (typeof address === 'function') [callback, address] = [address, undefined];
      if (typeof callback !== 'function') callback = undefined;
      if (address !== undefined && address !== null && typeof address !== 'string') {
        throw new codes.ERR_INVALID_ARG_TYPE('address', 'string', address);
      }
    }
    this.#open();
    const item = { bytes, address: undefined, port, callback };
    this.#bound(() => {
      if (connected) {
        this.#give(item);
        return;
      }
      this.#find(address, (error, found) => {
        if (error) {
          this.#done(item, error);
          return;
        }
        item.address = found;
        this.#give(item);
      });
    });
  }
  #done({ callback, address, port, bytes }, error) {
    const failure = typeof error === 'number' ? placeError(error, 'send', address, port) : error;
    process.nextTick(() => {
      if (callback !== undefined) callback(failure, failure === null ? bytes.length : undefined);
      else if (failure !== null) this.emit('error', failure);
    });
  }
  #give(item) {
    const status = this.#queue.length > 0 ? -11 : native.send(this.#handle.id, item.bytes, item.address, item.port);
    if (status === -11) {
      this.#queue.push(item);
      this.#queuedBytes += item.bytes.length;
    } else {
      this.#done(item, status < 0 ? status : null);
    }
  }
  #flush() {
    while (this.#handle !== null && this.#queue.length > 0) {
      const item = this.#queue[0];
      const status = native.send(this.#handle.id, item.bytes, item.address, item.port);
      if (status === -11) return;
      this.#queue.shift();
      this.#queuedBytes -= item.bytes.length;
      this.#done(item, status < 0 ? status : null);
    }
  }
  getSendQueueSize() { return this.#queuedBytes; }
  getSendQueueCount() { return this.#queue.length; }

  // ---- its end

  close(callback) {
    if (typeof callback === 'function') this.on('close', callback);
    const handle = this.#open();
    // Sends that wait for the bind still go out, before the end.
    if (this.#state === BINDING && this.#afterBind.length > 0) {
      this.#afterBind.push(() => { if (this.#handle !== null) this.close(); });
      return this;
    }
    this.#handle = null;
    handle.close();
    process.nextTick(() => this.emit('close'));
    return this;
  }
  [Symbol.asyncDispose]() { return this.#handle === null ? Promise.resolve() : new Promise((resolve) => { this.close(resolve); }); }
  address() {
    const found = this.#open().local();
    if (this.#state !== BOUND || found === undefined) throw errnoError(-9, 'getsockname');
    const [address, family, port] = found;
    return { address, family, port };
  }
  remoteAddress() {
    const handle = this.#open();
    if (this.#connected !== BOUND) throw new codes.ERR_SOCKET_DGRAM_NOT_CONNECTED();
    const [address, family, port] = handle.remote();
    return { address, family, port };
  }
  ref() {
    this.#handle?.ref();
    return this;
  }
  unref() {
    this.#handle?.unref();
    return this;
  }

  // ---- options

  #set(option, value, syscall) {
    // As in Node: the system has no socket before it is bound.
    const status = this.#open() && this.#state === BOUND ? native.set(this.#handle.id, option, value) : -9;
    if (status < 0) throw errnoError(status, syscall);
    return value;
  }
  setBroadcast(on) { this.#set(BROADCAST, on ? 1 : 0, 'setBroadcast'); }
  setTTL(ttl) {
    validateNumber(ttl, 'ttl');
    return this.#set(TTL, ttl > 0 && ttl < 256 ? ttl : this.#bad('setTTL'), 'setTTL');
  }
  setMulticastTTL(ttl) {
    validateNumber(ttl, 'ttl');
    return this.#set(MULTICAST_TTL, ttl >= 0 && ttl < 256 ? ttl : this.#bad('setMulticastTTL'), 'setMulticastTTL');
  }
  #bad(syscall) {
    this.#open();
    throw errnoError(-22, syscall);
  }
  setMulticastLoopback(on) {
    this.#set(MULTICAST_LOOPBACK, on ? 1 : 0, 'setMulticastLoopback');
    return on;
  }
  setMulticastInterface(address) {
    validateString(address, 'multicastInterface');
    const status = native.face(this.#open().id, address);
    if (status < 0) throw errnoError(status, 'setMulticastInterface');
  }
  #member(group, face, join, name) {
    if (!group) throw new codes.ERR_MISSING_ARGS('multicastAddress');
    this.#open();
    if (this.#state === UNBOUND && join) this.bind({ port: 0, exclusive: true });
    const status = native.member(this.#handle.id, group, face || undefined, join);
    if (status < 0) throw errnoError(status, name);
  }
  addMembership(group, face) { this.#member(group, face, true, 'addMembership'); }
  dropMembership(group, face) { this.#member(group, face, false, 'dropMembership'); }
  #size(send, value) {
    const what = send ? 'uv_send_buffer_size' : 'uv_recv_buffer_size';
    const fail = (number) => {
      const [code, message] = binding.errorName(-number);
      return new codes.ERR_SOCKET_BUFFER_SIZE(`${what} returned ${code} (${message})`);
    };
    if (this.#handle === null || this.#state !== BOUND) throw fail(-9);
    if (value !== undefined) {
      if (typeof value !== 'number' || value >>> 0 !== value) throw new codes.ERR_SOCKET_BAD_BUFFER_SIZE();
      const status = native.set(this.#handle.id, send ? SEND_BUFFER : RECEIVE_BUFFER, value);
      if (status < 0) throw fail(status);
      return undefined;
    }
    return native.size(this.#handle.id, send);
  }
  setRecvBufferSize(size) { this.#size(false, size ?? NaN); }
  setSendBufferSize(size) { this.#size(true, size ?? NaN); }
  getRecvBufferSize() { return this.#size(false); }
  getSendBufferSize() { return this.#size(true); }
}

module.exports = { Socket, createSocket: (type, listener) => new Socket(type, listener) };
