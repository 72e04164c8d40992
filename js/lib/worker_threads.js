// SPDX-License-Identifier: MIT
// node:worker_threads: a worker is a host on a thread of its own (worker.c). Messages are written as v8_wire.js does it. Each thread has one
// way to each other that it knows, the link; ports are numbered on it, and number 0 is the one of parentPort.
'use strict';

const EventEmitter = load('events');
const { codes, validateObject } = load('errors');
const { MessageChannel, MessagePort, BroadcastChannel, End, portOf, endOf, receiveMessageOnPort } = load('message_channel');
const { Serializer, Deserializer } = load('v8_wire');
const { kMove } = load('clone');
const { DOMException } = load('eventtarget');
const KIND = load('constants').worker;
const { worker: native } = binding;

const MAIN = 0;
const SHARE_ENV = Symbol.for('nodejs.worker_threads.SHARE_ENV');
// What is written in front of the value.
const PORT_MESSAGE = 0;
const PORT_CLOSE = 1;
const ONLINE = 2;
const FAILED = 3;

// ---- the link -----------------------------------------------------------------------------------------------------

function CloneError(message) {
  return new DOMException(message, 'DataCloneError');
}

// Ports go over a link as their numbers.
class Writer extends Serializer {
  constructor(link) {
    super();
    this.link = link;
    this.ports = new Map();
  }
  _writeHostObject(value) {
    if (!(value instanceof MessagePort)) throw CloneError('Object that needs transfer was found in message but not listed in transferList');
    let number = this.ports.get(value);
    if (number === undefined) this.ports.set(value, number = this.link.give(value));
    this.writeUint32(number);
  }
}
Object.defineProperty(Writer.prototype, '_getDataCloneError', { value: CloneError });
class Reader extends Deserializer {
  constructor(bytes, link) {
    super(bytes);
    this.link = link;
    this.moved = [];
  }
  _readHostObject() {
    const port = this.link.take(this.readUint32());
    this.moved.push(port);
    return port;
  }
}

class Link {
  // `first`: the sides must not choose the same numbers.
  constructor(send, first) {
    this.send = send;
    this.next = first;
    this.ends = new Map(); // number -> { deliver(pack), close() }
  }
  write(kind, number, pack) {
    const writer = new Writer(this);
    writer.writeUint32(kind);
    writer.writeUint32(number);
    if (pack !== undefined) {
      // Ports may be in the list and not in the value.
      writer.writeValue(pack.value);
      const rest = (pack.moved ?? []).filter((one) => one instanceof MessagePort && !writer.ports.has(one));
      writer.writeUint32(rest.length);
      for (const port of rest) writer._writeHostObject(port);
    }
    this.send(writer.releaseBuffer());
  }
  // This side's port of a number: what it sends goes over the link.
  take(number) {
    const end = new End();
    const far = new End();
    end.other = far;
    far.other = end;
    this.#forward(far, number);
    this.ends.set(number, { deliver: (pack) => end.send(() => pack), close: () => end.close() });
    return portOf(end);
  }
  // A port of this side goes to the other one: what its partner sends follows it.
  give(port) {
    const end = endOf(port);
    const number = this.next;
    this.next += 2;
    let waiting = end.queue.splice(0);
    this.#forward(end, number);
    const { send } = end;
    end.send = (message) => {
      if (waiting === null) send(message);
      else waiting.push(message);
    };
    this.ends.set(number, { deliver: (pack) => end.other?.send(() => pack), close: () => end.close() });
    // After the message with which the port itself goes.
    process.nextTick(() => {
      const first = waiting;
      waiting = null;
      for (const message of first) send(message);
      if (end.other === null) end.gone();
    });
    return number;
  }
  #forward(end, number) {
    end.send = (message) => {
      if (this.ends.has(number)) this.write(PORT_MESSAGE, number, message());
    };
    end.gone = () => {
      if (this.ends.delete(number)) this.write(PORT_CLOSE, number);
    };
  }
  // { kind, value } of what is not for a port.
  receive(bytes) {
    const reader = new Reader(bytes, this);
    const kind = reader.readUint32();
    const number = reader.readUint32();
    if (kind === PORT_CLOSE) {
      const end = this.ends.get(number);
      this.ends.delete(number);
      end?.close();
      return undefined;
    }
    const value = reader.readValue();
    for (let left = reader.readUint32(); left > 0; left--) reader._readHostObject();
    if (kind !== PORT_MESSAGE) return { kind, value };
    this.ends.get(number)?.deliver({ value, moved: reader.moved });
    return undefined;
  }
  // The other side has gone.
  end() {
    const ends = [...this.ends.values()];
    this.ends.clear();
    for (const one of ends) one.close();
  }
}

