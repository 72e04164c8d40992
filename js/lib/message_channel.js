// SPDX-License-Identifier: MIT
// MessageChannel, MessagePort, MessageEvent, and BroadcastChannel within one host. A message is a structured clone; it arrives in a
// turn of its own, after those that were sent before it.
'use strict';

const { codes } = load('errors');
const { expose } = load('idl');
const { Event, EventTarget, DOMException, handlerProperty } = load('eventtarget');
const { cloneWith, kMove } = load('clone');
const sched = load('sched');

const EVER = 2 ** 31 - 1;

class MessageEvent extends Event {
  #data;
  #origin;
  #lastEventId;
  #source;
  #ports;
  constructor(type, init = {}) {
    super(type, init);
    init ??= {};
    this.#data = init.data === undefined ? null : init.data;
    this.#origin = `${init.origin ?? ''}`;
    this.#lastEventId = `${init.lastEventId ?? ''}`;
    this.#source = init.source ?? null;
    this.#ports = Object.freeze([...init.ports ?? []]);
  }
  get data() { return this.#data; }
  get origin() { return this.#origin; }
  get lastEventId() { return this.#lastEventId; }
  get source() { return this.#source; }
  get ports() { return this.#ports; }
}
expose(MessageEvent);

// ---- ports --------------------------------------------------------------------------------------------------------

// One end of a channel. A port is a handle to an end: a port that is transferred loses its end to another port.
class End {
  constructor() {
    this.other = null; // null: closed
    this.port = null;
    this.queue = [];
    this.due = false;
  }
  send(message) {
    this.queue.push(message);
    this.wake();
  }
  wake() {
    if (this.due || this.queue.length === 0 || this.port === null || !this.port[kState].started) return;
    this.due = true;
    sched.setImmediate(() => this.deliver());
  }
  deliver() {
    this.due = false;
    // What comes during that has a turn of its own.
    for (let left = this.queue.length, first = true; left > 0 && this.queue.length > 0; left--, first = false) {
      if (!first && binding.canDrain) sched.betweenCallbacks(); // each message is a callback of its own
      const port = this.port;
      if (port === null || !port[kState].started) return;
      const message = this.queue.shift();
      let event;
      try {
        const { value, moved } = message();
        event = new MessageEvent('message', { data: value, ports: moved.filter((one) => one instanceof MessagePort) });
      } catch {
        event = new MessageEvent('messageerror');
      }
      port.dispatchEvent(event);
    }
    this.wake();
  }
  close() {
    const { other } = this;
    if (other === null) return;
    this.other = other.other = null;
    this.gone?.();
    other.gone?.();
    for (const end of [this, other]) {
      const { port } = end;
      if (port === null) continue;
      // After the messages that are on their way.
      sched.setImmediate(() => {
        hold(port, false);
        port.dispatchEvent(new Event('close'));
      });
    }
  }
}

const kState = Symbol('state');
const kMake = Symbol('make');
// A port that somebody listens to keeps the program alive.
function hold(port, on) {
  const state = port[kState];
  const wanted = on && state.end !== null && state.end.other !== null && state.refed;
  if (wanted && state.timer === null) {
    state.timer = sched.setInterval(() => {}, EVER);
  } else if (!wanted && state.timer !== null) {
    sched.clearInterval(state.timer);
    state.timer = null;
  }
}

class MessagePort extends EventTarget {
  constructor(key = undefined, end = undefined) {
    if (key !== kMake) throw new codes.ERR_ILLEGAL_CONSTRUCTOR();
    super();
    Object.defineProperty(this, kState, { value: { end, started: false, closed: false, refed: true, timer: null } });
    end.port = this;
  }
  postMessage(message, options = undefined) {
    if (arguments.length === 0) throw new codes.ERR_MISSING_ARGS('message');
    const { end } = this[kState];
    const transfer = Array.isArray(options) || typeof options?.[Symbol.iterator] === 'function' ? [...options] : [...options?.transfer ?? []];
    if (transfer.includes(this)) throw new DOMException('Transfer list contains source port', 'DataCloneError');
    const pack = cloneWith(message, transfer);
    end?.other?.send(() => pack);
  }
  start() {
    const { end } = this[kState];
    if (end === null) return;
    this[kState].started = true;
    hold(this, true);
    end.wake();
  }
  close() {
    const { end } = this[kState];
    if (end === null) return;
    this[kState].closed = true;
    end.close();
  }
  ref() {
    this[kState].refed = true;
    hold(this, this[kState].started);
  }
  unref() {
    this[kState].refed = false;
    hold(this, false);
  }
  hasRef() { return this[kState].timer !== null; }
  // Node's names for the same.
  on(type, listener) {
    const wrapped = type === 'message' ? (event) => listener.call(this, event.data) : (event) => listener.call(this, event);
    (this[kState].wrapped ??= new Map()).set(listener, wrapped);
    this.addEventListener(type, wrapped);
    if (type === 'message') this.start();
    return this;
  }
  once(type, listener) {
    const wrapped = type === 'message' ? (event) => listener.call(this, event.data) : (event) => listener.call(this, event);
    this.addEventListener(type, wrapped, { once: true });
    if (type === 'message') this.start();
    return this;
  }
  off(type, listener) {
    const wrapped = this[kState].wrapped?.get(listener);
    if (wrapped !== undefined) this.removeEventListener(type, wrapped);
    return this;
  }
  [kMove]() {
    const state = this[kState];
    const { end } = state;
    if (end === null || state.closed) throw new DOMException('MessagePort in transfer list is already detached', 'DataCloneError');
    return () => {
      hold(this, false);
      state.end = null;
      end.port = null;
      return new MessagePort(kMake, end);
    };
  }
}
handlerProperty(MessagePort.prototype, 'message', (port) => port.start());
handlerProperty(MessagePort.prototype, 'messageerror');
handlerProperty(MessagePort.prototype, 'close');
expose(MessagePort);
Object.defineProperty(MessagePort.prototype, 'addListener', { value: MessagePort.prototype.on, writable: true, configurable: true });
Object.defineProperty(MessagePort.prototype, 'removeListener', { value: MessagePort.prototype.off, writable: true, configurable: true });

class MessageChannel {
  #port1;
  #port2;
  constructor() {
    const a = new End();
    const b = new End();
    a.other = b;
    b.other = a;
    this.#port1 = new MessagePort(kMake, a);
    this.#port2 = new MessagePort(kMake, b);
  }
  get port1() { return this.#port1; }
  get port2() { return this.#port2; }
}
expose(MessageChannel);

// ---- broadcast ----------------------------------------------------------------------------------------------------

const channels = new Map(); // name -> open channels in the order in which they were made
class BroadcastChannel extends EventTarget {
  #name;
  #closed = false;
  #timer = null;
  constructor(name) {
    if (arguments.length === 0) throw new codes.ERR_MISSING_ARGS('name');
    super();
    this.#name = `${name}`;
    const list = channels.get(this.#name);
    if (list === undefined) channels.set(this.#name, [this]);
    else list.push(this);
    this.#timer = sched.setInterval(() => {}, EVER);
  }
  get name() { return this.#name; }
  postMessage(message) {
    if (arguments.length === 0) throw new codes.ERR_MISSING_ARGS('message');
    if (this.#closed) throw new DOMException('BroadcastChannel is closed.', 'InvalidStateError');
    const others = channels.get(this.#name).filter((one) => one !== this);
    const { value } = cloneWith(message, []);
    for (const other of others) {
      sched.setImmediate(() => {
        if (!other.#closed) other.dispatchEvent(new MessageEvent('message', { data: cloneWith(value, []).value }));
      });
    }
  }
  close() {
    if (this.#closed) return;
    this.#closed = true;
    sched.clearInterval(this.#timer);
    const rest = channels.get(this.#name).filter((one) => one !== this);
    if (rest.length > 0) channels.set(this.#name, rest);
    else channels.delete(this.#name);
  }
  ref() {
    this.#timer.ref();
    return this;
  }
  unref() {
    this.#timer.unref();
    return this;
  }
}
handlerProperty(BroadcastChannel.prototype, 'message');
handlerProperty(BroadcastChannel.prototype, 'messageerror');
expose(BroadcastChannel);

// For worker_threads.js: a port of an end, and the end that a port gives up.
const portOf = (end) => new MessagePort(kMake, end);
function endOf(port) {
  const { end } = port[kState];
  port[kMove]();
  hold(port, false);
  port[kState].end = null;
  end.port = null;
  return end;
}
function receiveMessageOnPort(port) {
  if (!(port instanceof MessagePort)) throw new codes.ERR_INVALID_ARG_TYPE('port', 'MessagePort', port);
  const message = port[kState].end?.queue.shift();
  return message === undefined ? undefined : { message: message().value };
}

module.exports = { MessageChannel, MessagePort, MessageEvent, BroadcastChannel, End, portOf, endOf, receiveMessageOnPort };
