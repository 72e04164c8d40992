// SPDX-License-Identifier: MIT
// node:child_process: spawn, fork, exec, execFile and the calls that wait.
'use strict';

const EventEmitter = load('events');
const net = load('net');
const { Handle, adopt, errnoError } = load('net_link');
const { Buffer, fromBytes } = load('buffer');
const { codes, AbortError, validateString, validateFunction, validateAbortSignal } = load('errors');
const { setTimeout, clearTimeout } = load('sched');
const native = binding.child();

const NULL = -1; // descriptors as C knows them: /dev/null
const PAIR = -2; // a pair of sockets
const MAX_BUFFER = 1024 * 1024;

function signalNumber(signal) {
  if (typeof signal === 'number') return signal;
  const number = binding.signals[signal] ?? binding.signals[`${signal}`.toUpperCase()];
  if (number === undefined) throw new codes.ERR_UNKNOWN_SIGNAL(signal);
  return number;
}
function signalName(number) {
  for (const name of Object.keys(binding.signals)) if (binding.signals[name] === number) return name;
  return `${number}`;
}

// ---- arguments ----------------------------------------------------------------------------------------------------

function checkText(value, name) {
  validateString(value, name);
  if (value.includes('\0')) throw new codes.ERR_INVALID_ARG_VALUE(name, value, 'must be a string without null bytes');
}
function normalize(file, args, options) {
  checkText(file, 'file');
  if (file.length === 0) throw new codes.ERR_INVALID_ARG_VALUE('file', file, 'cannot be empty');
  if (Array.isArray(args)) args = args.slice();
  else if (args === undefined || args === null) args = [];
  else if (typeof args !== 'object') throw new codes.ERR_INVALID_ARG_TYPE('args', 'object', args);
  else {
    options = args;
    args = [];
  }
  for (let i = 0; i < args.length; i++) {
    args[i] = `${args[i]}`;
    checkText(args[i], `args[${i}]`);
  }
  if (options === undefined) options = {};
  else if (options === null || typeof options !== 'object') throw new codes.ERR_INVALID_ARG_TYPE('options', 'object', options);
  options = { __proto__: null, ...options };
  if (options.cwd !== undefined && options.cwd !== null) {
    if (options.cwd instanceof load('url').URL) options.cwd = load('url').fileURLToPath(options.cwd);
    if (typeof options.cwd !== 'string') throw new codes.ERR_INVALID_ARG_TYPE('options.cwd', ['string', 'Buffer', 'URL'], options.cwd);
    checkText(options.cwd, 'options.cwd');
  }
  for (const name of ['detached', 'windowsHide', 'windowsVerbatimArguments']) {
    const value = options[name];
    if (value !== undefined && value !== null && typeof value !== 'boolean') throw new codes.ERR_INVALID_ARG_TYPE(`options.${name}`, 'boolean', value);
  }
  for (const name of ['uid', 'gid']) {
    const value = options[name];
    if (value !== undefined && value !== null && value !== (value | 0)) {
      throw new codes.ERR_INVALID_ARG_TYPE(`options.${name}`, 'int32', value);
    }
  }
  const { shell } = options;
  if (typeof shell === 'string') checkText(shell, 'options.shell');
  if (shell !== undefined && shell !== null && typeof shell !== 'boolean' && typeof shell !== 'string') {
    throw new codes.ERR_INVALID_ARG_TYPE('options.shell', ['boolean', 'string'], shell);
  }
  if (options.argv0 !== undefined && options.argv0 !== null) checkText(options.argv0, 'options.argv0');
  if (shell) {
    args = ['-c', [file, ...args].join(' ')];
    file = typeof shell === 'string' ? shell : '/bin/sh';
    args.unshift(file);
  } else {
    args.unshift(options.argv0 || file);
  }
  const env = [];
  const from = options.env || process.env;
  const keys = Object.keys(from);
  // Inherited ones, too. The environment itself is asked for its own alone.
  if (from !== process.env) for (const key in from) if (!keys.includes(key)) keys.push(key);
  for (const key of keys) {
    if (from[key] === undefined) continue;
    checkText(key, `options.env['${key}']`);
    checkText(`${from[key]}`, `options.env['${key}']`);
    env.push(`${key}=${from[key]}`);
  }
  return { ...options, file, args, envPairs: env };
}
// What each descriptor of the child is: C's numbers, and which of them are the program's streams.
function stdioOf(stdio, sync) {
  if (stdio === undefined || stdio === null) stdio = 'pipe';
  if (typeof stdio === 'string') {
    if (!['pipe', 'ignore', 'inherit', 'overlapped'].includes(stdio)) throw new codes.ERR_INVALID_ARG_VALUE('stdio', stdio);
    stdio = [stdio, stdio, stdio];
  } else if (!Array.isArray(stdio)) {
    throw new codes.ERR_INVALID_ARG_VALUE('stdio', stdio);
  }
  stdio = stdio.slice();
  while (stdio.length < 3) stdio.push(undefined);
  let channel = -1;
  const fds = stdio.map((kind, i) => {
    if (kind === undefined || kind === null) kind = i < 3 ? 'pipe' : 'ignore';
    if (kind === 'ignore') return NULL;
    if (kind === 'pipe' || kind === 'overlapped') return PAIR;
    if (kind === 'inherit') return i;
    if (kind === 'ipc') {
      if (sync) throw new codes.ERR_IPC_SYNC_FORK();
      if (channel >= 0) throw new codes.ERR_IPC_ONE_PIPE();
      channel = i;
      return PAIR;
    }
    if (typeof kind === 'number' && Number.isInteger(kind) && kind >= 0) return kind;
    if (typeof kind?.fd === 'number' && kind.fd >= 0) return kind.fd;
    if (kind === process.stdin) return 0;
    if (kind === process.stdout) return 1;
    if (kind === process.stderr) return 2;
    if (kind?._handle instanceof Handle && kind._handle.fd >= 0) return kind._handle.fd;
    throw new codes.ERR_INVALID_ARG_VALUE('stdio', kind);
  });
  return { fds, channel };
}