// ---- the parent's side --------------------------------------------------------------------------------------------

const environment = new Map();

class Worker extends EventEmitter {
  #number;
  #link;
  #port;
  #limits;
  #exited;
  #failed = false;
  constructor(filename, options = {}) {
    super();
    validateObject(options, 'options');
    let text = filename;
    if (options.eval) {
      if (typeof filename !== 'string') throw new codes.ERR_INVALID_ARG_VALUE('options.eval', options.eval, 'must be false when \'filename\' is not a string');
    } else if (filename instanceof URL) {
      text = load('url').fileURLToPath(filename);
    } else if (typeof filename !== 'string') {
      throw new codes.ERR_INVALID_ARG_TYPE('filename', ['string', 'URL'], filename);
    } else if (!/^(\.{1,2})?\//.test(filename)) {
      throw new codes.ERR_WORKER_PATH(filename);
    } else {
      text = load('path').resolve(filename);
    }
    for (const name of ['stdin', 'stdout', 'stderr']) {
      if (options[name]) throw new codes.ERR_INVALID_ARG_VALUE(`options.${name}`, options[name], 'is not supported here: a worker writes to the streams of the process');
    }
    if (options.argv !== undefined && !Array.isArray(options.argv)) throw new codes.ERR_INVALID_ARG_TYPE('options.argv', 'Array', options.argv);
    const { env } = options;
    if (env !== undefined && env !== null && env !== SHARE_ENV && typeof env !== 'object') {
      throw new codes.ERR_INVALID_ARG_TYPE('options.env', ['object', 'undefined', 'null', 'worker_threads.SHARE_ENV'], env);
    }
    this.#limits = options.resourceLimits ?? {};
    validateObject(this.#limits, 'options.resourceLimits');
    for (const name of Object.keys(this.#limits)) {
      if (name !== 'maxOldGenerationSizeMb') {
        throw new codes.ERR_INVALID_ARG_VALUE(`options.resourceLimits.${name}`, this.#limits[name], 'is not supported here: only maxOldGenerationSizeMb is');
      }
    }
    const megabytes = Number(this.#limits.maxOldGenerationSizeMb ?? 0);
    this.#link = new Link((bytes) => native.post(this.#number, bytes), 2);
    this.#port = this.#link.take(MAIN);
    const writer = new Writer(this.#link);
    writer.writeValue({
      workerData: options.workerData, argv: (options.argv ?? []).map(String), env: env === SHARE_ENV ? null : { ...(env ?? process.env) },
      name: options.name === undefined ? '' : `${options.name}`, limits: this.#limits, environment,
    });
    for (const item of options.transferList ?? []) {
      if (item instanceof ArrayBuffer) item.transfer();
      else if (!(item instanceof MessagePort)) throw new codes.ERR_INVALID_TRANSFER_OBJECT();
    }
    const { promise, resolve } = Promise.withResolvers();
    this.#exited = { promise, resolve, code: undefined };
    this.#number = native.start(text, !!options.eval, writer.releaseBuffer(), megabytes > 0 ? Math.floor(megabytes * 1048576) : 0,
      (kind, value) => this.#receive(kind, value));
    if (this.#number === undefined) throw new codes.ERR_WORKER_INIT_FAILED('no thread could be started');
    this.#port.on('message', (value) => this.emit('message', value));
    this.#port.on('messageerror', (value) => this.emit('messageerror', value));
    this.#port.unref();
    binding.publish('worker_threads', { worker: this });
  }
  #receive(kind, value) {
    if (kind === KIND.EXIT) {
      this.#ended(value);
      return;
    }
    const found = this.#link.receive(value);
    if (found?.kind === ONLINE) this.emit('online');
    else if (found?.kind === FAILED) this.#fail(found.value);
  }
  #fail(error) {
    this.#failed = true;
    // After the messages that were sent before it.
    setImmediate(() => this.emit('error', error));
  }
  #ended(code) {
    this.#number = -1;
    const outOfMemory = code === 134 && Number(this.#limits.maxOldGenerationSizeMb) > 0 && !this.#failed;
    if (outOfMemory) {
      code = 1;
      this.#fail(new codes.ERR_WORKER_OUT_OF_MEMORY());
    }
    setImmediate(() => {
      this.#link.end();
      this.#exited.code = code;
      this.#exited.resolve(code);
      this.emit('exit', code);
    });
  }
  get threadId() { return this.#number; }
  get resourceLimits() { return this.#number === -1 ? {} : { ...this.#limits }; }
  get stdin() { return null; }
  postMessage(...args) {
    if (this.#number !== -1) this.#port.postMessage(...args);
  }
  terminate() {
    if (this.#number === -1 && this.#exited.code !== undefined) return Promise.resolve(undefined);
    native.terminate(this.#number);
    return this.#exited.promise;
  }
  ref() {
    native.keep(this.#number, true);
    return this;
  }
  unref() {
    native.keep(this.#number, false);
    return this;
  }
  async [Symbol.asyncDispose]() {
    await this.terminate();
  }
}

// ---- the worker's side --------------------------------------------------------------------------------------------

const threadId = native.number();
let link;
function begin() {
  if (link !== undefined) return;
  link = new Link((bytes) => native.answer(bytes), 1);
  const found = native.begin((kind, bytes) => link.receive(bytes));
  const { workerData, argv, env, limits, environment: given } = new Reader(found, link).readValue();
  exported.workerData = workerData;
  exported.resourceLimits = limits;
  for (const [key, value] of given) environment.set(key, value);
  exported.parentPort = link.take(MAIN);
  process.argv[1] = '[worker eval]'; // or the file, when that is run
  process.argv.push(...argv);
  if (env !== null) process.env = env;
  binding.tellParent = (error) => {
    try {
      link.write(FAILED, 0, { value: error });
    } catch {
      link.write(FAILED, 0, { value: new Error(String(error?.message ?? 'an error that cannot be sent')) });
    }
  };
  for (const name of ['abort', 'chdir', 'setuid', 'setgid', 'umask']) {
    if (typeof process[name] !== 'function' || name === 'umask') continue;
    process[name] = () => {
      const error = new TypeError(`process.${name}() is not supported in workers`);
      error.code = 'ERR_WORKER_UNSUPPORTED_OPERATION';
      throw error;
    };
  }
  link.write(ONLINE, 0, { value: undefined });
}

const untransferable = new WeakSet();
const exported = module.exports = {
  Worker, MessageChannel, MessagePort, BroadcastChannel, SHARE_ENV, receiveMessageOnPort, threadId,
  isMainThread: threadId === 0,
  parentPort: null,
  workerData: null,
  resourceLimits: {},
  getEnvironmentData: (key) => environment.get(key),
  setEnvironmentData(key, value) {
    if (value === undefined) environment.delete(key);
    else environment.set(key, value);
  },
  markAsUntransferable(object) {
    if (object === null || typeof object !== 'object') return;
    untransferable.add(object);
    Object.defineProperty(object, kMove, {
      value() { throw new DOMException('Value could not be cloned.', 'DataCloneError'); }, configurable: true,
    });
  },
  isMarkedAsUntransferable: (object) => object !== null && typeof object === 'object' && untransferable.has(object),
};
Object.defineProperty(exported, Symbol.for('vigil.host'), { value: { begin } });
if (threadId !== 0) begin();
