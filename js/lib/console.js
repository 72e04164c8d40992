// SPDX-License-Identifier: MIT
// console: all of it, with Node's formatting. A line of plain strings needs no formatter, and does not load one.
'use strict';

const { codes } = load('errors');

// What to show without the formatter, or undefined.
function simple(args) {
  if (args.length === 0) return '';
  if (args.length === 1) return typeof args[0] === 'string' ? args[0] : simpleValue(args[0]);
  if (typeof args[0] === 'string' && args[0].includes('%')) return undefined;
  let text = '';
  for (let i = 0; i < args.length; i++) {
    const shown = typeof args[i] === 'string' ? args[i] : simpleValue(args[i]);
    if (shown === undefined) return undefined;
    text += i === 0 ? shown : ` ${shown}`;
  }
  return text;
}
// In colour even a number has to go through the formatter.
function simpleValue(value) {
  switch (typeof value) {
    case 'number':
      return Object.is(value, -0) ? '-0' : `${value}`;
    case 'boolean':
      return `${value}`;
    case 'undefined':
      return 'undefined';
    case 'bigint':
      return `${value}n`;
    default:
      return value === null ? 'null' : undefined;
  }
}

function elapsed(ms) {
  if (ms >= 1000) {
    const hours = Math.floor(ms / 3600000);
    const minutes = Math.floor(ms / 60000) % 60;
    const seconds = (ms / 1000) % 60;
    const pad = (n) => (n < 10 ? `0${n}` : `${n}`);
    if (hours > 0) return `${hours}:${pad(minutes)}:${pad(Math.floor(seconds))} (h:mm:ss)`;
    if (ms >= 60000) {
      const [whole, rest] = seconds.toFixed(3).split('.');
      return `${minutes}:${pad(+whole)}.${rest} (m:ss.mmm)`;
    }
    return `${(ms / 1000).toFixed(3)}s`;
  }
  return `${Number(ms.toFixed(3))}ms`;
}

function table(head, columns) {
  const rows = [];
  const width = (text) => load('inspect').getStringWidth(text);
  const widths = head.map((text) => width(text) + 2);
  const longest = Math.max(...columns.map((column) => column.length));
  for (let i = 0; i < head.length; i++) {
    for (let j = 0; j < longest; j++) {
      rows[j] ??= [];
      const value = Object.hasOwn(columns[i], j) ? columns[i][j] : '';
      rows[j][i] = value;
      widths[i] = Math.max(widths[i] || 0, width(value) + 2);
    }
  }
  const rules = widths.map((n) => '─'.repeat(n));
  const line = (cells) => '│' + cells.map((cell, i) => {
    return ` ${cell}${' '.repeat(widths[i] - width(cell) - 1)}`;
  }).join('│') + '│\n';
  let text = `┌${rules.join('┬')}┐\n${line(head)}├${rules.join('┼')}┤\n`;
  for (const row of rows) text += line(row);
  return `${text}└${rules.join('┴')}┘`;
}

class Console {
  #indent = '';
  #step = 2;
  #counts = new Map();
  #timers = new Map();
  #out;
  #err;
  #options;
  #ignoreErrors = true;
  #colorMode;

  constructor(stdout, stderr, ignoreErrors) {
    let options = stdout;
    if (stdout === undefined || stdout === null || typeof stdout.write === 'function') {
      options = { stdout, stderr, ignoreErrors };
    }
    if (typeof options?.stdout?.write !== 'function') throw new codes.ERR_CONSOLE_WRITABLE_STREAM('stdout');
    if (options.stderr && typeof options.stderr.write !== 'function') throw new codes.ERR_CONSOLE_WRITABLE_STREAM('stderr');
    this.#out = () => options.stdout;
    this.#err = () => options.stderr ?? options.stdout;
    this.#options = options.inspectOptions ?? {};
    this.#colorMode = options.colorMode ?? 'auto';
    if (options.groupIndentation !== undefined) load('errors').validateInteger(options.groupIndentation, 'groupIndentation', 0, 1000);
    this.#step = options.groupIndentation ?? 2;
    this.#ignoreErrors = options.ignoreErrors ?? true;
    if (![true, false, 'auto', undefined].includes(options.colorMode)) throw new codes.ERR_INVALID_ARG_VALUE('colorMode', options.colorMode, "must be one of: 'auto', true, false");
    if (options.inspectOptions !== undefined && options.colorMode !== undefined && options.inspectOptions.colors !== undefined) {
      throw new codes.ERR_INCOMPATIBLE_OPTION_PAIR('options.inspectOptions.color', 'colorMode');
    }
    this.#bind();
  }

