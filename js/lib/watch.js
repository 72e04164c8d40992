// SPDX-License-Identifier: MIT
// vigil:watch: what the recorder and the watchdog know about this process, from within. See docs/js.md.
//
// The watchdog is a thread of its own, one for each process. Its verdicts come as 'verdict' events when the loop gets to them: one about the
// loop itself after that has gone on. They do not keep the program alive.
'use strict';

const EventEmitter = load('events');
const { codes, validateInteger, validateString } = load('errors');
const { make: systemError } = load('fserrors');
const native = binding.watch();

const { recover: RECOVER, severity } = load('constants');
const SEVERITIES = Object.keys(severity);
const LIMITS = ['interval', 'hog', 'loop', 'stuck', 'growth', 'repeat'];

const watch = new EventEmitter();

watch.snapshot = () => {
  const it = native.snapshot();
  // Asking must not make a pool.
  it.pool = it.pool ? load('pool').stats() : null;
  it.memory = process.memoryUsage();
  return it;
};
watch.verdicts = () => native.verdicts();
watch.start = (options = {}) => {
  if (options === null || typeof options !== 'object') throw new codes.ERR_INVALID_ARG_TYPE('options', 'Object', options);
  const { recover = [], least = 'info' } = options;
  for (const name of LIMITS) {
    if (options[name] !== undefined) validateInteger(options[name], `options.${name}`, name === 'interval' ? 10 : 1, 2 ** 31 - 1);
  }
  if (!Array.isArray(recover)) throw new codes.ERR_INVALID_ARG_TYPE('options.recover', 'Array', recover);
  let bits = 0;
  for (const name of recover) {
    if (!Object.hasOwn(RECOVER, name)) {
      throw new codes.ERR_INVALID_ARG_VALUE('options.recover', recover, `must name ${Object.keys(RECOVER).join(', ')}`);
    }
    bits |= RECOVER[name];
  }
  if (!SEVERITIES.includes(least)) {
    throw new codes.ERR_INVALID_ARG_VALUE('options.least', least, `must be one of ${SEVERITIES.join(', ')}`);
  }
  const status = native.start((verdict) => watch.emit('verdict', verdict), ...LIMITS.map((name) => options[name] ?? 0), bits,
                              SEVERITIES.indexOf(least));
  if (status < 0) throw systemError(status, 'watchdog');
  return watch;
};
// False: it was not this program that had started it.
watch.stop = () => native.stop();
watch.mark = (name, value = 0) => {
  validateString(name, 'name');
  validateInteger(value, 'value', 0);
  return native.mark(name, value) === 0;
};
Object.defineProperty(watch, 'level', { enumerable: true, get: () => native.snapshot().recorder.level });

module.exports = watch;
