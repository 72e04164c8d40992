// SPDX-License-Identifier: MIT
// node:dns. lookup is the system's getaddrinfo; resolve* ask the name servers, and dns_records.js reads their answers.
'use strict';

const native = binding.dns();
const { isIP, isIPv4 } = load('net');
const { errnoError } = load('net_link');
const { codes, validateFunction, validateString } = load('errors');
const records = load('dns_records');

const FAILURES = ['NODATA', 'FORMERR', 'SERVFAIL', 'NOTFOUND', 'NOTIMP', 'REFUSED', 'BADQUERY', 'BADNAME', 'BADFAMILY', 'BADRESP',
  'CONNREFUSED', 'TIMEOUT', 'EOF', 'FILE', 'NOMEM', 'DESTRUCTION', 'BADSTR', 'BADFLAGS', 'NONAME', 'BADHINTS', 'NOTINITIALIZED',
  'LOADIPHLPAPI', 'ADDRGETNETWORKPARAMS', 'CANCELLED'];
const failures = {};
for (let i = 0; i < FAILURES.length; i++) failures[FAILURES[i]] = `E${FAILURES[i]}`;

const { ADDRCONFIG, ALL, V4MAPPED } = native;
let defaultOrder = 'verbatim';
let systemServers;

// ---- lookup -------------------------------------------------------------------------------------------------------

function lookupError(number, syscall, name) {
  const code = number === native.EAI_NONAME || number === native.EAI_NODATA ? 'ENOTFOUND'
    : number === native.EAI_AGAIN ? 'EAI_AGAIN' : number === native.EAI_FAMILY ? 'EAI_FAMILY' : number === native.EAI_MEMORY ? 'EAI_MEMORY'
      : number < -100 || number === native.EAI_FAIL ? 'EAI_FAIL' : undefined;
  if (code === undefined) return Object.assign(errnoError(number, syscall, name), { hostname: name });
  const errno = { ENOTFOUND: -3008, EAI_AGAIN: -3001, EAI_FAIL: -3004, EAI_FAMILY: -3005, EAI_MEMORY: -3006 }[code];
  return Object.assign(new Error(`${syscall} ${code} ${name}`), { errno, code, syscall, hostname: name });
}
function ordered(list, order) {
  if (order === 'verbatim') return list;
  const first = list.filter((one) => one.family === (order === 'ipv4first' ? 4 : 6));
  return first.concat(list.filter((one) => one.family !== (order === 'ipv4first' ? 4 : 6)));
}
function lookupOptions(options) {
  let family = 0;
  let hints = 0;
  let all = false;
  let order = defaultOrder;
  if (typeof options === 'number') {
    if (options !== 0 && options !== 4 && options !== 6) throw new codes.ERR_INVALID_ARG_VALUE('family', options, 'must be one of: 0, 4, 6');
    family = options;
  } else if (options !== undefined && typeof options !== 'object') {
    throw new codes.ERR_INVALID_ARG_TYPE('options', ['integer', 'object'], options);
  } else {
    if (options?.hints !== undefined && options.hints !== null) {
      if (typeof options.hints !== 'number') throw new codes.ERR_INVALID_ARG_TYPE('options.hints', 'number', options.hints);
      hints = options.hints >>> 0;
      if ((hints & ~(ADDRCONFIG | ALL | V4MAPPED)) !== 0) throw new codes.ERR_INVALID_ARG_VALUE('hints', hints);
    }
    if (options?.family !== undefined && options.family !== null) {
      if (options.family === 'IPv4') family = 4;
      else if (options.family === 'IPv6') family = 6;
      else {
        ({ family } = options);
        if (family !== 0 && family !== 4 && family !== 6) throw new codes.ERR_INVALID_ARG_VALUE('options.family', family, 'must be one of: 0, 4, 6');
      }
    }
    if (options?.all !== undefined && options.all !== null) {
      if (typeof options.all !== 'boolean') throw new codes.ERR_INVALID_ARG_TYPE('options.all', 'boolean', options.all);
      ({ all } = options);
    }
    if (options?.verbatim !== undefined && options.verbatim !== null) {
      if (typeof options.verbatim !== 'boolean') throw new codes.ERR_INVALID_ARG_TYPE('options.verbatim', 'boolean', options.verbatim);
      order = options.verbatim ? 'verbatim' : 'ipv4first';
    }
    if (options?.order !== undefined && options.order !== null) {
      checkOrder(options.order, 'options.order');
      ({ order } = options);
    }
  }
  return { family, hints, all, order };
}
// done(error, list)
function find(hostname, { family, hints, order }, done) {
  const at = binding.expect((result) => {
    if (typeof result === 'number') {
      done(lookupError(result, 'getaddrinfo', hostname));
      return;
    }
    const list = result.split('\n').slice(0, -1).map((address) => ({ address, family: isIPv4(address) ? 4 : 6 }));
    if (list.length === 0) done(lookupError(native.EAI_NONAME, 'getaddrinfo', hostname));
    else done(null, ordered(list, order));
  });
  const error = native.lookup(at, records.toAscii(hostname), family, hints);
  if (error < 0) process.nextTick(binding.finishNow, at, error);
}
function lookup(hostname, options, callback) {
  if (hostname) validateString(hostname, 'hostname');
  if (typeof options === 'function') {
    callback = options;
    options = 0;
  }
  // A wrong callback is told after wrong options, except where there is nothing else.
  if (typeof options !== 'number' || callback === undefined) validateFunction(callback, 'callback');
  const wanted = lookupOptions(options);
  validateFunction(callback, 'callback');
  if (!hostname) {
    if (wanted.all) process.nextTick(callback, null, []);
    else process.nextTick(callback, null, null, wanted.family === 6 ? 6 : 4);
    return {};
  }
  const type = isIP(hostname);
  if (type !== 0) {
    if (wanted.all) process.nextTick(callback, null, [{ address: hostname, family: type }]);
    else process.nextTick(callback, null, hostname, type);
    return {};
  }
  find(hostname, wanted, (error, list) => {
    if (error) callback(error);
    else if (wanted.all) callback(null, list);
    else callback(null, list[0].address, list[0].family);
  });
  return { hostname };
}
Object.defineProperty(lookup, Symbol.for('nodejs.util.promisify.custom'), { value: (...args) => load('dns_promises').lookup(...args) });

