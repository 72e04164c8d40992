// SPDX-License-Identifier: MIT
// node:events: EventEmitter, once, on, and what goes with them.
'use strict';

const { codes, AbortError, validateFunction, validateAbortSignal } = load('errors');

const kCapture = Symbol('kCapture');
const kShapeMode = Symbol('shapeMode');
const kErrorMonitor = Symbol('events.errorMonitor');
const kRejection = Symbol.for('nodejs.rejection');
const apply = Reflect.apply;
let defaultMaxListeners = 10;
let captureRejectionsByDefault = false;

function EventEmitter(options) {
  EventEmitter.init.call(this, options);
}
module.exports = EventEmitter;

EventEmitter.prototype._events = undefined;
EventEmitter.prototype._eventsCount = 0;
EventEmitter.prototype._maxListeners = undefined;

EventEmitter.init = function (options) {
  if (this._events === undefined || this._events === Object.getPrototypeOf(this)._events) {
    this._events = Object.create(null);
    this._eventsCount = 0;
    this[kShapeMode] = false;
  } else {
    this[kShapeMode] = true;
  }
  this._maxListeners = this._maxListeners || undefined;
  if (options?.captureRejections) {
    if (typeof options.captureRejections !== 'boolean') {
      throw new codes.ERR_INVALID_ARG_TYPE('options.captureRejections', 'boolean', options.captureRejections);
    }
    this[kCapture] = true;
  } else {
    this[kCapture] = captureRejectionsByDefault;
  }
};

function limitOf(emitter) {
  return emitter._maxListeners === undefined ? defaultMaxListeners : emitter._maxListeners;
}

EventEmitter.prototype.setMaxListeners = function setMaxListeners(n) {
  checkCount(n, 'setMaxListeners');
  this._maxListeners = n;
  return this;
};
EventEmitter.prototype.getMaxListeners = function getMaxListeners() {
  return limitOf(this);
};
function checkCount(n, name) {
  if (typeof n !== 'number') throw new codes.ERR_INVALID_ARG_TYPE(name, 'number', n);
  if (!(n >= 0)) throw new codes.ERR_OUT_OF_RANGE(name, '>= 0', n);
}

function capture(emitter, result, type, args) {
  if (result === undefined || result === null || typeof result.then !== 'function') return;
  result.then(undefined, (error) => {
    process.nextTick(() => {
      if (typeof emitter[kRejection] === 'function') {
        apply(emitter[kRejection], emitter, [error, type].concat(args));
        return;
      }
      const before = emitter[kCapture];
      try {
        emitter[kCapture] = false;
        emitter.emit('error', error);
      } finally {
        emitter[kCapture] = before;
      }
    });
  });
}

EventEmitter.prototype.emit = function emit(type, ...args) {
  const events = this._events;
  if (type === 'error') {
    if (events !== undefined && events[kErrorMonitor] !== undefined) apply(this.emit, this, [kErrorMonitor].concat(args));
    if (events === undefined || events.error === undefined) {
      const error = args[0];
      if (error instanceof Error) throw error;
      let text;
      try {
        text = load('inspect').inspect(error);
      } catch {
        text = error;
      }
      const wrapped = new codes.ERR_UNHANDLED_ERROR(text);
      wrapped.context = error;
      throw wrapped;
    }
  }
  const handler = events === undefined ? undefined : events[type];
  if (handler === undefined) return false;
  if (typeof handler === 'function') {
    const result = apply(handler, this, args);
    if (this[kCapture]) capture(this, result, type, args);
  } else {
    const listeners = handler.slice();
    for (let i = 0; i < listeners.length; i++) {
      const result = apply(listeners[i], this, args);
      if (this[kCapture]) capture(this, result, type, args);
    }
  }
  return true;
};

function add(emitter, type, listener, first) {
  validateFunction(listener, 'listener');
  let events = emitter._events;
  if (events === undefined) {
    events = emitter._events = Object.create(null);
    emitter._eventsCount = 0;
  } else if (events.newListener !== undefined) {
    emitter.emit('newListener', type, listener.listener ?? listener);
    events = emitter._events;
  }
  const existing = events[type];
  if (existing === undefined) {
    events[type] = listener;
    ++emitter._eventsCount;
    return emitter;
  }
  let list = existing;
  if (typeof existing === 'function') list = events[type] = first ? [listener, existing] : [existing, listener];
  else if (first) existing.unshift(listener);
  else existing.push(listener);
  const limit = limitOf(emitter);
  if (limit > 0 && list.length > limit && !list.warned) {
    list.warned = true;
    const warning = new Error(
      `Possible EventEmitter memory leak detected. ${list.length} ${String(type)} listeners ` +
      `added to ${load('inspect').inspect(emitter, { depth: -1 })}. MaxListeners is ${limit}. Use emitter.setMaxListeners() to increase limit`);
    warning.name = 'MaxListenersExceededWarning';
    warning.emitter = emitter;
    warning.type = type;
    warning.count = list.length;
    process.emitWarning(warning);
  }
  return emitter;
}

