// SPDX-License-Identifier: MIT
// Errors with a code, in Node's words.
'use strict';

const define = Object.defineProperty;

function describe(value) {
  if (value === null || value === undefined) return ` Received ${value}`;
  if (typeof value === 'function') return ` Received function ${value.name}`;
  if (typeof value === 'object') {
    if (value.constructor?.name) return ` Received an instance of ${value.constructor.name}`;
    return ` Received ${inspect(value, { depth: -1 })}`;
  }
  let text = inspect(value, { colors: false });
  if (text.length > 28) text = `${text.slice(0, 25)}...`;
  return ` Received type ${typeof value} (${text})`;
}
function inspect(value, options) {
  return load('inspect').inspect(value, options);
}

const classNames = /^([A-Z][a-z0-9]*)+$/;
const primitives = ['string', 'function', 'number', 'object', 'boolean', 'bigint', 'symbol', 'Function', 'Object'];
function either(words) {
  if (words.length === 1) return words[0];
  if (words.length === 2) return `${words[0]} or ${words[1]}`;
  return `${words.slice(0, -1).join(', ')}, or ${words[words.length - 1]}`;
}
function expectation(expected) {
  const list = Array.isArray(expected) ? [...expected] : [expected];
  const types = list.filter((word) => primitives.includes(word)).map((word) => word.toLowerCase());
  const classes = list.filter((word) => !primitives.includes(word) && classNames.test(word));
  const others = list.filter((word) => !primitives.includes(word) && !classNames.test(word));
  // Beside classes an object is one more of them.
  if (classes.length > 0 && types.includes('object')) {
    types.splice(types.indexOf('object'), 1);
    classes.push('Object');
  }
  const parts = [];
  if (types.length > 0) parts.push(`${types.length > 1 ? 'one of type' : 'of type'} ${either(types)}`);
  if (classes.length > 0) parts.push(`an instance of ${either(classes)}`);
  if (others.length > 1) parts.push(`one of ${either(others)}`);
  else if (others.length === 1) parts.push(`${others[0].toLowerCase() === others[0] ? '' : 'an '}${others[0]}`);
  return parts.join(' or ');
}