function checkService(address, port) {
  if (isIP(address) === 0) throw new codes.ERR_INVALID_ARG_VALUE('address', address);
  if ((typeof port !== 'number' && typeof port !== 'string') || (typeof port === 'string' && port.trim() === '') ||
      +port !== (+port >>> 0) || port > 65535) throw new codes.ERR_SOCKET_BAD_PORT('Port', port);
}
function lookupService(address, port, callback) {
  if (callback === undefined && port === undefined) throw new codes.ERR_MISSING_ARGS('address', 'port', 'callback');
  if (arguments.length !== 3) throw new codes.ERR_MISSING_ARGS('address', 'port', 'callback');
  checkService(address, port);
  validateFunction(callback, 'callback');
  const at = binding.expect((result) => {
    if (typeof result === 'number') {
      callback(lookupError(result, 'getnameinfo', address));
      return;
    }
    const lines = result.split('\n');
    callback(null, lines[0], lines[1]);
  });
  const error = native.service(at, address, +port);
  if (error < 0) process.nextTick(binding.finishNow, at, error);
  return {};
}
Object.defineProperty(lookupService, Symbol.for('nodejs.util.promisify.custom'), { value: (...args) => load('dns_promises').lookupService(...args) });

function checkOrder(order, name) {
  if (order !== 'verbatim' && order !== 'ipv4first' && order !== 'ipv6first') {
    throw new codes.ERR_INVALID_ARG_VALUE(name, order, "must be one of: 'verbatim', 'ipv4first', 'ipv6first'");
  }
}
function setDefaultResultOrder(order) {
  checkOrder(order, 'dnsOrder');
  defaultOrder = order;
}