EventEmitter.prototype.addListener = function addListener(type, listener) {
  return add(this, type, listener, false);
};
EventEmitter.prototype.on = EventEmitter.prototype.addListener;
EventEmitter.prototype.prependListener = function prependListener(type, listener) {
  return add(this, type, listener, true);
};

function wrapOnce(emitter, type, listener) {
  const state = { fired: false };
  function wrapper(...args) {
    if (state.fired) return undefined;
    emitter.removeListener(type, wrapper);
    state.fired = true;
    return apply(listener, emitter, args);
  }
  wrapper.listener = listener;
  return wrapper;
}
EventEmitter.prototype.once = function once(type, listener) {
  validateFunction(listener, 'listener');
  this.on(type, wrapOnce(this, type, listener));
  return this;
};
EventEmitter.prototype.prependOnceListener = function prependOnceListener(type, listener) {
  validateFunction(listener, 'listener');
  this.prependListener(type, wrapOnce(this, type, listener));
  return this;
};

EventEmitter.prototype.removeListener = function removeListener(type, listener) {
  validateFunction(listener, 'listener');
  const events = this._events;
  if (events === undefined) return this;
  const list = events[type];
  if (list === undefined) return this;
  if (list === listener || list.listener === listener) {
    this._eventsCount -= 1;
    delete events[type];
    if (events.removeListener !== undefined) this.emit('removeListener', type, list.listener || listener);
  } else if (typeof list !== 'function') {
    let at = -1;
    for (let i = list.length - 1; i >= 0; i--) {
      if (list[i] === listener || list[i].listener === listener) {
        at = i;
        break;
      }
    }
    if (at < 0) return this;
    if (at === 0) list.shift();
    else list.splice(at, 1);
    if (list.length === 1) events[type] = list[0];
    if (events.removeListener !== undefined) this.emit('removeListener', type, listener);
  }
  return this;
};
EventEmitter.prototype.off = EventEmitter.prototype.removeListener;

EventEmitter.prototype.removeAllListeners = function removeAllListeners(type) {
  const events = this._events;
  if (events === undefined) return this;
  if (events.removeListener === undefined) {
    if (arguments.length === 0) {
      this._events = Object.create(null);
      this._eventsCount = 0;
    } else if (events[type] !== undefined) {
      delete events[type];
      this._eventsCount -= 1;
    }
    return this;
  }
  if (arguments.length === 0) {
    for (const key of Reflect.ownKeys(events)) {
      if (key !== 'removeListener') this.removeAllListeners(key);
    }
    this.removeAllListeners('removeListener');
    this._events = Object.create(null);
    this._eventsCount = 0;
    return this;
  }
  const list = events[type];
  if (typeof list === 'function') {
    this.removeListener(type, list);
  } else if (list !== undefined) {
    for (let i = list.length - 1; i >= 0; i--) this.removeListener(type, list[i]);
  }
  return this;
};

function listenersOf(emitter, type, unwrap) {
  const events = emitter._events;
  const list = events === undefined ? undefined : events[type];
  if (list === undefined) return [];
  const all = typeof list === 'function' ? [list] : list.slice();
  return unwrap ? all.map((listener) => listener.listener || listener) : all;
}
EventEmitter.prototype.listeners = function listeners(type) {
  return listenersOf(this, type, true);
};
EventEmitter.prototype.rawListeners = function rawListeners(type) {
  return listenersOf(this, type, false);
};
EventEmitter.prototype.listenerCount = function listenerCount(type, listener) {
  const all = listenersOf(this, type, false);
  if (listener == null) return all.length;
  return all.filter((one) => one === listener || one.listener === listener).length;
};
EventEmitter.prototype.eventNames = function eventNames() {
  return this._eventsCount > 0 ? Reflect.ownKeys(this._events) : [];
};

function isTarget(emitter) {
  return typeof emitter?.addEventListener === 'function';
}
function listen(emitter, name, listener, once) {
  if (typeof emitter?.on === 'function') {
    if (once) emitter.once(name, listener);
    else emitter.on(name, listener);
  } else if (isTarget(emitter)) {
    emitter.addEventListener(name, listener, { once });
  } else {
    throw new codes.ERR_INVALID_ARG_TYPE('emitter', 'EventEmitter', emitter);
  }
}
function unlisten(emitter, name, listener) {
  if (typeof emitter.removeListener === 'function') emitter.removeListener(name, listener);
  else emitter.removeEventListener(name, listener);
}

