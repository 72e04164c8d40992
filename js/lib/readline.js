// SPDX-License-Identifier: MIT
// node:readline: lines of a stream, questions, and the sequences that move a terminal's cursor. On a terminal the lines are edited by the
// terminal itself: keys, history and completion of Node's own editor are not here.
'use strict';

const EventEmitter = load('events');
const { codes, validateFunction, validateString, validateAbortSignal, AbortError } = load('errors');
const { StringDecoder } = load('string_decoder');

const LINE_END = /\r?\n|\r(?!\n)/g;
const LEAST_DELAY = 100;

// ---- the cursor ---------------------------------------------------------------------------------------------------

const CSI = '\x1b[';
const sequences = {
  clearLine: (direction) => (direction < 0 ? `${CSI}1K` : direction > 0 ? `${CSI}0K` : `${CSI}2K`),
  clearScreenDown: () => `${CSI}0J`,
  cursorTo: (x, y) => (typeof y === 'number' ? `${CSI}${y + 1};${x + 1}H` : `${CSI}${x + 1}G`),
  moveCursor(dx, dy) {
    let text = '';
    if (dx < 0) text += `${CSI}${-dx}D`;
    else if (dx > 0) text += `${CSI}${dx}C`;
    if (dy < 0) text += `${CSI}${-dy}A`;
    else if (dy > 0) text += `${CSI}${dy}B`;
    return text;
  },
};
function checkPlace(x, y) {
  if (Number.isNaN(x)) throw new codes.ERR_INVALID_ARG_VALUE('x', x);
  if (Number.isNaN(y)) throw new codes.ERR_INVALID_ARG_VALUE('y', y);
  if (typeof x !== 'number') throw new codes.ERR_INVALID_CURSOR_POS();
}
function send(stream, text, callback) {
  if (callback !== undefined) validateFunction(callback, 'callback');
  if (stream === null || stream === undefined || text === '') {
    if (typeof callback === 'function') process.nextTick(callback, null);
    return true;
  }
  return stream.write(text, callback);
}
const clearLine = (stream, direction, callback) => send(stream, sequences.clearLine(direction), callback);
const clearScreenDown = (stream, callback) => send(stream, sequences.clearScreenDown(), callback);
const moveCursor = (stream, dx, dy, callback) => send(stream, sequences.moveCursor(dx, dy), callback);
function cursorTo(stream, x, y, callback) {
  if (callback !== undefined) validateFunction(callback, 'callback');
  if (typeof y === 'function') {
    callback = y;
    y = undefined;
  }
  checkPlace(x, y);
  return send(stream, sequences.cursorTo(x, y), callback);
}

// ---- lines --------------------------------------------------------------------------------------------------------

// The inner state; what Node shows of it are the properties of the interface.
const kState = Symbol('state');

class Interface extends EventEmitter {
  constructor(input, output, completer, terminal) {
    super();
    let options = {};
    if (input?.input !== undefined) {
      options = input;
      ({ input, output, completer, terminal } = options);
    }
    if (completer !== undefined && typeof completer !== 'function') throw new codes.ERR_INVALID_ARG_VALUE('completer', completer);
    if (options.signal !== undefined) validateAbortSignal(options.signal, 'options.signal');
    const { historySize, tabSize, crlfDelay, prompt = '> ' } = options;
    if (historySize !== undefined && (typeof historySize !== 'number' || Number.isNaN(historySize) || historySize < 0)) {
      throw typeof historySize === 'number' ? new codes.ERR_OUT_OF_RANGE('historySize', '>= 0', historySize)
        : new codes.ERR_INVALID_ARG_TYPE('historySize', 'number', historySize);
    }
    if (tabSize !== undefined && (!Number.isInteger(tabSize) || tabSize < 1)) {
      throw typeof tabSize === 'number' ? new codes.ERR_OUT_OF_RANGE('tabSize', '>= 1 && <= 4294967295', tabSize)
        : new codes.ERR_INVALID_ARG_TYPE('tabSize', 'number', tabSize);
    }
    this.input = input;
    this.output = output;
    this.terminal = terminal === undefined ? !!output?.isTTY : !!terminal;
    this.line = '';
    this.closed = false;
    this.paused = false;
    this.crlfDelay = crlfDelay ? Math.max(LEAST_DELAY, crlfDelay) : LEAST_DELAY;
    this[kState] = {
      prompt: `${prompt}`, decoder: new StringDecoder('utf8'), rest: '', returnAt: 0, callback: null, before: '', lines: undefined,
      onData: (chunk) => this[kState].take(`${this[kState].decoder.write(chunk)}`),
      take: (text) => take(this, this[kState], text),
    };
    Object.defineProperty(this, kState, { enumerable: false });
    const state = this[kState];
    const onEnd = () => {
      state.rest += state.decoder.end();
      if (state.rest !== '') {
        const { rest } = state;
        state.rest = '';
        answer(this, state, rest);
      }
      this.close();
    };
    const onError = (error) => this.emit('error', error);
    input.on('error', onError);
    input.on('data', state.onData);
    input.on('end', onEnd);
    this.once('close', () => {
      input.removeListener('error', onError);
      input.removeListener('data', state.onData);
      input.removeListener('end', onEnd);
    });
    const { signal } = options;
    if (signal !== undefined) {
      const onAbort = () => this.close();
      if (signal.aborted) process.nextTick(onAbort);
      else signal.addEventListener('abort', onAbort, { once: true });
      this.once('close', () => signal.removeEventListener('abort', onAbort));
    }
    input.resume();
  }
  get columns() { return this.output?.columns ?? Infinity; }
  getPrompt() { return this[kState].prompt; }
  setPrompt(prompt) { this[kState].prompt = prompt; }
  prompt() {
    if (this.paused) this.resume();
    this.output?.write(`${this[kState].prompt}`);
  }
  question(query, options, callback) {
    if (typeof options === 'function') callback = options;
    options = options !== null && typeof options === 'object' ? options : {};
    if (options.signal) {
      validateAbortSignal(options.signal, 'options.signal');
      if (options.signal.aborted) return;
      const onAbort = () => forget(this);
      options.signal.addEventListener('abort', onAbort, { once: true });
      const wanted = callback;
      callback = typeof wanted !== 'function' ? wanted : (text) => {
        options.signal.removeEventListener('abort', onAbort);
        wanted(text);
      };
    }
    if (typeof callback === 'function') ask(this, query, callback);
  }
  write(data) {
    if (this.closed) throw new codes.ERR_USE_AFTER_CLOSE('readline');
    if (this.paused) this.resume();
    if (data !== undefined && data !== null) this[kState].take(typeof data === 'string' ? data : this[kState].decoder.write(data));
  }
  pause() {
    if (this.paused) return undefined;
    this.input.pause();
    this.paused = true;
    this.emit('pause');
    return this;
  }
  resume() {
    if (!this.paused) return undefined;
    this.input.resume();
    this.paused = false;
    this.emit('resume');
    return this;
  }
  close() {
    if (this.closed) return;
    this.pause();
    this.closed = true;
    this.emit('close');
  }
  getCursorPos() {
    const width = this.columns;
    const all = load('inspect').getStringWidth?.(this[kState].prompt) ?? this[kState].prompt.length;
    return width === Infinity ? { rows: 0, cols: all } : { rows: Math.floor(all / width), cols: all % width };
  }
  [Symbol.dispose]() { this.close(); }
  [Symbol.asyncIterator]() {
    const state = this[kState];
    state.lines ??= lines(this);
    return state.lines;
  }
}