// ---- servers ------------------------------------------------------------------------------------------------------

function readServers() {
  let text = '';
  try {
    text = load('fs').readFileSync('/etc/resolv.conf', 'utf8');
  } catch {
    // Then there is the one of this machine.
  }
  const found = [];
  for (const line of text.split('\n')) {
    const match = /^\s*nameserver\s+(\S+)/.exec(line);
    if (match !== null) found.push(match[1]);
  }
  return found.length > 0 ? found : ['127.0.0.1'];
}
// [address, port] of "1.2.3.4", "1.2.3.4:53", "[::1]:53"
function splitServer(text, index) {
  validateString(text, `servers[${index}]`);
  if (isIP(text) !== 0) return [text, 53];
  const match = /^(?:\[([^[\]]*)\]|([^[\]:]*))(?::(\d+))?$/.exec(text);
  const address = match?.[1] ?? match?.[2];
  if (address !== undefined && isIP(address) !== 0 && (match[1] === undefined) === isIPv4(address)) {
    const port = match[3] === undefined ? 53 : +match[3];
    if (port > 65535) throw new codes.ERR_SOCKET_BAD_PORT('Port', port);
    return [address, port];
  }
  throw new codes.ERR_INVALID_IP_ADDRESS(text);
}
function checkWhole(value, name, least) {
  if (typeof value !== 'number') throw new codes.ERR_INVALID_ARG_TYPE(name, 'number', value);
  if (!Number.isInteger(value)) throw new codes.ERR_OUT_OF_RANGE(name, 'an integer', value);
  if (value < least || value > 2147483647) throw new codes.ERR_OUT_OF_RANGE(name, `>= ${least} && <= 2147483647`, value);
  return value;
}

