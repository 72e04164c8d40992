// SPDX-License-Identifier: MIT
// Diffie-Hellman of node:crypto with numbers, and primes.
'use strict';

const { codes, validateBoolean, validateFunction, validateInteger, validateObject, validateString } = load('errors');
const { Buffer } = load('buffer');
const { now, later, unpack, textOf, asBuffer } = load('crypto_native');
const { toBytes } = load('crypto_keys')[Symbol.for('vigil.host')];

const given = (bytes, encoding) => (encoding === undefined || encoding === null || encoding === 'buffer' ? bytes : bytes.toString(encoding));
const numberTypes = ['number', 'string', 'ArrayBuffer', 'Buffer', 'TypedArray', 'DataView'];
const isBytes = (value) => typeof value === 'string' || ArrayBuffer.isView(value) || value instanceof ArrayBuffer;

// ---- groups -------------------------------------------------------------------------------------------------------

const states = new WeakMap(); // -> { prime, generator, private, public }
function setUp(object, prime, generator) {
  const state = { prime, generator, private: undefined, public: undefined };
  states.set(object, state);
  let verdict;
  Object.defineProperty(object, 'verifyError', {
    get: () => (verdict ??= +textOf(unpack(now('checkGroup', state.prime, state.generator))[0])), enumerable: true, configurable: true,
  });
}
function badGenerator() {
  const error = new Error('error:02800065:Diffie-Hellman routines::bad generator');
  return Object.assign(error, { library: 'Diffie-Hellman routines', reason: 'bad generator', code: 'ERR_OSSL_DH_BAD_GENERATOR' });
}
function generatorOf(value, encoding) {
  if (typeof value === 'number') {
    validateInteger(value, 'generator', -(2 ** 31), 2 ** 31 - 1);
    if (value === 0) value = 2;
    if (value <= 1) throw badGenerator();
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(value);
    return bytes.subarray(bytes.findIndex((byte) => byte !== 0));
  }
  if (!isBytes(value)) throw new codes.ERR_INVALID_ARG_TYPE('generator', numberTypes, value);
  const bytes = toBytes(value, 'generator', encoding);
  const first = bytes.findIndex((byte) => byte !== 0);
  if (first === -1 || (first === bytes.length - 1 && bytes[first] === 1)) throw badGenerator();
  return Buffer.from(bytes.subarray(first));
}

function DiffieHellman(sizeOrKey, keyEncoding, generator, genEncoding) {
  if (!new.target) return new DiffieHellman(sizeOrKey, keyEncoding, generator, genEncoding);
  if (typeof sizeOrKey !== 'number' && !isBytes(sizeOrKey)) throw new codes.ERR_INVALID_ARG_TYPE('sizeOrKey', numberTypes, sizeOrKey);
  if (typeof sizeOrKey === 'number') validateInteger(sizeOrKey, 'sizeOrKey', -(2 ** 31), 2 ** 31 - 1);
  // An encoding may be left out.
  if (keyEncoding && keyEncoding !== 'buffer' && !Buffer.isEncoding(keyEncoding)) {
    genEncoding = generator;
    generator = keyEncoding;
    keyEncoding = undefined;
  }
  if (!keyEncoding) keyEncoding = undefined;
  const start = generatorOf(generator || (typeof generator === 'boolean' ? generator : 2), genEncoding);
  if (typeof sizeOrKey === 'number') {
    const small = start.length <= 4 ? start.reduce((sum, byte) => sum * 256 + byte, 0) : 0;
    setUp(this, asBuffer(now('newGroup', sizeOrKey, small)), start);
  } else {
    setUp(this, Buffer.from(toBytes(sizeOrKey, 'sizeOrKey', keyEncoding)), start);
  }
}
function DiffieHellmanGroup(name) {
  if (!new.target) return new DiffieHellmanGroup(name);
  validateString(name, 'name');
  let prime;
  try {
    prime = asBuffer(now('group', name.toLowerCase()));
  } catch {
    throw new codes.ERR_CRYPTO_UNKNOWN_DH_GROUP();
  }
  setUp(this, prime, Buffer.from([2]));
}

const missing = (kind) => new codes.ERR_CRYPTO_INVALID_STATE(`No ${kind} key - did you forget to generate one?`, true);
const methods = {
  generateKeys(encoding) {
    const state = states.get(this);
    const [own, open] = unpack(now('groupKeys', state.prime, state.generator, state.private));
    state.private = asBuffer(own);
    state.public = asBuffer(open);
    return given(Buffer.from(state.public), encoding);
  },
  computeSecret(other, from, to) {
    const state = states.get(this);
    const key = toBytes(other, 'otherPublicKey', from);
    let secret;
    try {
      secret = now('groupSecret', state.prime, state.generator, state.private, key);
    } catch (error) {
      if (/^Supplied key/.test(error.message)) throw new codes.ERR_CRYPTO_INVALID_KEYLEN(error.message);
      throw state.private === undefined ? new codes.ERR_CRYPTO_INVALID_KEYTYPE('Invalid key type') : error;
    }
    return given(asBuffer(secret), to);
  },
  getPrime(encoding) { return given(Buffer.from(states.get(this).prime), encoding); },
  getGenerator(encoding) { return given(Buffer.from(states.get(this).generator), encoding); },
  getPublicKey(encoding) {
    const key = states.get(this).public;
    if (key === undefined) throw missing('public');
    return given(Buffer.from(key), encoding);
  },
  getPrivateKey(encoding) {
    const key = states.get(this).private;
    if (key === undefined) throw missing('private');
    return given(Buffer.from(key), encoding);
  },
};
for (const Kind of [DiffieHellman, DiffieHellmanGroup]) {
  for (const name of Object.keys(methods)) Object.defineProperty(Kind.prototype, name, { value: methods[name], writable: true, configurable: true, enumerable: true });
}
DiffieHellman.prototype.setPublicKey = function setPublicKey(key, encoding) {
  states.get(this).public = Buffer.from(toBytes(key, 'key', encoding));
  return this;
};
DiffieHellman.prototype.setPrivateKey = function setPrivateKey(key, encoding) {
  states.get(this).private = Buffer.from(toBytes(key, 'key', encoding));
  return this;
};