const grouped = (digits) => digits.replace(/\B(?=(\d{3})+(?!\d))/g, '_');
const messages = {
  ERR_INVALID_ARG_TYPE: ['TypeError', (name, expected, actual) => {
    const what = name.endsWith(' argument') ? `The ${name}` : `The "${name}" ${name.includes('.') ? 'property' : 'argument'}`;
    return `${what} must be ${expectation(expected)}.${describe(actual)}`;
  }],
  ERR_INVALID_ARG_VALUE: ['TypeError', (name, value, reason = 'is invalid') => {
    let text = inspect(value);
    if (text.length > 128) text = `${text.slice(0, 128)}...`;
    return `The ${name.includes('.') ? 'property' : 'argument'} '${name}' ${reason}. Received ${text}`;
  }],
  ERR_OUT_OF_RANGE: ['RangeError', (name, range, value) =>
    `The value of "${name}" is out of range. It must be ${range}. Received ${
      Number.isInteger(value) && Math.abs(value) > 2 ** 32 ? grouped(String(value))
        : typeof value === 'bigint' ? `${value > 2n ** 32n || value < -(2n ** 32n) ? grouped(String(value)) : value}n` : inspect(value)}`],
  ERR_SYSTEM_ERROR: ['Error', ({ syscall, code, message, path, dest }) =>
    `A system error occurred: ${syscall} returned ${code} (${message})${path === undefined ? '' : ` ${path}`}${dest === undefined ? '' : ` => ${dest}`}`,
  (error, info) => {
    define(error, 'name', { value: 'SystemError', writable: true, configurable: true, enumerable: false });
    define(error, 'info', { value: info, enumerable: true, configurable: true });
    for (const name of ['errno', 'syscall', 'path', 'dest']) {
      if (info[name] !== undefined) define(error, name, { value: info[name], enumerable: true, writable: true, configurable: true });
    }
  }],
  ERR_FS_INVALID_SYMLINK_TYPE: ['Error', (type) => `Symlink type must be one of "dir", "file", or "junction". Received "${type}"`],
  ERR_MISSING_OPTION: ['TypeError', (name) => `${name} is required`],
  ERR_INCOMPATIBLE_OPTION_PAIR: ['TypeError', (one, other) => `Option "${one}" cannot be used in combination with option "${other}"`],
  ERR_STRING_TOO_LONG: ['Error', (most) => `Cannot create a string longer than 0x${most.toString(16)} characters`],
  ERR_INVALID_OBJECT_DEFINE_PROPERTY: ['TypeError', (text) => text],
  ERR_UNKNOWN_CREDENTIAL: ['Error', (kind, id) => `${kind} identifier does not exist: ${id}`],
  ERR_BROTLI_INVALID_PARAM: ['RangeError', (key) => `${key} is not a valid Brotli parameter`],
  ERR_ZLIB_INITIALIZATION_FAILED: ['Error', () => 'Initialization failed'],
  ERR_UNAVAILABLE_DURING_EXIT: ['Error', () => 'Cannot call function in process exit handler'],
  ERR_INVALID_RETURN_VALUE: ['TypeError', (expected, name, value) =>
    `Expected ${expected} to be returned from the "${name}" function but got ${describe(value).slice(10)}.`],
  ERR_MISSING_ARGS: ['TypeError', (...names) => Array.isArray(names[0])
    ? `The ${names[0].map((name) => `"${name}"`).join(' or ')} argument must be specified`
    : `The ${names.length === 3 ? `"${names[0]}", "${names[1]}", and "${names[2]}"` : names.map((name) => `"${name}"`).join(' and ')} argument${names.length > 1 ? 's' : ''} must be specified`],
  ERR_UNHANDLED_ERROR: ['Error', (value) => `Unhandled error.${value === undefined ? '' : ` (${value})`}`],
  ERR_UNHANDLED_REJECTION: ['Error', (reason) =>
    'This error originated either by throwing inside of an async function without a catch block, ' +
    `or by rejecting a promise which was not handled with .${'catch'}(). The promise rejected with the reason "${reason}".`],
  ERR_INVALID_TRANSFER_OBJECT: ['TypeError', () => 'Found invalid object in transferList'],
  ERR_INVALID_BUFFER_SIZE: ['RangeError', (bits) => `Buffer size must be a multiple of ${bits}`],
  ERR_ARG_NOT_ITERABLE: ['TypeError', (what) => `${what} must be iterable`],
  ERR_INVALID_TUPLE: ['TypeError', (what, shape) => `${what} must be an iterable ${shape} tuple`],
  ERR_UNKNOWN_SIGNAL: ['TypeError', (name) => `Unknown signal: ${name}`],
  ERR_UNKNOWN_ENCODING: ['TypeError', (name) => `Unknown encoding: ${name}`],
  ERR_ENCODING_INVALID_ENCODED_DATA: ['TypeError', (name) => `The encoded data was not valid for encoding ${name}`],
  ERR_ENCODING_NOT_SUPPORTED: ['RangeError', (name) => `The "${name}" encoding is not supported`],
  ERR_BUFFER_OUT_OF_BOUNDS: ['RangeError', (name) =>
    name ? `"${name}" is outside of buffer bounds` : 'Attempt to access memory outside buffer bounds'],
  ERR_INVALID_THIS: ['TypeError', (name) => `Value of "this" must be of type ${name}`],
  ERR_HTTP_SOCKET_ENCODING: ['Error', () => 'Changing the socket encoding is not allowed per RFC7230 Section 3.'],
  ERR_INVALID_HANDLE_TYPE: ['TypeError', () => 'This handle type cannot be sent'],
  ERR_METHOD_NOT_IMPLEMENTED: ['Error', (name) => `The ${name} method is not implemented`],
  ERR_FEATURE_UNAVAILABLE_ON_PLATFORM: ['TypeError', (name) => `The feature ${name} is unavailable here`],
  ERR_INVALID_URL: ['TypeError', () => 'Invalid URL'],
  ERR_INVALID_URL_SCHEME: ['TypeError', (name) => `The URL must be of scheme ${name}`],
  ERR_INVALID_FILE_URL_PATH: ['TypeError', (why) => `File URL path ${why}`],
  ERR_INVALID_FILE_URL_HOST: ['TypeError', () => 'File URL host must be "localhost" or empty on linux'],
  ERR_UNKNOWN_BUILTIN_MODULE: ['Error', (name, known) => `No such built-in module: ${name}. There are ${known}`],
  ERR_UNSUPPORTED_ESM_URL_SCHEME: ['Error', (name) =>
    `Only file:, data:, node: and vigil: URLs can be imported. Received protocol '${name}'`],
  ERR_PACKAGE_PATH_NOT_EXPORTED: ['Error', (folder, key, base) => key === '.'
    ? `No "exports" main defined in ${folder}package.json${base ? ` imported from ${base}` : ''}`
    : `Package subpath '${key}' is not defined by "exports" in ${folder}package.json${base ? ` imported from ${base}` : ''}`],
  ERR_PACKAGE_IMPORT_NOT_DEFINED: ['TypeError', (name, folder, base) =>
    `Package import specifier "${name}" is not defined${folder ? ` in package ${folder}package.json` : ''} imported from ${base}`],
  ERR_INVALID_PACKAGE_TARGET: ['Error', (folder, key, target) =>
    `Invalid "exports" target ${JSON.stringify(target)} defined for '${key}' in the package config ${folder}package.json`],
  ERR_INVALID_PACKAGE_CONFIG: ['Error', (file, why) => `Invalid package config ${file}.${why ? ` ${why}` : ''}`],
  ERR_INVALID_MODULE_SPECIFIER: ['TypeError', (name, why, base) =>
    `Invalid module "${name}" ${why}${base ? ` imported from ${base}` : ''}`],
  ERR_MODULE_NOT_FOUND: ['Error', (name, base, kind = 'package') => `Cannot find ${kind} '${name}' imported from ${base}`],
  ERR_UNSUPPORTED_DIR_IMPORT: ['Error', (name, base) =>
    `Directory import '${name}' is not supported resolving ES modules imported from ${base}`],
  ERR_UNCAUGHT_EXCEPTION_CAPTURE_ALREADY_SET: ['Error', () =>
    '`process.setupUncaughtExceptionCapture()` was called while a capture callback was already active'],
  ERR_FS_FILE_TOO_LARGE: ['RangeError', (size) => `File size (${size}) is greater than 2 GiB`],
  ERR_FS_EISDIR: ['Error', (text) => text],
  ERR_DIR_CLOSED: ['Error', () => 'Directory handle was closed'],
  ERR_HTTP_HEADERS_SENT: ['Error', (verb) => `Cannot ${verb} headers after they are sent to the client`],
  ERR_HTTP_INVALID_HEADER_VALUE: ['TypeError', (value, name) => `Invalid value "${value}" for header "${name}"`],
  ERR_HTTP_INVALID_STATUS_CODE: ['RangeError', (code) => `Invalid status code: ${typeof code === 'object' ? load('inspect').inspect(code) : code}`],
  ERR_HTTP_BODY_NOT_ALLOWED: ['Error', () => 'Adding content for this request method or response status is not allowed.'],
  ERR_HTTP_CONTENT_LENGTH_MISMATCH: ['Error', (length, promised) =>
    `Response body's content-length of ${length} byte(s) does not match the content-length of ${promised} byte(s) set in header`],
  ERR_HTTP_TRAILER_INVALID: ['Error', () => 'Trailers are invalid with this transfer encoding'],
  ERR_INVALID_HTTP_TOKEN: ['TypeError', (label, name) => `${label} must be a valid HTTP token ["${name}"]`],
  ERR_INVALID_CHAR: ['TypeError', (what, name) => `Invalid character in ${what}${name ? ` ["${name}"]` : ''}`],
  ERR_STREAM_WRITE_AFTER_END: ['Error', () => 'write after end'],
  ERR_STREAM_ALREADY_FINISHED: ['Error', (name) => `Cannot call ${name} after a stream was finished`],
  ERR_STREAM_NULL_VALUES: ['TypeError', () => 'May not write null values to stream'],
  ERR_DNS_SET_SERVERS_FAILED: ['Error', (why, servers) => `c-ares failed to set servers: "${why}" [${inspect(servers)}]`],
  ERR_CRYPTO_HASH_FINALIZED: ['Error', () => 'Digest already called'],
  ERR_CRYPTO_INVALID_DIGEST: ['TypeError', (name, of) => `Invalid ${of === undefined ? '' : `${of} `}digest: ${name}`],
  ERR_CRYPTO_ECDH_INVALID_FORMAT: ['TypeError', (format) => `Invalid ECDH format: ${format}`],
  ERR_CRYPTO_ECDH_INVALID_PUBLIC_KEY: ['Error', () => 'Public key is not valid for specified curve'],
  ERR_CRYPTO_INCOMPATIBLE_KEY: ['Error', (what, types) => `Incompatible ${what}: ${types}`],
  ERR_CRYPTO_INCOMPATIBLE_KEY_OPTIONS: ['Error', (type, why) => `The selected key encoding ${type} ${why}.`],
  ERR_CRYPTO_INVALID_AUTH_TAG: ['TypeError', (text) => text],
  ERR_CRYPTO_INVALID_CURVE: ['TypeError', () => 'Invalid EC curve name'],
  ERR_CRYPTO_INVALID_KEYPAIR: ['RangeError', () => 'Invalid key pair'],
  ERR_CRYPTO_INVALID_MESSAGELEN: ['RangeError', () => 'Invalid message length'],
  ERR_CRYPTO_OPERATION_FAILED: ['Error', (text) => text],
  ERR_CRYPTO_INVALID_IV: ['TypeError', () => 'Invalid initialization vector'],
  ERR_CRYPTO_INVALID_JWK: ['TypeError', () => 'Invalid JWK data'],
  ERR_CRYPTO_INVALID_KEYLEN: ['RangeError', (text = 'Invalid key length') => text],
  ERR_CRYPTO_INVALID_KEYTYPE: ['Error', (text) => text],
  ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE: ['TypeError', (type, expected) => `Invalid key object type ${type}, expected ${expected}.`],
  ERR_CRYPTO_INVALID_STATE: ['Error', (name, whole = false) => (whole ? name : `Invalid state${name === undefined ? '' : ` for operation ${name}`}`)],
  ERR_CRYPTO_UNKNOWN_DH_GROUP: ['Error', () => 'Unknown DH group'],
  ERR_CRYPTO_JWK_UNSUPPORTED_CURVE: ['Error', (name) => `Unsupported JWK EC curve: ${name}.`],
  ERR_CRYPTO_JWK_UNSUPPORTED_KEY_TYPE: ['Error', () => 'Unsupported JWK Key Type.'],
  ERR_CRYPTO_SIGN_KEY_REQUIRED: ['Error', () => 'No key provided to sign'],
  ERR_CRYPTO_UNKNOWN_CIPHER: ['Error', () => 'Unknown cipher'],
  ERR_MISSING_PASSPHRASE: ['TypeError', () => 'Passphrase required for encrypted key'],
  ERR_BUFFER_TOO_LARGE: ['RangeError', (most) => `Cannot create a Buffer larger than ${most} bytes`],
  ERR_INVALID_STATE: ['Error', (what) => `Invalid state: ${what}`],
  ERR_STREAM_PREMATURE_CLOSE: ['Error', () => 'Premature close'],
  ERR_STREAM_DESTROYED: ['Error', (name) => `Cannot call ${name} after a stream was destroyed`],
  ERR_SERVER_ALREADY_LISTEN: ['Error', () => 'Listen method has been called more than once without closing.'],
  ERR_HTTP2_INVALID_PACKED_SETTINGS_LENGTH: ['RangeError', () => 'Packed settings length must be a multiple of six'],
  ERR_HTTP2_INVALID_SETTING_VALUE: ['RangeError', (name, value) => `Invalid value for setting "${name}": ${value}`],
  ERR_HTTP_SOCKET_ASSIGNED: ['Error', () => 'Socket already assigned'],
  ERR_IPC_CHANNEL_CLOSED: ['Error', () => 'Channel closed'],
  ERR_IPC_DISCONNECTED: ['Error', () => 'IPC channel is already disconnected'],
  ERR_IPC_ONE_PIPE: ['Error', () => 'Child process can have only one IPC pipe'],
  ERR_CHILD_PROCESS_IPC_REQUIRED: ['Error', (name) => `Forked processes must have an IPC channel, missing value 'ipc' in ${name}`],
  ERR_IPC_SYNC_FORK: ['Error', () => 'IPC cannot be used with synchronous forks'],
  ERR_CHILD_PROCESS_STDIO_MAXBUFFER: ['RangeError', (name) => `${name} maxBuffer length exceeded`],
  ERR_UNESCAPED_CHARACTERS: ['TypeError', (what) => `${what} contains unescaped characters`],
  ERR_INVALID_PROTOCOL: ['TypeError', (protocol, expected) => `Protocol "${protocol}" not supported. Expected "${expected}"`],
  ERR_INVALID_IP_ADDRESS: ['TypeError', (address) => `Invalid IP address: ${address}`],
  ERR_INVALID_ADDRESS_FAMILY: ['RangeError', (family, host, port) => `Invalid address family: ${family} ${host}:${port}`],
  ERR_IP_BLOCKED: ['Error', (address) => `IP(${address}) is blocked by net.BlockList`],
  ERR_INVALID_ADDRESS: ['Error', () => 'Invalid address'],
  ERR_SOCKET_ALREADY_BOUND: ['Error', () => 'Socket is already bound'],
  ERR_SOCKET_BAD_BUFFER_SIZE: ['TypeError', () => 'Buffer size must be a positive integer'],
  ERR_SOCKET_BAD_TYPE: ['TypeError', () => 'Bad socket type specified. Valid types are: udp4, udp6'],
  ERR_SOCKET_BUFFER_SIZE: ['Error', (why) => `Could not get or set buffer size: ${why}`],
  ERR_SOCKET_DGRAM_IS_CONNECTED: ['Error', () => 'Already connected'],
  ERR_SOCKET_DGRAM_NOT_CONNECTED: ['Error', () => 'Not connected'],
  ERR_SOCKET_DGRAM_NOT_RUNNING: ['Error', () => 'Not running'],
  ERR_SOCKET_CLOSED: ['Error', () => 'Socket is closed'],
  ERR_SOCKET_CLOSED_BEFORE_CONNECTION: ['Error', () => 'Socket closed before the connection was established'],
  ERR_SERVER_NOT_RUNNING: ['Error', () => 'Server is not running.'],
  ERR_SOCKET_BAD_PORT: ['RangeError', (name, port, zero = true) =>
    `${name} should be ${zero ? '>=' : '>'} 0 and < 65536. Received ${describe(port).slice(10)}.`],
  ERR_FALSY_VALUE_REJECTION: ['Error', () => 'Promise was rejected with falsy value'],
  ERR_CONSOLE_WRITABLE_STREAM: ['TypeError', (name) => `Console expects a writable stream instance for ${name}`],
  ERR_ILLEGAL_CONSTRUCTOR: ['TypeError', () => 'Illegal constructor'],
  ERR_PERFORMANCE_INVALID_TIMESTAMP: ['TypeError', (time) => `${time} is not a valid timestamp`],
  ERR_EVENT_RECURSION: ['Error', (name) => `The event "${name}" is already being dispatched`],
  ERR_INVALID_URI: ['URIError', () => 'URI malformed'],
  ERR_INVALID_CURSOR_POS: ['TypeError', () => 'Cannot set cursor row without setting its column'],
  ERR_USE_AFTER_CLOSE: ['Error', (name) => `${name} was closed`],
  ERR_WORKER_PATH: ['TypeError', (file) => `The worker script or module filename must be an absolute path or a relative path starting with './' or '../'. ` +
    `${file.startsWith('file://') ? 'Wrap file:// URLs with `new URL`. ' : ''}${file.startsWith('data:text/javascript') ? 'Wrap data: URLs with `new URL`. ' : ''}Received "${file}"`],
  ERR_WORKER_OUT_OF_MEMORY: ['Error', () => 'Worker terminated due to reaching memory limit: JS heap out of memory'],
  ERR_WORKER_INIT_FAILED: ['Error', (why) => `Worker initialization failure: ${why}`],
  ERR_ASYNC_CALLBACK: ['TypeError', (name) => `${name} must be a function`],
  ERR_ASYNC_TYPE: ['TypeError', (type) => `Invalid name for async "type": ${type}`],
  ERR_INVALID_ASYNC_ID: ['RangeError', (name, id) => `Invalid ${name} value: ${id}`],
  ERR_TLS_CERT_ALTNAME_INVALID: ['Error', (reason) => `Hostname/IP does not match certificate's altnames: ${reason}`],
  ERR_TLS_INVALID_PROTOCOL_VERSION: ['TypeError', (version, name) => `${inspect(version)} is not a valid ${name} TLS protocol version`],
  ERR_TLS_PROTOCOL_VERSION_CONFLICT: ['TypeError', (version, method) =>
    `TLS protocol version ${inspect(version)} conflicts with secureProtocol ${inspect(method)}`],
  ERR_TLS_INVALID_PROTOCOL_METHOD: ['TypeError', (text) => text],
  ERR_TLS_HANDSHAKE_TIMEOUT: ['Error', () => 'TLS handshake timeout'],
  ERR_TLS_REQUIRED_SERVER_NAME: ['Error', () => '"servername" is required parameter for Server.addContext'],
  ERR_TLS_INVALID_CONTEXT: ['TypeError', (name) => `${name} must be a SecureContext`],
  ERR_TLS_INVALID_STATE: ['Error', () => 'TLS socket connection must be securely established'],
  ERR_TLS_ALPN_CALLBACK_INVALID_RESULT: ['TypeError', (value, protocols) =>
    `ALPN callback returned a value (${value}) that did not match any of the client's offered protocols (${protocols.join(', ')})`],
  ERR_TLS_ALPN_CALLBACK_WITH_PROTOCOLS: ['TypeError', () => 'The ALPNCallback and ALPNProtocols TLS options are mutually exclusive'],
  ERR_VM_MODULE_LINK_FAILURE: ['SyntaxError', (text) => text],
};

function make(code) {
  if (!Object.hasOwn(messages, code)) return undefined;
  const [kind, text, more] = messages[code];
  const made = function (...args) {
    const error = new globalThis[kind](text(...args));
    more?.(error, ...args);
    define(error, 'code', { value: code, enumerable: true, writable: true, configurable: true });
    if (code !== 'ERR_INVALID_URL') define(error, 'toString', { value: toString, enumerable: false, writable: true, configurable: true });
    return tag(error, code);
  };
  define(made, 'name', { value: code });
  return made;
}

function toString() {
  return `${this.name} [${this.code}]: ${this.message}`;
}

// Node shows such an error as "TypeError [CODE]: message" in its stack, while its name stays plain.
function tag(error, code) {
  const stack = error.stack;
  if (typeof stack === 'string') {
    const name = error.name;
    define(error, 'stack', {
      configurable: true, writable: true, enumerable: false,
      value: stack.startsWith(name) ? `${name} [${code}]${stack.slice(name.length)}` : stack,
    });
  }
  return error;
}

module.exports = { make, describe };