class ResolverBase {
  #servers = null; // null: the system's
  #seconds = 0;
  #tries = 0;
  #pending = new Set();
  constructor(options) {
    const timeout = checkWhole(options?.timeout === undefined ? -1 : options.timeout, 'options.timeout', -1);
    this.#seconds = timeout < 0 ? 0 : Math.max(1, Math.ceil(timeout / 1000));
    this.#tries = checkWhole(options?.tries === undefined ? 4 : options.tries, 'options.tries', 1);
  }
  getServers() {
    const list = this.#servers ?? (systemServers ??= readServers()).map((address) => [address, 53]);
    return list.map(([address, port]) => (port === 53 ? address : isIPv4(address) ? `${address}:${port}` : `[${address}]:${port}`));
  }
  setServers(servers) {
    if (!Array.isArray(servers)) throw new codes.ERR_INVALID_ARG_TYPE('servers', 'Array', servers);
    const list = [];
    // Holes of the array are no servers.
    servers.forEach((server, i) => { list.push(splitServer(server, i)); });
    if (this.#pending.size > 0 && this !== shared) {
      throw new codes.ERR_DNS_SET_SERVERS_FAILED('There are pending queries.', servers);
    }
    this.#servers = list;
  }
  cancel() {
    this.#pending.forEach((cancel) => cancel());
  }
  // The records of one kind; done(error, list)
  _ask(kind, name, done) {
    const syscall = `query${kind[0].toUpperCase()}${kind.slice(1)}`;
    const fail = (code) => done(Object.assign(new Error(`${syscall} ${code} ${name}`), { errno: undefined, code, syscall, hostname: name }));
    let open = true;
    const cancel = () => {
      if (!open) return;
      open = false;
      this.#pending.delete(cancel);
      process.nextTick(fail, 'ECANCELLED');
    };
    this.#pending.add(cancel);
    const at = binding.expect((result) => {
      if (!open) return;
      open = false;
      this.#pending.delete(cancel);
      if (typeof result === 'number') {
        fail(result === native.HOST_NOT_FOUND ? 'ENOTFOUND' : result === native.NO_DATA ? 'ENODATA' : result === -111 ? 'ECONNREFUSED'
          : result === native.TRY_AGAIN ? 'ETIMEOUT' : result === -12 ? 'ENOMEM' : 'ESERVFAIL');
        return;
      }
      const list = records.read(result, kind);
      if (list === undefined) fail('EBADRESP');
      else if (list.length === 0) fail('ENODATA');
      else done(null, list);
    });
    const servers = this.#servers === null ? undefined : this.#servers.map((one) => `${one[0]} ${one[1]}\n`).join('');
    const error = native.query(at, records.toAscii(name), records.TYPES[kind], servers, this.#seconds, this.#tries);
    if (error < 0) process.nextTick(binding.finishNow, at, error);
  }
}

const KINDS = { A: '4', AAAA: '6', ANY: 'Any', CAA: 'Caa', CNAME: 'Cname', MX: 'Mx', NAPTR: 'Naptr', NS: 'Ns', PTR: 'Ptr', SOA: 'Soa', SRV: 'Srv', TLSA: 'Tlsa', TXT: 'Txt' };
// What resolve<kind> gives, from records with their times.
function shape(kind, list, options) {
  if (kind === 'A' || kind === 'AAAA') return options?.ttl ? list : list.map((one) => one.address);
  return kind === 'SOA' ? list[0] : list;
}
const queryName = (kind) => (kind === 'A' ? 'a' : kind === 'AAAA' ? 'aaaa' : kind.toLowerCase());

class Resolver extends ResolverBase {
  resolve(name, kind, callback) {
    if (typeof kind === 'function') {
      callback = kind;
      kind = 'A';
    }
    if (typeof kind !== 'string') throw new codes.ERR_INVALID_ARG_TYPE('rrtype', 'string', kind);
    if (!Object.hasOwn(KINDS, kind)) throw new codes.ERR_INVALID_ARG_VALUE('rrtype', kind);
    return this[`resolve${KINDS[kind]}`](name, callback);
  }
  reverse(address, callback) {
    validateString(address, 'name');
    validateFunction(callback, 'callback');
    if (isIP(address) === 0) {
      throw Object.assign(new Error(`getHostByAddr EINVAL ${address}`), { errno: -22, code: 'EINVAL', syscall: 'getHostByAddr', hostname: address });
    }
    this._ask('ptr', records.reverseName(address), (error, list) => {
      if (!error) {
        callback(null, list);
        return;
      }
      callback(Object.assign(new Error(`getHostByAddr ${error.code} ${address}`), { errno: undefined, code: error.code, syscall: 'getHostByAddr', hostname: address }));
    });
    return {};
  }
}
Object.keys(KINDS).forEach((kind) => {
  const name = `resolve${KINDS[kind]}`;
  Object.defineProperty(Resolver.prototype, name, {
    configurable: true, writable: true,
    value: { [name](hostname, options, callback) {
      if (typeof options === 'function') {
        callback = options;
        options = undefined;
      }
      validateString(hostname, 'name');
      validateFunction(callback, 'callback');
      this._ask(queryName(kind), hostname, (error, list) => {
        if (error) callback(error);
        else callback(null, shape(kind, list, options));
      });
      return {};
    } }[name],
  });
});

const shared = new Resolver();
const METHODS = ['getServers', 'resolve', 'reverse', ...Object.keys(KINDS).map((kind) => `resolve${KINDS[kind]}`)];
const bound = {};
for (let i = 0; i < METHODS.length; i++) bound[METHODS[i]] = shared[METHODS[i]].bind(shared);

module.exports = {
  lookup, lookupService, Resolver, setDefaultResultOrder, getDefaultResultOrder: () => defaultOrder,
  setServers: (servers) => shared.setServers(servers), ...bound, ADDRCONFIG, ALL, V4MAPPED, ...failures,
};
Object.defineProperty(module.exports, 'promises', { configurable: true, enumerable: true, get: () => load('dns_promises') });
Object.defineProperty(module.exports, Symbol.for('vigil.host'), { value: { find, lookupOptions, checkService, ResolverBase, KINDS, METHODS, failures } });
