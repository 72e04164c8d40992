// SPDX-License-Identifier: MIT
// EventTarget, Event, CustomEvent, AbortController, AbortSignal, DOMException.
'use strict';

const { codes } = load('errors');

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
Object.defineProperty(DOMException.prototype, Symbol.toStringTag, { value: 'DOMException', configurable: true });

// ---- events -------------------------------------------------------------------------------------------------------

const kState = Symbol('state');
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
        time: binding.preciseNow(),
      },
    });
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
  get target() { return this[kState].target; }
  get srcElement() { return this[kState].target; }
  get currentTarget() { return this[kState].current; }
  get eventPhase() { return this[kState].phase; }
  get timeStamp() { return this[kState].time; }
  get isTrusted() { return false; }
  get cancelBubble() { return this[kState].stopped; }
  set cancelBubble(value) { if (value) this[kState].stopped = true; }
  composedPath() { return this[kState].current ? [this[kState].current] : []; }
  preventDefault() { if (this[kState].cancelable && !this[kState].passive) this[kState].prevented = true; }
  stopPropagation() { this[kState].stopped = true; }
  stopImmediatePropagation() {
    this[kState].stopped = true;
    this[kState].stoppedNow = true;
  }
}
for (const [name, value] of Object.entries({ NONE: 0, CAPTURING_PHASE: 1, AT_TARGET: 2, BUBBLING_PHASE: 3 })) {
  Object.defineProperty(Event, name, { value, enumerable: true });
  Object.defineProperty(Event.prototype, name, { value, enumerable: true });
}
Object.defineProperty(Event.prototype, Symbol.toStringTag, { value: 'Event', configurable: true });

class CustomEvent extends Event {
  #detail;
  constructor(type, options = undefined) {
    super(type, options);
    this.#detail = options?.detail ?? null;
  }
  get detail() { return this.#detail; }
}
Object.defineProperty(CustomEvent.prototype, Symbol.toStringTag, { value: 'CustomEvent', configurable: true });

const kListeners = Symbol('listeners');
function listenersFor(target) {
  if (target === null || typeof target !== 'object' || target[kListeners] === undefined) {
    throw new codes.ERR_INVALID_THIS('EventTarget');
  }
  return target[kListeners];
}
class EventTarget {
  constructor() {
    Object.defineProperty(this, kListeners, { value: new Map() });
  }
  addEventListener(type, listener, options = {}) {
    const all = listenersFor(this);
    if (arguments.length < 2) throw new codes.ERR_MISSING_ARGS('type', 'listener');
    if (listener === null || listener === undefined) return;
    if (typeof listener !== 'function' && typeof listener !== 'object') {
      throw new codes.ERR_INVALID_ARG_TYPE('listener', 'EventListener', listener);
    }
    if (typeof options === 'boolean') options = { capture: options };
    const { once = false, capture = false, passive = false, signal } = options ?? {};
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
    const capture = !!(typeof options === 'boolean' ? options : options?.capture);
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
    state.target = state.current = this;
    state.phase = 2;
    for (const one of (all.get(event.type) ?? []).slice()) {
      if (one.removed) continue;
      if (one.once) this.removeEventListener(event.type, one.listener, one);
      state.passive = one.passive;
      try {
        if (typeof one.listener === 'function') one.listener.call(this, event);
        else if (typeof one.listener.handleEvent === 'function') one.listener.handleEvent(event);
      } catch (error) {
        process.nextTick(() => {
          throw error;
        });
      }
      state.passive = false;
      if (state.stoppedNow) break;
    }
    state.phase = 0;
    state.current = null;
    return !state.prevented;
  }
}
Object.defineProperty(EventTarget.prototype, Symbol.toStringTag, { value: 'EventTarget', configurable: true });

function handlerProperty(prototype, type, then = undefined) {
  const key = Symbol(`on${type}`);
  Object.defineProperty(prototype, `on${type}`, {
    configurable: true, enumerable: true,
    get() { return this[key]?.handler ?? null; },
    set(handler) {
      if (this[key]) this.removeEventListener(type, this[key].call);
      this[key] = undefined;
      if (typeof handler !== 'function') return;
      const call = (event) => handler.call(this, event);
      Object.defineProperty(this, key, { value: { handler, call }, writable: true, configurable: true });
      this.addEventListener(type, call);
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
    signal.dispatchEvent(new Event('abort'));
    for (const one of dependents) one.dispatchEvent(new Event('abort'));
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
      if (!(signal instanceof AbortSignal)) throw new codes.ERR_INVALID_ARG_TYPE('signals', 'AbortSignal', signal);
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
Object.defineProperty(AbortSignal.prototype, Symbol.toStringTag, { value: 'AbortSignal', configurable: true });
const fire = AbortSignal.fire;
delete AbortSignal.fire;

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
Object.defineProperty(AbortController.prototype, Symbol.toStringTag, { value: 'AbortController', configurable: true });

module.exports = {
  DOMException, Event, CustomEvent, EventTarget, AbortSignal, AbortController, handlerProperty,
  listenersOf: (target, type) => (listenersFor(target).get(type) ?? []).map((one) => one.listener),
};
