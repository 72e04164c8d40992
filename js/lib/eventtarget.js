// SPDX-License-Identifier: MIT
// EventTarget, Event, CustomEvent, AbortController, AbortSignal, DOMException.
'use strict';

const { codes } = load('errors');
const { expose, constants, need } = load('idl');

// ---- DOMException -------------------------------------------------------------------------------------------------

const numbers = {
  IndexSizeError: 1, HierarchyRequestError: 3, WrongDocumentError: 4, InvalidCharacterError: 5, NoModificationAllowedError: 7,
  NotFoundError: 8, NotSupportedError: 9, InUseAttributeError: 10, InvalidStateError: 11, SyntaxError: 12, InvalidModificationError: 13,
  NamespaceError: 14, InvalidAccessError: 15, TypeMismatchError: 17, SecurityError: 18, NetworkError: 19, AbortError: 20,
  URLMismatchError: 21, QuotaExceededError: 22, TimeoutError: 23, InvalidNodeTypeError: 24, DataCloneError: 25,
};
class DOMException extends Error {
  #name;
  constructor(message = '', options = 'Error') {
    const name = options !== null && typeof options === 'object' ? options.name ?? 'Error' : `${options}`;
    super(`${message}`);
    this.#name = name;
    if (options !== null && typeof options === 'object' && 'cause' in options) {
      Object.defineProperty(this, 'cause', { value: options.cause, writable: true, configurable: true, enumerable: false });
    }
  }
  get name() { return this.#name; }
  get code() { return numbers[this.#name] ?? 0; }
}
expose(DOMException);
// Names from before there were names. Some of the numbers have no error any more.
constants(DOMException, {
  INDEX_SIZE_ERR: 1, DOMSTRING_SIZE_ERR: 2, HIERARCHY_REQUEST_ERR: 3, WRONG_DOCUMENT_ERR: 4, INVALID_CHARACTER_ERR: 5, NO_DATA_ALLOWED_ERR: 6,
  NO_MODIFICATION_ALLOWED_ERR: 7, NOT_FOUND_ERR: 8, NOT_SUPPORTED_ERR: 9, INUSE_ATTRIBUTE_ERR: 10, INVALID_STATE_ERR: 11, SYNTAX_ERR: 12,
  INVALID_MODIFICATION_ERR: 13, NAMESPACE_ERR: 14, INVALID_ACCESS_ERR: 15, VALIDATION_ERR: 16, TYPE_MISMATCH_ERR: 17, SECURITY_ERR: 18,
  NETWORK_ERR: 19, ABORT_ERR: 20, URL_MISMATCH_ERR: 21, QUOTA_EXCEEDED_ERR: 22, TIMEOUT_ERR: 23, INVALID_NODE_TYPE_ERR: 24, DATA_CLONE_ERR: 25,
});

// ---- events -------------------------------------------------------------------------------------------------------

const kState = Symbol('state');
// One getter for all events, as the standard wants it: a property of each event that nobody can replace.
const trusted = Object.getOwnPropertyDescriptor({ get isTrusted() { return this[kState].trusted; } }, 'isTrusted').get;
const isTrusted = { get: trusted, enumerable: true, configurable: false };
class Event {
  constructor(type, options = undefined) {
    if (arguments.length === 0) throw new codes.ERR_MISSING_ARGS('type');
    if (options !== undefined && options !== null && typeof options !== 'object') {
      throw new codes.ERR_INVALID_ARG_TYPE('options', 'Object', options);
    }
    Object.defineProperty(this, kState, {
      value: {
        type: `${type}`, bubbles: !!options?.bubbles, cancelable: !!options?.cancelable, composed: !!options?.composed,
        prevented: false, stopped: false, stoppedNow: false, target: null, current: null, phase: 0, passive: false,
        time: binding.preciseNow(), trusted: false,
      },
    });
    Object.defineProperty(this, 'isTrusted', isTrusted);
  }
  [Symbol.for('nodejs.util.inspect.custom')](depth, options, inspect) {
    const { name } = this.constructor;
    if (depth < 0) return name;
    const { type, defaultPrevented, cancelable, timeStamp } = this;
    return `${name} ${inspect({ type, defaultPrevented, cancelable, timeStamp }, { ...options, depth: options.depth === null ? null : options.depth - 1 })}`;
  }
  get type() { return this[kState].type; }
  get bubbles() { return this[kState].bubbles; }
  get cancelable() { return this[kState].cancelable; }
  get composed() { return this[kState].composed; }
  get defaultPrevented() { return this[kState].prevented; }
  get returnValue() { return !this[kState].prevented; }
  set returnValue(value) { if (!value) this.preventDefault(); }
  get target() { return this[kState].target; }
  get srcElement() { return this[kState].target; }
  get currentTarget() { return this[kState].current; }
  get eventPhase() { return this[kState].phase; }
  get timeStamp() { return this[kState].time; }
  get cancelBubble() { return this[kState].stopped; }
  set cancelBubble(value) { if (value) this[kState].stopped = true; }
  composedPath() { return this[kState].current ? [this[kState].current] : []; }
  preventDefault() { if (this[kState].cancelable && !this[kState].passive) this[kState].prevented = true; }
  stopPropagation() { this[kState].stopped = true; }
  stopImmediatePropagation() {
    this[kState].stopped = true;
    this[kState].stoppedNow = true;
  }
  initEvent(type, bubbles = false, cancelable = false) {
    const state = this[kState];
    need(arguments.length, 1, 'initEvent');
    if (state.phase !== 0) return;
    state.type = `${type}`;
    state.bubbles = !!bubbles;
    state.cancelable = !!cancelable;
    state.prevented = state.stopped = state.stoppedNow = state.trusted = false;
    state.target = null;
  }
}
expose(Event);
constants(Event, { NONE: 0, CAPTURING_PHASE: 1, AT_TARGET: 2, BUBBLING_PHASE: 3 });

class CustomEvent extends Event {
  #detail;
  constructor(type, options = undefined) {
    super(type, options);
    this.#detail = options?.detail ?? null;
  }
  get detail() { return this.#detail; }
  initCustomEvent(type, bubbles = false, cancelable = false, detail = null) {
    need(arguments.length, 1, 'initCustomEvent');
    if (this[kState].phase !== 0) return;
    this.initEvent(type, bubbles, cancelable);
    this.#detail = detail;
  }
}
expose(CustomEvent);

const kListeners = Symbol('listeners');
function listenersFor(target) {
  if (target === null || typeof target !== 'object' || target[kListeners] === undefined) {
    throw new codes.ERR_INVALID_THIS('EventTarget');
  }
  return target[kListeners];
}
// Anything but an object is the flag `capture`.
const optionsOf = (options) => options === null || options === undefined ? {}
  : typeof options === 'object' || typeof options === 'function' ? options : { capture: !!options };
function checkListener(listener) {
  if (typeof listener !== 'function' && typeof listener !== 'object') {
    throw new codes.ERR_INVALID_ARG_TYPE('listener', 'EventListener', listener);
  }
}
function later(error) {
  process.nextTick(() => {
    throw error;
  });
}
// Calls those that capture, or the others.
function invoke(target, event, state, list, capture) {
  for (const one of list) {
    if (one.removed || one.capture !== capture) continue;
    if (one.once) target.removeEventListener(event.type, one.listener, one.capture);
    state.passive = one.passive;
    try {
      const { listener } = one;
      if (typeof listener === 'function') {
        listener.call(target, event);
      } else {
        const { handleEvent } = listener;
        if (typeof handleEvent !== 'function') throw new TypeError('handleEvent of an event listener is no function');
        handleEvent.call(listener, event);
      }
    } catch (error) {
      later(error);
    }
    state.passive = false;
    if (state.stoppedNow) return;
  }
}

class EventTarget {
  constructor() {
    Object.defineProperty(this, kListeners, { value: new Map() });
  }
  addEventListener(type, listener, options = {}) {
    const all = listenersFor(this);
    if (arguments.length < 2) throw new codes.ERR_MISSING_ARGS('type', 'listener');
    // The options are read also for a listener that is null.
    const { capture = false, once = false, passive = false, signal } = optionsOf(options);
    if (signal !== undefined && !(signal instanceof AbortSignal)) throw new codes.ERR_INVALID_ARG_TYPE('options.signal', 'AbortSignal', signal);
    if (listener === null || listener === undefined) return;
    checkListener(listener);
    if (signal?.aborted) return;
    type = `${type}`;
    let list = all.get(type);
    if (list === undefined) all.set(type, list = []);
    if (list.some((one) => one.listener === listener && one.capture === !!capture)) return;
    list.push({ listener, once: !!once, capture: !!capture, passive: !!passive, removed: false });
    signal?.addEventListener('abort', () => this.removeEventListener(type, listener, options), { once: true });
  }
  removeEventListener(type, listener, options = {}) {
    const all = listenersFor(this);
    if (arguments.length < 2) throw new codes.ERR_MISSING_ARGS('type', 'listener');
    if (listener !== null && listener !== undefined) checkListener(listener);
    const capture = !!optionsOf(options).capture;
    const list = all.get(`${type}`);
    const at = list === undefined ? -1 : list.findIndex((one) => one.listener === listener && one.capture === capture);
    if (at < 0) return;
    list[at].removed = true;
    // A dispatch may be walking the old list.
    const rest = list.slice();
    rest.splice(at, 1);
    if (rest.length > 0) all.set(`${type}`, rest);
    else all.delete(`${type}`);
  }
  dispatchEvent(event) {
    const all = listenersFor(this);
    if (!(event instanceof Event)) throw new codes.ERR_INVALID_ARG_TYPE('event', 'Event', event);
    const state = event[kState];
    if (state.phase !== 0) throw new codes.ERR_EVENT_RECURSION(event.type);
    state.trusted = false;
    return dispatch(this, event, all);
  }
}
expose(EventTarget);

function dispatch(target, event, all = listenersFor(target)) {
  const state = event[kState];
  state.target = state.current = target;
  state.phase = 2;
  const list = all.get(state.type);
  if (list !== undefined && !state.stopped) {
    const now = list.slice();
    invoke(target, event, state, now, true);
    if (!state.stopped) invoke(target, event, state, now, false);
  }
  state.phase = 0;
  state.current = null;
  state.stopped = state.stoppedNow = false;
  return !state.prevented;
}
// An event of the host itself.
function dispatchTrusted(target, event) {
  event[kState].trusted = true;
  return dispatch(target, event);
}

// onmessage and its kin. A handler that replaces another one takes its place among the listeners.
function handlerProperty(prototype, type, then = undefined) {
  const key = Symbol(`on${type}`);
  Object.defineProperty(prototype, `on${type}`, {
    configurable: true, enumerable: true,
    get() {
      listenersFor(this);
      return this[key]?.handler ?? null;
    },
    set(handler) {
      listenersFor(this);
      const now = this[key];
      if (handler === null || (typeof handler !== 'function' && typeof handler !== 'object')) {
        if (now !== undefined) this.removeEventListener(type, now.call);
        this[key] = undefined;
        return;
      }
      if (now !== undefined) {
        now.handler = handler;
      } else {
        const state = { handler, call: undefined };
        state.call = (event) => {
          if (typeof state.handler === 'function' && state.handler.call(this, event) === false) event.preventDefault();
        };
        Object.defineProperty(this, key, { value: state, writable: true, configurable: true });
        this.addEventListener(type, state.call);
      }
      then?.(this);
    },
  });
}

// ---- abort --------------------------------------------------------------------------------------------------------

const kMake = Symbol('make');
class AbortSignal extends EventTarget {
  #aborted = false;
  #reason = undefined;
  #sources = null;
  #dependents = new Set();
  constructor(key) {
    if (key !== kMake) throw new codes.ERR_ILLEGAL_CONSTRUCTOR();
    super();
  }
  get aborted() { return this.#aborted; }
  get reason() { return this.#reason; }
  throwIfAborted() {
    if (this.#aborted) throw this.#reason;
  }
  static fire(signal, reason = new DOMException('This operation was aborted', 'AbortError')) {
    if (signal.#aborted) return;
    signal.#aborted = true;
    signal.#reason = reason;
    const dependents = [...signal.#dependents].map((item) => item.deref()).filter((one) => one && !one.#aborted);
    for (const one of dependents) {
      one.#aborted = true;
      one.#reason = reason;
    }
    dispatchTrusted(signal, new Event('abort'));
    for (const one of dependents) dispatchTrusted(one, new Event('abort'));
    signal.#dependents.clear();
  }
  static abort(reason = new DOMException('This operation was aborted', 'AbortError')) {
    const signal = new AbortSignal(kMake);
    signal.#aborted = true;
    signal.#reason = reason;
    return signal;
  }
  static timeout(delay) {
    load('errors').validateInteger(delay, 'delay', 0, Number.MAX_SAFE_INTEGER);
    const signal = new AbortSignal(kMake);
    // Nobody who listens: nobody to tell. Somebody who listens keeps it reachable through this timer.
    load('sched').setTimeout(() => {
      fire(signal, new DOMException('The operation was aborted due to timeout', 'TimeoutError'));
    }, delay).unref();
    return signal;
  }
  static any(signals) {
    if (typeof signals?.[Symbol.iterator] !== 'function') throw new codes.ERR_INVALID_ARG_TYPE('signals', 'Array', signals);
    const result = new AbortSignal(kMake);
    const list = [...signals];
    for (const signal of list) {
      if (!(signal instanceof AbortSignal)) throw new codes.ERR_INVALID_ARG_TYPE(`signals[${list.indexOf(signal)}]`, 'AbortSignal', signal);
    }
    for (const signal of list) {
      if (signal.#aborted) {
        result.#aborted = true;
        result.#reason = signal.#reason;
        return result;
      }
    }
    // The result keeps its sources; they know it only weakly, unless somebody listens to it.
    result.#sources = new Set();
    for (const signal of list) {
      for (const source of signal.#sources ?? [signal]) {
        result.#sources.add(source);
        source.#dependents.add(new WeakRef(result));
      }
    }
    return result;
  }
  addEventListener(type, ...rest) {
    if (type === 'abort' && this.#sources !== null) {
      for (const source of this.#sources) Object.defineProperty(source, Symbol('listened'), { value: this });
    }
    super.addEventListener(type, ...rest);
  }
  [Symbol.for('nodejs.util.inspect.custom')](depth, options, inspect) {
    return `AbortSignal ${inspect({ aborted: this.#aborted }, options)}`;
  }
}
handlerProperty(AbortSignal.prototype, 'abort');
const fire = AbortSignal.fire;
delete AbortSignal.fire;
expose(AbortSignal);

class AbortController {
  #signal = new AbortSignal(kMake);
  get signal() { return this.#signal; }
  abort(reason = new DOMException('This operation was aborted', 'AbortError')) {
    fire(this.#signal, reason);
  }
  [Symbol.for('nodejs.util.inspect.custom')](depth, options, inspect) {
    return `AbortController ${inspect({ signal: this.#signal }, options)}`;
  }
}
expose(AbortController);

module.exports = {
  DOMException, Event, CustomEvent, EventTarget, AbortSignal, AbortController, handlerProperty, dispatchTrusted,
  listenersOf: (target, type) => (listenersFor(target).get(type) ?? []).map((one) => one.listener),
};