async function once(emitter, name, options = {}) {
  const signal = options?.signal;
  validateAbortSignal(signal, 'options.signal');
  if (signal?.aborted) throw new AbortError(undefined, { cause: signal.reason });
  return new Promise((resolve, reject) => {
    const onError = (error) => {
      unlisten(emitter, name, onEvent);
      signal?.removeEventListener('abort', onAbort);
      reject(error);
    };
    const onEvent = (...args) => {
      if (typeof emitter.removeListener === 'function') emitter.removeListener('error', onError);
      signal?.removeEventListener('abort', onAbort);
      resolve(args);
    };
    const onAbort = () => {
      unlisten(emitter, name, onEvent);
      unlisten(emitter, 'error', onError);
      reject(new AbortError(undefined, { cause: signal.reason }));
    };
    listen(emitter, name, onEvent, true);
    if (name !== 'error' && typeof emitter.once === 'function') emitter.once('error', onError);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

function on(emitter, name, options = {}) {
  const signal = options?.signal;
  validateAbortSignal(signal, 'options.signal');
  if (signal?.aborted) throw new AbortError(undefined, { cause: signal.reason });
  const ready = [];
  const waiting = [];
  let failure = null;
  let finished = false;
  const onEvent = (...args) => {
    const wait = waiting.shift();
    if (wait) wait.resolve({ value: args, done: false });
    else ready.push(args);
  };
  const onError = (error) => {
    const wait = waiting.shift();
    if (wait) wait.reject(error);
    else failure = error;
    iterator.return();
  };
  const onAbort = () => onError(new AbortError(undefined, { cause: signal.reason }));
  const iterator = {
    __proto__: Object.getPrototypeOf(Object.getPrototypeOf(async function* () {}.prototype)),
    next() {
      if (ready.length > 0) return Promise.resolve({ value: ready.shift(), done: false });
      if (failure !== null) {
        const error = failure;
        failure = null;
        return Promise.reject(error);
      }
      if (finished) return Promise.resolve({ value: undefined, done: true });
      return new Promise((resolve, reject) => waiting.push({ resolve, reject }));
    },
    return() {
      if (!finished) {
        finished = true;
        unlisten(emitter, name, onEvent);
        if (name !== 'error') unlisten(emitter, 'error', onError);
        for (const end of options?.close ?? []) unlisten(emitter, end, iterator.return);
        signal?.removeEventListener('abort', onAbort);
        for (const wait of waiting.splice(0)) wait.resolve({ value: undefined, done: true });
      }
      return Promise.resolve({ value: undefined, done: true });
    },
    throw(error) {
      if (!(error instanceof Error)) throw new codes.ERR_INVALID_ARG_TYPE('EventEmitter.AsyncIterator', 'Error', error);
      onError(error);
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
  listen(emitter, name, onEvent, false);
  if (name !== 'error' && typeof emitter.on === 'function') emitter.on('error', onError);
  for (const end of options?.close ?? []) listen(emitter, end, iterator.return, false);
  signal?.addEventListener('abort', onAbort, { once: true });
  return iterator;
}

Object.assign(EventEmitter, {
  once,
  on,
  EventEmitter,
  usingDomains: false,
  captureRejectionSymbol: kRejection,
  errorMonitor: kErrorMonitor,
  getEventListeners(emitter, type) {
    if (typeof emitter.listeners === 'function') return emitter.listeners(type);
    return load('eventtarget').listenersOf(emitter, type);
  },
  getMaxListeners(emitter) {
    return typeof emitter?.getMaxListeners === 'function' ? emitter.getMaxListeners() : defaultMaxListeners;
  },
  setMaxListeners(n = defaultMaxListeners, ...emitters) {
    checkCount(n, 'setMaxListeners');
    if (emitters.length === 0) defaultMaxListeners = n;
    for (const emitter of emitters) {
      if (typeof emitter?.setMaxListeners === 'function') emitter.setMaxListeners(n);
    }
  },
  listenerCount(emitter, type) {
    return typeof emitter.listenerCount === 'function' ? emitter.listenerCount(type)
                                                       : listenersOf(emitter, type, false).length;
  },
  addAbortListener(signal, listener) {
    validateAbortSignal(signal, 'signal');
    validateFunction(listener, 'listener');
    if (signal.aborted) queueMicrotask(() => listener());
    else signal.addEventListener('abort', listener, { once: true });
    return { [Symbol.dispose]: () => signal.removeEventListener('abort', listener) };
  },
});
Object.defineProperty(EventEmitter, 'EventEmitterAsyncResource', {
  configurable: true, enumerable: true,
  get: () => load('events_async').EventEmitterAsyncResource,
});
Object.defineProperty(EventEmitter, 'captureRejections', {
  enumerable: true,
  get: () => captureRejectionsByDefault,
  set(value) {
    captureRejectionsByDefault = !!value;
  },
});
Object.defineProperty(EventEmitter, 'defaultMaxListeners', {
  enumerable: true,
  get: () => defaultMaxListeners,
  set(value) {
    checkCount(value, 'defaultMaxListeners');
    defaultMaxListeners = value;
  },
});