  // The methods are own properties, bound, so that they can be handed around.
  #bind() {
    const names = Object.getOwnPropertyNames(Console.prototype);
    for (let i = 0; i < names.length; i++) {
      const name = names[i];
      if (name === 'constructor') continue;
      const method = this[name].bind(this);
      Object.defineProperty(method, 'name', { value: name });
      Object.defineProperty(this, name, { value: method, writable: true, configurable: true, enumerable: true });
    }
  }

  #formatOptions(stream) {
    const colors = this.#colorMode === 'auto' ? stream.isTTY === true && stream.getColorDepth?.() > 2 : this.#colorMode;
    return colors || Object.keys(this.#options).length > 0 ? { colors, ...this.#options } : undefined;
  }

  #print(stream, args) {
    const options = this.#formatOptions(stream);
    let text = args.every((arg) => typeof arg === 'string') || options === undefined ? simple(args) : undefined;
    if (text === undefined) {
      text = this.#format(options, args);
    }
    if (this.#indent !== '') text = this.#indent + text.replace(/\n/g, `\n${this.#indent}`);
    if (stream._isStdio !== true) {
      this.#writeTo(stream, `${text}\n`);
      return;
    }
    try {
      stream._silent = true;
      stream.write(`${text}\n`);
    } catch {
      // A console whose stream is gone is silent.
    } finally {
      stream._silent = false;
    }
  }
  // A stream of the program. Its errors are nobody's business unless somebody listens, or ignoreErrors is false.
  #writeTo(stream, text) {
    if (!this.#ignoreErrors) {
      stream.write(text);
      return;
    }
    const quiet = stream.listenerCount?.('error') === 0;
    const onError = () => {};
    try {
      if (quiet) stream.once('error', onError);
      stream.write(text, (error) => {
        if (error && quiet && !stream._writableState?.errorEmitted && stream.listenerCount('error') === 0) stream.once('error', onError);
      });
    } catch (error) {
      if (error instanceof RangeError && /call stack/.test(error.message)) throw error;
    } finally {
      if (quiet) stream.removeListener('error', onError);
    }
  }
  #format(options, args) {
    const lib = load('inspect');
    try {
      return options === undefined ? Reflect.apply(lib.format, undefined, args) : Reflect.apply(lib.formatWithOptions, undefined, [options].concat(args));
    } catch (error) {
      if (!binding.safe.patched()) throw error;
      // The formatter needs builtins that the program has broken: then at least this.
      let text = '';
      for (let i = 0; i < args.length; i++) {
        const plain = typeof args[i] === 'string' ? args[i] : simpleValue(args[i]) ?? `[${typeof args[i]}]`;
        text += i === 0 ? plain : ` ${plain}`;
      }
      return text;
    }
  }

  log(...args) { this.#print(this.#out(), args); }
  warn(...args) { this.#print(this.#err(), args); }
  error(...args) { this.#print(this.#err(), args); }
  dir(object, options) {
    const stream = this.#out();
    this.#print(stream, [load('inspect').inspect(object, { customInspect: false, ...this.#formatOptions(stream), ...options })]);
  }
  time(label = 'default') {
    label = `${label}`;
    if (this.#timers.has(label)) {
      process.emitWarning(`Label '${label}' already exists for console.time()`);
      return;
    }
    this.#timers.set(label, binding.preciseNow());
  }
  timeEnd(label = 'default') {
    if (this.#timeShow('timeEnd', `${label}`, [])) this.#timers.delete(`${label}`);
  }
  timeLog(label = 'default', ...data) {
    this.#timeShow('timeLog', `${label}`, data);
  }
  #timeShow(name, label, data) {
    const began = this.#timers.get(label);
    if (began === undefined) {
      process.emitWarning(`No such label '${label}' for console.${name}()`);
      return false;
    }
    Reflect.apply(this.log, this, ['%s: %s', label, elapsed(binding.preciseNow() - began)].concat(data));
    return true;
  }
  trace(...args) {
    const error = { name: 'Trace', message: Reflect.apply(load('inspect').format, undefined, args) };
    Error.captureStackTrace(error, this.trace);
    this.error(error.stack);
  }
  assert(value, ...args) {
    if (value) return;
    if (typeof args[0] === 'string') args[0] = `Assertion failed: ${args[0]}`;
    else args.unshift('Assertion failed');
    if (args.length > 1 && typeof args[0] === 'string' && args[0] === 'Assertion failed') args[0] = 'Assertion failed:';
    Reflect.apply(this.warn, this, args);
  }
  clear() {
    const stream = this.#out();
    if (stream.isTTY && process.env.TERM !== 'dumb') stream.write('\x1b[1;1H\x1b[0J');
  }
  count(label = 'default') {
    label = `${label}`;
    const count = (this.#counts.get(label) ?? 0) + 1;
    this.#counts.set(label, count);
    this.log(`${label}: ${count}`);
  }
  countReset(label = 'default') {
    label = `${label}`;
    if (!this.#counts.has(label)) {
      process.emitWarning(`Count for '${label}' does not exist`);
      return;
    }
    this.#counts.delete(label);
  }
  group(...data) {
    if (data.length > 0) Reflect.apply(this.log, this, data);
    this.#indent += ' '.repeat(this.#step);
  }
  groupEnd() {
    this.#indent = this.#indent.slice(0, this.#indent.length - this.#step);
  }
  table(data, properties) {
    if (data === null || typeof data !== 'object') {
      this.log(data);
      return;
    }
    if (properties !== undefined && !Array.isArray(properties)) {
      throw new codes.ERR_INVALID_ARG_TYPE('properties', 'Array', properties);
    }
    const { inspect } = load('inspect');
    const show = (value) => {
      const depth = value !== null && typeof value === 'object' && !Array.isArray(value) && Object.keys(value).length > 2 ? -1 : 0;
      return inspect(value, { maxArrayLength: 3, breakLength: Infinity, colors: false, depth });
    };
    const isMap = data instanceof Map;
    const isSet = data instanceof Set;
    let entries;
    let indexHead = '(index)';
    if (isMap) {
      indexHead = '(iteration index)';
      const keys = [], values = [], index = [];
      let i = 0;
      for (const [key, value] of data) {
        keys.push(show(key));
        values.push(show(value));
        index.push(`${i++}`);
      }
      this.log(table([indexHead, 'Key', 'Values'], [index, keys, values]));
      return;
    }
    if (isSet) {
      indexHead = '(iteration index)';
      entries = [...data].map((value, i) => [`${i}`, value]);
    } else {
      entries = Object.keys(data).map((key) => [key, data[key]]);
    }
    const columns = Object.create(null);
    const plainValues = [];
    let hasPlain = false;
    const index = [];
    entries.forEach(([key, item], row) => {
      index.push(key);
      const primitive = item === null || (typeof item !== 'function' && typeof item !== 'object');
      if (primitive) {
        hasPlain = true;
        plainValues[row] = show(item);
      } else {
        for (const name of properties || Object.keys(item)) {
          columns[name] ??= [];
          if (!Object.hasOwn(item, name)) columns[name][row] = '';
          else columns[name][row] = show(item[name]);
        }
      }
    });
    const heads = [indexHead, ...Object.keys(columns)];
    const all = [index, ...Object.values(columns)];
    if (hasPlain) {
      heads.push('Values');
      all.push(plainValues);
    }
    this.log(table(heads, all));
  }
}
const proto = Console.prototype;
proto.debug = proto.info = proto.dirxml = proto.log;
proto.groupCollapsed = proto.group;

// The streams are made when the first line is written, unless a program looks at process.stdout before.
const direct = (fd, name) => ({
  isTTY: binding.isTTY(fd),
  getColorDepth: () => (process.env.NO_COLOR === undefined && process.env.TERM !== 'dumb' ? 8 : 1),
  write(text) {
    const own = Object.getOwnPropertyDescriptor(process, name);
    if (own !== undefined && own.value !== undefined) return own.value.write(text);
    return binding.write(fd, text);
  },
});
const instance = new Console({ stdout: direct(1, 'stdout'), stderr: direct(2, 'stderr') });
function ConsoleForPrograms(...args) {
  return new Console(...args);
}
ConsoleForPrograms.prototype = Console.prototype;
instance.Console = ConsoleForPrograms;
Object.defineProperty(instance, Symbol.toStringTag, { value: 'console', configurable: true });
module.exports = instance;