// The arguments of `generate` for a key pair.
function recipe(options) {
  validateObject(options, 'options');
  const { group, primeLength, prime, generator } = options;
  const pair = (a, b) => new codes.ERR_INCOMPATIBLE_OPTION_PAIR(a, b);
  if (group !== undefined && group !== null) {
    if (prime !== undefined) throw pair('group', 'prime');
    if (primeLength !== undefined) throw pair('group', 'primeLength');
    if (generator !== undefined) throw pair('group', 'generator');
    validateString(group, 'options.group');
    return ['generate', 'DH', states.get(new DiffieHellmanGroup(group)).prime, 2];
  }
  if (prime !== undefined && primeLength !== undefined) throw pair('prime', 'primeLength');
  if (prime === undefined && primeLength === undefined) throw new codes.ERR_MISSING_OPTION('At least one of the group, prime, or primeLength options');
  if (prime !== undefined && !ArrayBuffer.isView(prime) && !(prime instanceof ArrayBuffer)) {
    throw new codes.ERR_INVALID_ARG_TYPE('options.prime', ['Buffer', 'TypedArray', 'DataView', 'ArrayBuffer'], prime);
  }
  if (primeLength !== undefined) validateInteger(primeLength, 'options.primeLength', 0, 2 ** 31 - 1);
  if (generator !== undefined) validateInteger(generator, 'options.generator', 0, 2 ** 31 - 1);
  return ['generate', 'DH', prime === undefined ? primeLength : toBytes(prime, 'options.prime'), generator ?? 2];
}

// ---- primes -------------------------------------------------------------------------------------------------------

const primeTypes = ['ArrayBuffer', 'TypedArray', 'Buffer', 'DataView', 'bigint'];
function numberBytes(value, name) {
  if (typeof value !== 'bigint') {
    if (!ArrayBuffer.isView(value) && !(value instanceof ArrayBuffer)) throw new codes.ERR_INVALID_ARG_TYPE(name, primeTypes, value);
    return toBytes(value, name);
  }
  if (value < 0n) throw new codes.ERR_OUT_OF_RANGE(name, '>= 0', value);
  const text = value.toString(16);
  return Buffer.from(text.length % 2 === 0 ? text : `0${text}`, 'hex');
}
const bigOf = (bytes) => (bytes.length === 0 ? 0n : BigInt(`0x${asBuffer(bytes).toString('hex')}`));
function outOfRange(text) {
  const error = new RangeError(text);
  error.code = 'ERR_OUT_OF_RANGE';
  return error;
}
function primeRecipe(size, options) {
  validateInteger(size, 'size', 1, 2 ** 31 - 1);
  validateObject(options, 'options');
  const { safe = false, bigint = false, add, rem } = options;
  validateBoolean(safe, 'options.safe');
  validateBoolean(bigint, 'options.bigint');
  const step = add === undefined ? undefined : numberBytes(add, 'options.add');
  const rest = rem === undefined ? undefined : numberBytes(rem, 'options.rem');
  if (step !== undefined) {
    const [most, left] = [bigOf(step), rest === undefined ? undefined : bigOf(rest)];
    if (most.toString(2).length > size && most !== 0n) throw outOfRange('invalid options.add');
    if (left !== undefined && most <= left) throw outOfRange('invalid options.rem');
  }
  const shown = (bytes) => (bigint ? bigOf(bytes) : bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
  return { args: ['prime', size, safe, step, step === undefined ? undefined : rest], shown };
}
function settle(promise, callback) {
  promise.then((value) => process.nextTick(callback, undefined, value), (error) => process.nextTick(callback, error));
}
function generatePrimeSync(size, options = {}) {
  const { args, shown } = primeRecipe(size, options);
  return shown(now(...args));
}
function generatePrime(size, options, callback) {
  if (typeof options === 'function') [options, callback] = [{}, options];
  const { args, shown } = primeRecipe(size, options === undefined ? {} : options);
  validateFunction(callback, 'callback');
  settle(later(...args).then(shown), callback);
}
function testRecipe(candidate, options) {
  const bytes = numberBytes(candidate, 'candidate');
  validateObject(options, 'options');
  const { checks = 0 } = options;
  validateInteger(checks, 'options.checks', 0, 2 ** 31 - 1);
  return ['isPrime', bytes, checks];
}
function checkPrimeSync(candidate, options = {}) {
  return now(...testRecipe(candidate, options))[0] === 1;
}
function checkPrime(candidate, options, callback) {
  if (typeof options === 'function') [options, callback] = [{}, options];
  const args = testRecipe(candidate, options === undefined ? {} : options);
  validateFunction(callback, 'callback');
  settle(later(...args).then((bytes) => bytes[0] === 1), callback);
}

module.exports = {
  DiffieHellman, DiffieHellmanGroup, generatePrime, generatePrimeSync, checkPrime, checkPrimeSync,
  createDiffieHellman: (sizeOrKey, keyEncoding, generator, genEncoding) => new DiffieHellman(sizeOrKey, keyEncoding, generator, genEncoding),
  createDiffieHellmanGroup: (name) => new DiffieHellmanGroup(name),
  getDiffieHellman: (name) => new DiffieHellmanGroup(name),
};
Object.defineProperty(module.exports, Symbol.for('vigil.host'), { value: { recipe } });
