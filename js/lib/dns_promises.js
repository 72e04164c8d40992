// SPDX-License-Identifier: MIT
// node:dns/promises: the same calls, with promises.
'use strict';

const dns = load('dns');
const { find, lookupOptions, checkService, KINDS, METHODS, failures } = dns[Symbol.for('vigil.host')];
const { isIP } = load('net');
const { codes, validateString } = load('errors');

function lookup(hostname, options) {
  if (hostname) validateString(hostname, 'hostname');
  const wanted = lookupOptions(options ?? undefined);
  const type = hostname ? isIP(hostname) : 0;
  if (!hostname) return Promise.resolve(wanted.all ? [] : { address: null, family: wanted.family === 6 ? 6 : 4 });
  if (type !== 0) return Promise.resolve(wanted.all ? [{ address: hostname, family: type }] : { address: hostname, family: type });
  return new Promise((resolve, reject) => {
    find(hostname, wanted, (error, list) => (error ? reject(error) : resolve(wanted.all ? list : list[0])));
  });
}
function lookupService(address, port) {
  if (arguments.length !== 2) throw new codes.ERR_MISSING_ARGS('address', 'port');
  checkService(address, port);
  return new Promise((resolve, reject) => {
    dns.lookupService(address, port, (error, hostname, service) => (error ? reject(error) : resolve({ hostname, service })));
  });
}

class Resolver {
  #inner;
  constructor(options) {
    this.#inner = new dns.Resolver(options);
  }
  getServers() { return this.#inner.getServers(); }
  setServers(servers) { this.#inner.setServers(servers); }
  cancel() { this.#inner.cancel(); }
  resolve(name, kind = 'A') {
    if (typeof kind !== 'string') throw new codes.ERR_INVALID_ARG_TYPE('rrtype', 'string', kind);
    if (!Object.hasOwn(KINDS, kind)) throw new codes.ERR_INVALID_ARG_VALUE('rrtype', kind);
    return this[`resolve${KINDS[kind]}`](name);
  }
  _call(method, args) {
    return new Promise((resolve, reject) => {
      this.#inner[method](...args, (error, value) => (error ? reject(error) : resolve(value)));
    });
  }
}
METHODS.forEach((name) => {
  if (name === 'getServers' || name === 'resolve') return;
  Object.defineProperty(Resolver.prototype, name, {
    configurable: true, writable: true,
    value: { [name](hostname, options) {
      validateString(hostname, 'name');
      return this._call(name, options === undefined ? [hostname] : [hostname, options]);
    } }[name],
  });
});

const shared = new Resolver();
const bound = {};
METHODS.forEach((name) => { bound[name] = shared[name].bind(shared); });

module.exports = {
  lookup, lookupService, Resolver, ...bound, setServers: (servers) => shared.setServers(servers),
  getDefaultResultOrder: dns.getDefaultResultOrder, setDefaultResultOrder: dns.setDefaultResultOrder, ...failures,
};