function lines(from) {
  const inner = EventEmitter.on(from, 'line', { close: ['close'] });
  const first = async (step) => {
    const { value, done } = await step;
    return { value: done ? undefined : value[0], done };
  };
  return {
    __proto__: Object.getPrototypeOf(Object.getPrototypeOf(async function* () {}.prototype)),
    next: () => first(inner.next()),
    return: () => inner.return(),
    throw: (error) => inner.throw(error),
    [Symbol.asyncIterator]() { return this; },
  };
}
function answer(from, state, text) {
  const { callback } = state;
  if (callback === null) {
    from.emit('line', text);
    return;
  }
  state.callback = null;
  from.setPrompt(state.before);
  callback(text);
}
function take(from, state, text) {
  // "\r" and "\n" may come apart.
  if (state.returnAt !== 0 && Date.now() - state.returnAt <= from.crlfDelay && text.startsWith('\n')) text = text.slice(1);
  state.returnAt = 0;
  if (text === '') return;
  LINE_END.lastIndex = 0;
  if (!LINE_END.test(text)) {
    state.rest += text;
    return;
  }
  text = state.rest + text;
  if (text.endsWith('\r')) state.returnAt = Date.now();
  const found = text.split(LINE_END);
  state.rest = found.pop();
  for (let i = 0; i < found.length; i++) answer(from, state, found[i]);
}
function ask(from, query, callback) {
  const state = from[kState];
  if (from.closed) throw new codes.ERR_USE_AFTER_CLOSE('readline');
  if (state.callback !== null) {
    from.prompt();
    return;
  }
  state.before = state.prompt;
  from.setPrompt(query);
  state.callback = callback;
  from.prompt();
}
function forget(from) {
  const state = from[kState];
  state.callback = null;
  from.setPrompt(state.before);
  from.output?.write('\r\n');
}

Interface.prototype.question[Symbol.for('nodejs.util.promisify.custom')] = function question(query, options) {
  options = options !== null && typeof options === 'object' ? options : {};
  const { signal } = options;
  if (signal?.aborted) return Promise.reject(new AbortError(undefined, { cause: signal.reason }));
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(new AbortError(undefined, { cause: signal.reason }));
    signal?.addEventListener('abort', onAbort, { once: true });
    this.question(query, options, (text) => {
      signal?.removeEventListener('abort', onAbort);
      resolve(text);
    });
  });
};

// Like other constructors of Node's it needs no `new`.
const Callable = new Proxy(Interface, { apply: (target, self, args) => new Interface(...args) });
Object.defineProperty(Interface.prototype, 'constructor', { value: Callable, writable: true, configurable: true });

module.exports = {
  Interface: Callable,
  createInterface: (...args) => new Interface(...args),
  clearLine, clearScreenDown, cursorTo, moveCursor,
};
Object.defineProperty(module.exports, 'promises', { enumerable: true, configurable: true, get: () => load('readline_promises') });
Object.defineProperty(module.exports, Symbol.for('vigil.host'), { value: { Interface, sequences, checkPlace, ask, forget } });
