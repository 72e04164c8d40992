// SPDX-License-Identifier: MIT
// node:https: the client of node:http on node:tls, and its server behind a tls.Server.
'use strict';

const http = load('http');
const tls = load('tls');
const agents = load('http_agent');
const { ClientRequest, urlOptions } = load('http_client');
const { URL } = load('url');
const { validateObject } = load('errors');

// ---- the agent ----------------------------------------------------------------------------------------------------

function Agent(options) {
  if (!(this instanceof Agent)) return new Agent(options);
  Reflect.apply(agents.Agent, this, [options]);
  this.defaultPort = 443;
  this.protocol = 'https:';
  this.maxCachedSessions = this.options.maxCachedSessions ?? 100;
  this._sessionCache = new Map(); // the oldest first
}
Object.setPrototypeOf(Agent.prototype, agents.Agent.prototype);
Object.setPrototypeOf(Agent, agents.Agent);

// createConnection(options), (port, options), (port, host, options)
Agent.prototype.createConnection = function (port, host, options) {
  if (port !== null && typeof port === 'object') options = port;
  else if (host !== null && typeof host === 'object') options = { ...host };
  else if (options === null || typeof options !== 'object') options = {};
  else options = { ...options };
  if (typeof port === 'number') options.port = port;
  if (typeof host === 'string') options.host = host;
  const key = options._agentKey;
  if (key !== undefined) {
    const session = this._getSession(key);
    if (session !== undefined) options = { session, ...options };
  }
  const socket = tls.connect(options);
  if (key !== undefined) {
    socket.on('session', (session) => this._cacheSession(key, session));
    socket.once('close', (hadError) => { if (hadError) this._evictSession(key); });
  }
  return socket;
};
// Connections that differ in one of these are not the same.
const MARKS = ['ca', 'cert', 'clientCertEngine', 'ciphers', 'key', 'pfx', 'rejectUnauthorized', 'servername', 'minVersion', 'maxVersion',
  'secureProtocol', 'crl', 'honorCipherOrder', 'ecdhCurve', 'dhparam', 'secureOptions', 'sessionIdContext', 'sigalgs',
  'privateKeyIdentifier', 'privateKeyEngine'];
const ALSO_FALSE = ['rejectUnauthorized', 'honorCipherOrder', 'secureOptions'];
Agent.prototype.getName = function (options = {}) {
  let name = Reflect.apply(agents.Agent.prototype.getName, this, [options]);
  for (let i = 0; i < MARKS.length; i++) {
    const value = options[MARKS[i]];
    name += ':';
    if (MARKS[i] === 'servername' && value === options.host) continue;
    if (ALSO_FALSE.includes(MARKS[i]) ? value !== undefined : value) name += MARKS[i] === 'sigalgs' ? JSON.stringify(value) : value;
  }
  return name;
};
Agent.prototype._getSession = function (key) { return this._sessionCache.get(key); };
Agent.prototype._cacheSession = function (key, session) {
  if (this.maxCachedSessions === 0) return;
  this._sessionCache.delete(key);
  if (this._sessionCache.size >= this.maxCachedSessions) this._sessionCache.delete(this._sessionCache.keys().next().value);
  this._sessionCache.set(key, session);
};
Agent.prototype._evictSession = function (key) { this._sessionCache.delete(key); };

let globalAgent = new Agent({ keepAlive: true, scheduling: 'lifo', timeout: 5000 });

// ---- requests -----------------------------------------------------------------------------------------------------

function request(...args) {
  let options = {};
  if (typeof args[0] === 'string') options = urlOptions(new URL(args.shift()));
  else if (args[0] instanceof URL) options = urlOptions(args.shift());
  if (args[0] !== null && args[0] !== undefined && typeof args[0] !== 'function') options = Object.assign(options, args.shift());
  options._defaultAgent = globalAgent;
  return new ClientRequest(options, args.find((one) => typeof one === 'function'));
}
function get(...args) {
  const made = request(...args);
  made.end();
  return made;
}

// ---- the server ---------------------------------------------------------------------------------------------------

function Server(options, handler) {
  if (!(this instanceof Server)) return new Server(options, handler);
  if (typeof options === 'function') {
    handler = options;
    options = {};
  }
  if (options !== undefined && options !== null) validateObject(options, 'options');
  options = { ...options };
  if (!options.ALPNProtocols && !options.ALPNCallback) options.ALPNProtocols = ['http/1.1'];
  const inner = this._http = new http.Server(options);
  // What the inner one has to say is said by this one.
  inner.emit = (type, ...args) => (type === 'close' ? false : this.emit(type, ...args));
  inner.listenerCount = (type) => this.listenerCount(type);
  Reflect.apply(tls.Server, this, [{ noDelay: true, ...options, allowHalfOpen: true }]);
  this.httpAllowHalfOpen = false;
  if (handler) this.on('request', handler);
  this.on('secureConnection', (socket) => inner.receive(socket));
  this.on('tlsClientError', (error, socket) => {
    if (!this.emit('clientError', error, socket)) socket.destroy(error);
  });
}
Object.setPrototypeOf(Server.prototype, tls.Server.prototype);
Object.setPrototypeOf(Server, tls.Server);
for (const name of ['headersTimeout', 'requestTimeout', 'keepAliveTimeout', 'httpAllowHalfOpen', 'maxHeaderSize', 'requireHostHeader', 'timeout', 'maxRequestsPerSocket',
                    'maxHeadersCount', 'joinDuplicateHeaders']) {
  Object.defineProperty(Server.prototype, name, {
    get() { return this._http[name]; }, set(value) { this._http[name] = value; }, enumerable: true, configurable: true,
  });
}
for (const name of ['on', 'addListener', 'removeListener', 'off']) {
  const inherited = tls.Server.prototype[name];
  Server.prototype[name] = function (type, listener) {
    Reflect.apply(inherited, this, [type, listener]);
    if (type === 'upgrade' || type === 'connect') this._http.configure();
    return this;
  };
}
Server.prototype.setTimeout = http.Server.prototype.setTimeout;
Server.prototype.closeAllConnections = function () { this._http.closeAllConnections(); };
Server.prototype.closeIdleConnections = function () { this._http.closeIdleConnections(); };
Server.prototype.close = function (...args) {
  Reflect.apply(tls.Server.prototype.close, this, args);
  this._http.close();
  return this;
};

module.exports = {
  Agent, Server, request, get,
  createServer: (options, handler) => new Server(options, handler),
  get globalAgent() { return globalAgent; },
  set globalAgent(agent) { globalAgent = agent; },
};
