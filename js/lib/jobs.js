// SPDX-License-Identifier: MIT
// vigil:jobs: jobs that outlive the process, with handlers in JavaScript. See docs/jobs.md and docs/js.md.
//
// What blocks happens on the pool, and its answer comes under a number (binding.expect). A run that starts, or is to stop, comes to
// `receive`. Numbers of jobs may be larger than a Number holds exactly (several servers): those are BigInts.
'use strict';

const { codes, validateAbortSignal, validateFunction, validateInteger, validateObject, validateString } = load('errors');
const { make: systemError } = load('fserrors');
const { priority: PRIORITY } = load('constants');
const { Buffer } = load('buffer');
const native = binding.jobs(receive);

const JSON_TYPE = 'application/json';
const STATES = ['waiting', 'running', 'held', 'quarantine', 'completed', 'dead', 'cancelled'];
const CATCH_UP = ['one', 'skip', 'all'];
const CONCURRENCY = 16;
const queues = new Map(); // by number
const runs = new Map(); // by number: those whose handlers have not ended
let lastQueue = 0;

// ---- values -------------------------------------------------------------------------------------------------------

const toId = (text) => (Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text));
function fromId(id, name = 'id') {
  if ((typeof id === 'number' && Number.isSafeInteger(id) && id > 0) || (typeof id === 'bigint' && id > 0n)) return String(id);
  throw new codes.ERR_INVALID_ARG_TYPE(name, ['number', 'bigint'], id);
}
// Bytes stay bytes; everything else is JSON.
function toBytes(value) {
  if (value instanceof ArrayBuffer) return { bytes: new Uint8Array(value) };
  if (ArrayBuffer.isView(value)) return { bytes: new Uint8Array(value.buffer, value.byteOffset, value.byteLength) };
  const text = JSON.stringify(value);
  if (text === undefined) throw new codes.ERR_INVALID_ARG_VALUE('value', value, 'has no form in JSON');
  return { bytes: Buffer.from(text), type: JSON_TYPE };
}
const asBuffer = (bytes) => (bytes === undefined ? undefined : load('buffer').fromBytes(bytes));

function failure(what, status, why) {
  if (!why) return systemError(status, what);
  const [code] = binding.errorName(-status);
  return Object.assign(new Error(`${what}: ${why}`), { errno: status, code });
}
function checkTimes(options, names) {
  for (const name of names) {
    if (options[name] !== undefined) validateInteger(options[name], `options.${name}`, 0, Number.MAX_SAFE_INTEGER);
  }
}
function checkTexts(options, names) {
  for (const name of names) {
    if (options[name] !== undefined) validateString(options[name], `options.${name}`);
  }
}
function toOptions(options) {
  if (options === undefined || options === null) return {};
  validateObject(options, 'options');
  return options;
}

// ---- a run --------------------------------------------------------------------------------------------------------