// ---- a child ------------------------------------------------------------------------------------------------------

class ChildProcess extends EventEmitter {
  #number = -1;
  #left = 1; // streams that are open, and the process itself
  constructor() {
    super();
    this.pid = undefined;
    this.exitCode = this.signalCode = null;
    this.killed = false;
    this.connected = false;
    this.stdin = this.stdout = this.stderr = null;
    this.stdio = [];
    this.spawnfile = null;
    this.spawnargs = [];
  }
  spawn(options) {
    if (options === null || typeof options !== 'object') throw new codes.ERR_INVALID_ARG_TYPE('options', 'Object', options);
    if (options.envPairs !== undefined && !Array.isArray(options.envPairs)) throw new codes.ERR_INVALID_ARG_TYPE('options.envPairs', 'Array', options.envPairs);
    validateString(options.file, 'options.file');
    if (options.args !== undefined && !Array.isArray(options.args)) throw new codes.ERR_INVALID_ARG_TYPE('options.args', 'Array', options.args);
    options = { ...options, args: options.args ?? [], envPairs: options.envPairs ?? [] };
    const { fds, channel } = stdioOf(options.stdio, false);
    const { serialization = 'json' } = options;
    if (serialization !== 'json' && serialization !== 'advanced') {
      throw new codes.ERR_INVALID_ARG_VALUE('options.serialization', serialization, "must be one of: undefined, 'json', 'advanced'");
    }
    if (channel >= 0) options.envPairs.push(`NODE_CHANNEL_FD=${channel}`, `NODE_CHANNEL_SERIALIZATION_MODE=${serialization}`);
    this.spawnfile = options.file;
    this.spawnargs = options.args;
    this.#number = binding.expect((code, signo) => this.#ended(code, signo));
    const made = native.spawn(options.file, options.args, options.envPairs, options.cwd ?? undefined, fds, !!options.detached,
      options.uid ?? -1, options.gid ?? -1, this.#number);
    const failed = typeof made === 'number' ? made : 0;
    if (failed === 0) this.pid = made[0];
    this.stdio = fds.map((kind, i) => {
      if (kind !== PAIR || i === channel) return null;
      const handle = failed === 0 ? adopt(made[i + 1]) : undefined;
      const socket = new net.Socket({ handle: handle instanceof Handle ? handle : undefined, readable: i !== 0, allowHalfOpen: false, manualStart: true });
      if (i === 0) socket.on('close', () => {});
      if (handle === undefined) {
        socket.destroy();
      } else if (i > 0) {
        this.#left++;
        socket.once('close', () => this.#close());
      }
      return socket;
    });
    [this.stdin, this.stdout, this.stderr] = [this.stdio[0] ?? null, this.stdio[1] ?? null, this.stdio[2] ?? null];
    for (let i = 1; i < this.stdio.length; i++) this.stdio[i]?.read(0);
    if (failed < 0) {
      const error = errnoError(failed, `spawn ${options.file}`);
      Object.assign(error, { path: options.file, spawnargs: options.args.slice(1) });
      // Problems of the call itself are thrown; others are told later, like an end.
      if (![-2, -13, -7, -11, -24, -23].includes(failed)) {
        binding.finishNow(this.#number, undefined);
        throw Object.assign(error, { syscall: 'spawn', message: error.message.replace(` ${options.file}`, '') });
      }
      process.nextTick(() => {
        this.exitCode = failed;
        this.#number = -1;
        this.emit('error', error);
        this.#close(failed);
      });
      return failed;
    }
    if (channel >= 0) {
      this.#left++;
      load('child_channel').setup(this, made[channel + 1], serialization, false, () => this.#close());
    }
    process.nextTick(() => this.emit('spawn'));
    return 0;
  }
  #ended(code, signo) {
    if (code === undefined) return;
    this.#number = -1;
    if (signo > 0) this.signalCode = signalName(signo);
    else this.exitCode = code;
    this.stdin?.destroy();
    this.emit('exit', this.exitCode, this.signalCode);
    // Streams that nobody reads would never end.
    process.nextTick(() => {
      for (const stream of this.stdio) {
        if (stream && stream !== this.stdin && stream.readable && stream.readableFlowing === null && stream.listenerCount('readable') === 0) stream.resume();
      }
    });
    this.#close();
  }
  #close(code = this.exitCode) {
    if (--this.#left === 0) this.emit('close', code, this.signalCode);
  }
  kill(signal = 'SIGTERM') {
    const number = signal === 0 ? 0 : signalNumber(signal);
    if (this.#number < 0 || this.pid === undefined) return false;
    const result = native.kill(this.pid, number);
    if (result === 0) {
      if (number !== 0) this.killed = true;
      return true;
    }
    if (result !== -3) this.emit('error', errnoError(result, 'kill'));
    return false;
  }
  ref() { if (this.#number >= 0) native.refer(this.#number, true); }
  unref() { if (this.#number >= 0) native.refer(this.#number, false); }
  [Symbol.dispose]() { if (!this.killed) this.kill(); }
}

function spawn(file, args, options) {
  if (Array.isArray(options)) throw new codes.ERR_INVALID_ARG_TYPE('options', 'object', options);
  const wanted = normalize(file, args, options);
  checkLimits(wanted);
  const child = new ChildProcess();
  const { signal, timeout } = wanted;
  const killSignal = wanted.killSignal ?? 'SIGTERM';
  if (signal !== undefined) validateAbortSignal(signal, 'options.signal');
  child.spawn(wanted);
  if (timeout > 0) {
    const timer = setTimeout(() => child.kill(killSignal), timeout);
    child.once('exit', () => clearTimeout(timer));
    child.once('error', () => clearTimeout(timer));
  }
  if (signal !== undefined) {
    const abort = () => {
      if (child.kill(killSignal)) child.emit('error', new AbortError(undefined, { cause: signal.reason }));
    };
    if (signal.aborted) process.nextTick(abort);
    else {
      signal.addEventListener('abort', abort, { once: true });
      child.once('exit', () => signal.removeEventListener('abort', abort));
    }
  }
  return child;
}
// The options of this process, without the text that it runs.
function ownOptions() {
  const at = process.execArgv.findIndex((word) => /^(-e|--eval|-p|--print|-pe)$/.test(word));
  return at < 0 ? process.execArgv : process.execArgv.toSpliced(at, 2);
}
// Another program of this host, with a channel to it. What `vigil run` is started as takes the file as its first argument.
function fork(file, args, options) {
  if (file instanceof load('url').URL) file = load('url').fileURLToPath(file);
  checkText(file, 'modulePath');
  if (args === undefined || args === null) args = [];
  else if (typeof args === 'object' && !Array.isArray(args)) {
    options = args;
    args = [];
  } else if (!Array.isArray(args)) throw new codes.ERR_INVALID_ARG_TYPE('args', 'Array', args);
  if (options !== undefined && options !== null && (typeof options !== 'object' || Array.isArray(options))) {
    throw new codes.ERR_INVALID_ARG_TYPE('options', 'Object', options);
  }
  options = { ...options, shell: false };
  const { execPath = process.execPath, execArgv = ownOptions(), silent = false } = options;
  const three = (kind) => [kind, kind, kind, 'ipc'];
  if (typeof options.stdio === 'string') {
    if (!['pipe', 'ignore', 'inherit', 'overlapped'].includes(options.stdio)) throw new codes.ERR_INVALID_ARG_VALUE('stdio', options.stdio);
    options.stdio = three(options.stdio);
  } else if (!Array.isArray(options.stdio)) {
    options.stdio = three(silent ? 'pipe' : 'inherit');
  } else if (!options.stdio.includes('ipc')) {
    throw new codes.ERR_CHILD_PROCESS_IPC_REQUIRED('options.stdio');
  }
  return spawn(execPath, [...execArgv, file, ...args], options);
}
// Of those that collect output, also how much of it.
function checkOutput({ maxBuffer }) {
  if (maxBuffer !== undefined && maxBuffer !== null && !(typeof maxBuffer === 'number' && maxBuffer >= 0)) {
    throw new codes.ERR_OUT_OF_RANGE('options.maxBuffer', 'a positive number', maxBuffer);
  }
}
function checkLimits(options) {
  const { timeout, killSignal } = options;
  if (timeout !== undefined && timeout !== null && !(Number.isInteger(timeout) && timeout >= 0)) {
    throw new codes.ERR_OUT_OF_RANGE('timeout', 'an unsigned integer', timeout);
  }
  if (killSignal === undefined || killSignal === null) return;
  if (typeof killSignal !== 'string' && typeof killSignal !== 'number') {
    throw new codes.ERR_INVALID_ARG_TYPE('options.killSignal', ['string', 'number'], killSignal);
  }
  signalNumber(killSignal);
}

// ---- with what it says --------------------------------------------------------------------------------------------

function execFile(file, args, options, callback) {
  if (typeof args === 'function') {
    callback = args;
    args = options = undefined;
  } else if (!Array.isArray(args) && args !== null && typeof args === 'object') {
    callback = options ?? callback;
    options = args;
    args = [];
  }
  if (typeof options === 'function') {
    callback = options;
    options = undefined;
  } else if (options !== undefined && options !== null && (typeof options !== 'object' || Array.isArray(options))) {
    throw new codes.ERR_INVALID_ARG_TYPE('options', 'object', options);
  }
  if (callback !== undefined && callback !== null) validateFunction(callback, 'callback');
  options = { encoding: 'utf8', timeout: 0, maxBuffer: MAX_BUFFER, killSignal: 'SIGTERM', cwd: null, env: null, shell: false, ...options };
  checkLimits(options);
  checkOutput(options);
  const { encoding } = options;
  const asText = encoding !== 'buffer' && encoding !== null && Buffer.isEncoding(encoding);
  const child = spawn(file, args, { ...options, timeout: undefined, signal: options.signal, stdio: undefined });
  const most = options.maxBuffer ?? MAX_BUFFER;
  const kept = [[], []];
  const lengths = [0, 0];
  let failure = null;
  let over = false;
  let killed = false;
  let timer;
  const kill = () => {
    child.stdout?.destroy();
    child.stderr?.destroy();
    killed = true;
    try {
      child.kill(options.killSignal);
    } catch (error) {
      failure = error;
      done(null, null);
    }
  };
  const done = (code, signal) => {
    if (over) return;
    over = true;
    clearTimeout(timer);
    // The program may have asked the stream itself for texts.
    const texts = kept.map((list) => (asText || typeof list[0] === 'string' ? list.join('') : Buffer.concat(list)));
    if (typeof callback !== 'function') return;
    if (failure === null && code === 0 && signal === null) {
      callback(null, texts[0], texts[1]);
      return;
    }
    if (failure === null) {
      let command = file;
      if (args?.length > 0) command += ` ${args.join(' ')}`;
      failure = new Error(`Command failed: ${command}\n${asText ? texts[1] : texts[1].toString()}`);
      failure.code = code < 0 ? binding.errorName(-code)[0] : code;
      failure.killed = child.killed || killed;
      failure.signal = signal;
    }
    failure.cmd = args?.length > 0 ? `${file} ${args.join(' ')}` : file;
    callback(failure, texts[0], texts[1]);
  };
  [child.stdout, child.stderr].forEach((stream, i) => {
    if (!stream) return;
    if (asText) stream.setEncoding(encoding);
    stream.on('data', (chunk) => {
      const length = typeof chunk === 'string' ? Buffer.byteLength(chunk, encoding) : chunk.length;
      lengths[i] += length;
      if (lengths[i] <= most) {
        kept[i].push(chunk);
        return;
      }
      const room = most - (lengths[i] - length);
      kept[i].push(chunk.slice(0, room));
      failure = new codes.ERR_CHILD_PROCESS_STDIO_MAXBUFFER(i === 0 ? 'stdout' : 'stderr');
      kill();
    });
  });
  if (options.timeout > 0) timer = setTimeout(kill, options.timeout);
  child.on('close', done);
  child.on('error', (error) => {
    failure = error;
    child.stdout?.destroy();
    child.stderr?.destroy();
    done(null, null);
  });
  return child;
}
function shellOptions(command, options, callback) {
  if (typeof options === 'function') {
    callback = options;
    options = undefined;
  }
  options = { ...options };
  options.shell = typeof options.shell === 'string' ? options.shell : true;
  return [options, callback];
}
function exec(command, options, callback) {
  [options, callback] = shellOptions(command, options, callback);
  validateString(command, 'command');
  return execFile(command, options, callback);
}
const promised = (original) => (...args) => {
  const settle = {};
  const promise = new Promise((resolve, reject) => Object.assign(settle, { resolve, reject }));
  // Wrong arguments are thrown, and do not reject.
  promise.child = original(...args, (error, stdout, stderr) => {
    if (error === null) settle.resolve({ stdout, stderr });
    else settle.reject(Object.assign(error, { stdout, stderr }));
  });
  return promise;
};
for (const original of [exec, execFile]) {
  Object.defineProperty(original, Symbol.for('nodejs.util.promisify.custom'), { value: promised(original), enumerable: false });
}

// ---- and wait -----------------------------------------------------------------------------------------------------

function spawnSync(file, args, options) {
  const wanted = normalize(file, args, { maxBuffer: MAX_BUFFER, ...(Array.isArray(args) || args === undefined || args === null ? options : args) });
  checkLimits(wanted);
  checkOutput(wanted);
  const { fds } = stdioOf(wanted.stdio, true);
  let { input } = wanted;
  if (input !== undefined && input !== null) {
    if (typeof input === 'string') input = Buffer.from(input, wanted.encoding === 'buffer' ? 'utf8' : wanted.encoding);
    else if (ArrayBuffer.isView(input)) input = new Uint8Array(input.buffer, input.byteOffset, input.byteLength);
    else throw new codes.ERR_INVALID_ARG_TYPE('options.stdio[0]', ['Buffer', 'TypedArray', 'DataView', 'string'], input);
    fds[0] = PAIR;
  }
  const result = native.run(wanted.file, wanted.args, wanted.envPairs, wanted.cwd ?? undefined, fds, !!wanted.detached, wanted.uid ?? -1,
    wanted.gid ?? -1, input ?? undefined, wanted.timeout ?? 0, signalNumber(wanted.killSignal ?? 'SIGTERM'), wanted.maxBuffer ?? MAX_BUFFER);
  const failed = (number) => Object.assign(errnoError(number, `spawnSync ${wanted.file}`), { path: wanted.file, spawnargs: wanted.args.slice(1) });
  if (typeof result === 'number') {
    return { error: failed(result), status: null, signal: null, output: null, pid: 0, stdout: null, stderr: null };
  }
  const text = wanted.encoding && wanted.encoding !== 'buffer' ? wanted.encoding : undefined;
  const output = fds.map((kind, i) => {
    if (kind !== PAIR || i === 0) return null;
    const bytes = fromBytes(result[i + 4]);
    return text === undefined ? bytes : bytes.toString(text);
  });
  const made = {
    status: result[1] < 0 ? null : result[1], signal: result[2] > 0 ? signalName(result[2]) : null, output, pid: result[0],
    stdout: output[1], stderr: output[2],
  };
  return result[3] < 0 ? { error: failed(result[3]), ...made } : made;
}
function checked(result, command, options) {
  if (options?.stdio === undefined && result.stderr?.length > 0) binding.write(2, typeof result.stderr === 'string' ? Buffer.from(result.stderr) : result.stderr);
  if (result.error) throw Object.assign(result.error, result);
  if (result.status !== 0) {
    let text = `Command failed: ${command}`;
    if (result.stderr?.length > 0) text += `\n${result.stderr}`;
    throw Object.assign(new Error(text), result);
  }
  return result.stdout;
}
function execFileSync(file, args, options) {
  if (!Array.isArray(args) && args !== undefined && args !== null) {
    options = args;
    args = [];
  }
  const result = spawnSync(file, args, options);
  return checked(result, [file, ...(args ?? [])].join(' '), options);
}
function execSync(command, options) {
  const [wanted] = shellOptions(command, options);
  validateString(command, 'command');
  return checked(spawnSync(command, [], wanted), command, options);
}

module.exports = { ChildProcess, exec, execFile, execFileSync, execSync, fork, spawn, spawnSync };