class Job {
  #queue;
  #run;
  #controller = new AbortController();
  #payload;
  #checkpoint;
  constructor(queue, raw) {
    this.#queue = queue;
    this.#run = raw.run;
    this.#payload = asBuffer(raw.payload);
    this.#checkpoint = asBuffer(raw.checkpoint);
    this.id = toId(raw.id);
    this.number = toId(raw.number);
    this.kind = raw.kind;
    this.version = raw.version;
    this.contentType = raw.contentType;
    this.errors = raw.errors;
    this.crashes = raw.crashes;
  }
  // What was enqueued: a value, or a Buffer if that were bytes.
  get payload() {
    return this.contentType === JSON_TYPE ? JSON.parse(this.#payload.toString()) : this.#payload;
  }
  // What an earlier run has saved; undefined: nothing.
  get checkpoint() {
    return this.#checkpoint;
  }
  get signal() {
    return this.#controller.signal;
  }
  progress(done, text) {
    if (typeof done !== 'number' || !(done >= 0 && done <= 1)) throw new codes.ERR_OUT_OF_RANGE('done', '>= 0 && <= 1', done);
    if (text !== undefined) validateString(text, 'text');
    const error = native.progress(this.#queue, this.#run, done, text);
    if (error < 0) throw systemError(error, 'progress');
  }
  save(value) {
    const { bytes } = toBytes(value);
    const error = native.checkpoint(this.#queue, this.#run, bytes);
    if (error < 0) throw systemError(error, 'save');
  }
  static abort(job, status) {
    const [code, text] = binding.errorName(-status);
    job.#controller.abort(Object.assign(new Error(`the job is to stop: ${text ?? code}`), { errno: status, code, name: 'AbortError' }));
  }
}

function textOf(error) {
  return error instanceof Error ? `${error.message}\n${error.stack ?? ''}` : String(error);
}

async function work(queue, raw, handler) {
  const job = new Job(queue, raw);
  runs.set(raw.run, job);
  let bytes, problem;
  try {
    const result = await handler(job);
    if (result !== undefined) bytes = toBytes(result).bytes;
  } catch (error) {
    problem = textOf(error);
  }
  runs.delete(raw.run);
  const error = native.finish(queue, raw.run, bytes, problem);
  // -ESTALE: the queue was closed before, and has given the job back.
  if (error < 0 && error !== load('os').constants.errno.ESTALE * -1) {
    native.finish(queue, raw.run, undefined, failure('result', error).message);
  }
}

function receive(raw, status) {
  if (status !== undefined) {
    const job = runs.get(raw);
    if (job !== undefined) Job.abort(job, status);
    return;
  }
  const handler = queues.get(raw.queue)?.(raw.kind);
  if (handler === undefined) native.finish(raw.queue, raw.run, undefined, 'the queue is closing');
  else work(raw.queue, raw, handler);
}

// ---- a queue ------------------------------------------------------------------------------------------------------

const OPEN_TIMES = ['concurrency', 'lease', 'poll', 'maxPayload', 'keepCompleted', 'keepDead', 'keepCompletedMost',
  'keepDeadMost', 'maxWaiting', 'fullWait'];
const KIND_TIMES = ['version', 'maxErrors', 'backoff', 'backoffMax', 'limit', 'cap', 'rate', 'tenantCap', 'tenantRate'];
const JOB_TIMES = ['delay', 'version', 'maxErrors', 'limit', 'uniqueFor'];

function toJob(kind, payload, given) {
  validateString(kind, 'kind');
  const options = toOptions(given);
  checkTimes(options, JOB_TIMES);
  checkTexts(options, ['key', 'tenant', 'contentType']);
  const { bytes, type } = payload === undefined ? { bytes: new Uint8Array(0) } : toBytes(payload);
  const job = { kind, payload: bytes, contentType: options.contentType ?? type ?? '' };
  for (const name of [...JOB_TIMES, 'key', 'tenant']) if (options[name] !== undefined) job[name] = options[name];
  if (options.priority !== undefined) {
    if (!Object.hasOwn(PRIORITY, options.priority)) {
      throw new codes.ERR_INVALID_ARG_VALUE('options.priority', options.priority, `must be one of ${Object.keys(PRIORITY).join(', ')}`);
    }
    job.priority = PRIORITY[options.priority];
  }
  if (options.at !== undefined) job.at = Number(options.at);
  if (options.at !== undefined) validateInteger(job.at, 'options.at', 0, Number.MAX_SAFE_INTEGER);
  if (options.unique !== undefined && options.unique !== 'end' && options.unique !== 'start') {
    throw new codes.ERR_INVALID_ARG_VALUE('options.unique', options.unique, "must be 'end' or 'start'");
  }
  job.untilStart = options.unique === 'start';
  if (options.batch !== undefined) job.batch = fromId(options.batch, 'options.batch');
  if (options.afterBatch !== undefined) job.afterBatch = fromId(options.afterBatch, 'options.afterBatch');
  return job;
}

function toInfo(raw) {
  const { payload, result, ...rest } = raw;
  return {
    ...rest, id: toId(raw.id), number: toId(raw.number), progress: raw.progress < 0 ? undefined : raw.progress,
    payload: asBuffer(payload), result: asBuffer(result),
  };
}

class Queue {
  #number;
  #handlers = new Map();
  #pending = new Set(); // operations that the closing waits for
  #closed; // the promise of close()
  #started = false;
  #shut = false; // no handler starts any more, and what ends is given back

  constructor(number) {
    this.#number = number;
    queues.set(number, (kind) => (this.#shut ? undefined : this.#handlers.get(kind)));
  }

  #operate(what, begin, late = false) {
    if (this.#closed !== undefined && !late) return Promise.reject(failure(what, -load('os').constants.errno.ESHUTDOWN, 'the queue is closed'));
    const done = operate(what, (at) => begin(this.#number, at));
    this.#pending.add(done);
    const forget = () => this.#pending.delete(done);
    done.then(forget, forget);
    return done;
  }
  #verb(what, argument, ms, late) {
    return this.#operate(what, (queue, at) => native.verb(queue, at, what, argument, ms), late);
  }

  handle(kind, handler, given) {
    validateString(kind, 'kind');
    validateFunction(handler, 'handler');
    const options = toOptions(given);
    checkTimes(options, KIND_TIMES);
    const error = native.handle(this.#number, kind, options);
    if (error < 0) throw systemError(error, 'handle');
    this.#handlers.set(kind, handler);
    return this;
  }
  async start() {
    await this.#verb('start');
    this.#started = true;
    if (this.#closed === undefined) native.keep(this.#number, true);
  }
  // A queue that runs jobs keeps the program alive.
  ref() {
    if (this.#started && this.#closed === undefined) native.keep(this.#number, true);
    return this;
  }
  unref() {
    native.keep(this.#number, false);
    return this;
  }

  async enqueue(kind, payload, options) {
    const job = toJob(kind, payload, options);
    const ids = await this.#operate('enqueue', (queue, at) => native.enqueue(queue, at, [job], 1));
    return toId(ids[0]);
  }
  // All in one transaction. null in place of a number: another job holds the key.
  async enqueueMany(list) {
    if (!Array.isArray(list)) throw new codes.ERR_INVALID_ARG_TYPE('list', 'Array', list);
    const jobs = list.map((one) => toJob(one?.kind, one?.payload, one));
    if (jobs.length === 0) return [];
    const ids = await this.#operate('enqueueMany', (queue, at) => native.enqueue(queue, at, jobs, jobs.length));
    return Array.from(ids, (id) => (id === '0' ? null : toId(id)));
  }

  // How the job has ended, whenever that is.
  async wait(id, given) {
    const { signal } = toOptions(given);
    validateAbortSignal(signal, 'options.signal');
    const wanted = fromId(id);
    signal?.throwIfAborted();
    if (this.#closed !== undefined) throw failure('wait', -load('os').constants.errno.ESHUTDOWN, 'the queue is closed');
    let number;
    const onAbort = () => native.unwait(this.#number, number);
    try {
      return toInfo(await operate('wait', (at) => {
        number = at;
        signal?.addEventListener('abort', onAbort, { once: true });
        return native.wait(this.#number, at, wanted);
      }));
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
  }
  // What the handler has returned; rejected if the job does not complete.
  async result(id, options) {
    const end = await this.wait(id, options);
    if (end.state !== 'completed') {
      throw Object.assign(new Error(`job ${end.id} is ${end.state}${end.error === '' ? '' : `: ${end.error}`}`), { code: 'ERR_JOB_FAILED', job: end });
    }
    return end.result === undefined || end.result.length === 0 ? undefined : JSON.parse(end.result.toString());
  }

  async look(given) {
    const options = toOptions(given);
    checkTexts(options, ['kind']);
    checkTimes(options, ['most']);
    const filter = { kind: options.kind, most: options.most, states: 0 };
    if (options.id !== undefined) filter.id = fromId(options.id);
    if (options.above !== undefined) filter.above = fromId(options.above, 'options.above');
    for (const state of options.states ?? []) {
      const at = STATES.indexOf(state);
      if (at < 0) throw new codes.ERR_INVALID_ARG_VALUE('options.states', state, `must be some of ${STATES.join(', ')}`);
      filter.states |= 1 << at;
    }
    return Array.from(await this.#operate('look', (queue, at) => native.look(queue, at, filter)), toInfo);
  }
  // True: it runs, and has been asked to stop. False: it had not started, and is cancelled.
  async cancel(id) {
    return await this.#verb('cancel', fromId(id)) === 1;
  }
  async retry(id) {
    await this.#verb('retry', fromId(id));
  }
  async remove(id) {
    await this.#verb('remove', fromId(id));
  }
  async pause(kind) {
    if (kind !== undefined) validateString(kind, 'kind');
    await this.#verb('pause', kind);
  }
  async resume(kind) {
    if (kind !== undefined) validateString(kind, 'kind');
    await this.#verb('resume', kind);
  }
  async batch() {
    return toId((await this.#verb('batch')).id);
  }
  async endBatch(id) {
    await this.#verb('endBatch', fromId(id));
  }
  async account() {
    return this.#verb('account');
  }
  async schedule(name, given) {
    validateString(name, 'name');
    const options = toOptions(given);
    validateString(options.kind, 'options.kind');
    validateString(options.cron, 'options.cron');
    checkTexts(options, ['zone', 'catchUp']);
    const catchUp = CATCH_UP.indexOf(options.catchUp ?? 'one');
    if (catchUp < 0) throw new codes.ERR_INVALID_ARG_VALUE('options.catchUp', options.catchUp, `must be one of ${CATCH_UP.join(', ')}`);
    if (options.payload !== undefined && !ArrayBuffer.isView(options.payload)) {
      throw new codes.ERR_INVALID_ARG_TYPE('options.payload', ['Buffer', 'TypedArray', 'DataView'], options.payload);
    }
    const { kind, cron, zone, payload } = options;
    await this.#operate('schedule', (queue, at) => native.schedule(queue, at, name, { kind, cron, zone, catchUp, payload }));
  }
  async unschedule(name) {
    validateString(name, 'name');
    await this.#verb('unschedule', name);
  }

  // Start nothing more, wait for the handlers for so many milliseconds, then tell their signals and give their jobs back.
  close(given) {
    if (this.#closed !== undefined) return this.#closed;
    const { timeout } = toOptions(given);
    if (timeout !== undefined) validateInteger(timeout, 'options.timeout', 0, Number.MAX_SAFE_INTEGER);
    const shutdown = this.#verb('shutdown', undefined, timeout);
    this.#closed = this.#end(shutdown);
    return this.#closed;
  }
  async #end(shutdown) {
    let whole = true;
    try {
      await shutdown;
    } catch (error) {
      if (error.code !== 'ETIMEDOUT') throw error;
      whole = false;
    }
    this.#shut = true;
    native.abandon(this.#number);
    while (this.#pending.size > 0) await Promise.allSettled(this.#pending);
    await this.#verb('close', undefined, undefined, true);
    native.forget(this.#number);
    queues.delete(this.#number);
    return whole;
  }
  async [Symbol.asyncDispose ?? Symbol.for('nodejs.asyncDispose')]() {
    await this.close();
  }
}

function operate(what, begin) {
  return new Promise((resolve, reject) => {
    const at = binding.expect((value, why) => {
      if (typeof value === 'number' && value < 0) reject(failure(what, value, why));
      else if (typeof value === 'object' && value.status < 0) {
        reject(Object.assign(failure(what, value.status, value.why), { holder: toId(value.holder) }));
      } else resolve(value);
    });
    const begun = begin(at);
    if (begun < 0) process.nextTick(binding.finishNow, at, begun);
  });
}

async function open(where, given) {
  validateString(where, 'where');
  const options = toOptions(given);
  checkTimes(options, OPEN_TIMES);
  checkTexts(options, ['spool']);
  const number = ++lastQueue;
  try {
    await operate('open', (at) => native.open(number, at, where, { ...options, concurrency: options.concurrency ?? CONCURRENCY }));
  } catch (error) {
    native.forget(number);
    throw error;
  }
  return new Queue(number);
}

module.exports = { open };
