// SPDX-License-Identifier: MIT
// http.Agent: which connection a request gets, and what becomes of it afterwards.
'use strict';

const EventEmitter = load('events');
const net = load('net');
const { codes } = load('errors');


function Agent(options) {
  if (!(this instanceof Agent)) return new Agent(options);
  Reflect.apply(EventEmitter, this, []);
  this.defaultPort = 80;
  this.protocol = 'http:';
  this.options = { __proto__: null, ...options };
  if (this.options.noDelay === undefined) this.options.noDelay = true;
  this.options.path = null; // it would be taken for a Unix socket's
  this.requests = Object.create(null);
  this.sockets = Object.create(null);
  this.freeSockets = Object.create(null);
  this.keepAliveMsecs = this.options.keepAliveMsecs || 1000;
  this.keepAlive = this.options.keepAlive || false;
  this.maxSockets = this.options.maxSockets || Agent.defaultMaxSockets;
  this.maxFreeSockets = this.options.maxFreeSockets || 256;
  this.scheduling = this.options.scheduling || 'lifo';
  this.maxTotalSockets = this.options.maxTotalSockets;
  this.totalSocketCount = 0;
  if (this.scheduling !== 'lifo' && this.scheduling !== 'fifo') {
    throw new codes.ERR_INVALID_ARG_VALUE('scheduling', this.scheduling, "must be one of: 'fifo', 'lifo'");
  }
  if (this.maxTotalSockets !== undefined) {
    if (typeof this.maxTotalSockets !== 'number') throw new codes.ERR_INVALID_ARG_TYPE('maxTotalSockets', 'number', this.maxTotalSockets);
    if (!(this.maxTotalSockets > 0)) throw new codes.ERR_OUT_OF_RANGE('maxTotalSockets', '>= 1', this.maxTotalSockets);
  } else {
    this.maxTotalSockets = Infinity;
  }
  this.on('free', (socket, wanted) => freed(this, socket, wanted));
}
Object.setPrototypeOf(Agent.prototype, EventEmitter.prototype);
Object.setPrototypeOf(Agent, EventEmitter);
Agent.defaultMaxSockets = Infinity;

// The requests that wait, without those that were given up.
function waitingFor(agent, name) {
  const list = agent.requests[name];
  if (list === undefined) return undefined;
  while (list.length > 0 && list[0]._gone) list.shift();
  if (list.length > 0) return list;
  delete agent.requests[name];
  return undefined;
}
// A connection has nothing to do: the next request, or it waits, or it ends.
function freed(agent, socket, options) {
  const name = agent.getName(options);
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const waiting = waitingFor(agent, name);
  if (waiting !== undefined) {
    const request = waiting.shift();
    if (waiting.length === 0) delete agent.requests[name];
    give(agent, request, socket);
    return;
  }
  const request = socket._httpMessage;
  if (!request || !request.shouldKeepAlive || !agent.keepAlive) {
    socket.destroy();
    return;
  }
  const free = agent.freeSockets[name] ?? [];
  const count = free.length + (agent.sockets[name]?.length ?? 0);
  if (agent.totalSocketCount > agent.maxTotalSockets || count > agent.maxSockets || free.length >= agent.maxFreeSockets ||
      !agent.keepSocketAlive(socket)) {
    socket.destroy();
    return;
  }
  agent.freeSockets[name] = free;
  socket._httpMessage = null;
  agent.removeSocket(socket, options);
  socket.once('error', onFreeError);
  free.push(socket);
}
// The server may end a connection at any time.
function onFreeError() {
  this.destroy();
}

Agent.prototype.createConnection = net.createConnection;

Agent.prototype.getName = function (options = {}) {
  let name = `${options.host || 'localhost'}:`;
  if (options.port) name += options.port;
  name += ':';
  if (options.localAddress) name += options.localAddress;
  if (options.family === 4 || options.family === 6) name += `:${options.family}`;
  if (options.socketPath) name += `:${options.socketPath}`;
  return name;
};

Agent.prototype.addRequest = function (request, options, port, localAddress) {
  if (typeof options === 'string') options = { __proto__: null, host: options, port, localAddress };
  options = { __proto__: null, ...options, ...this.options };
  if (options.socketPath) options.path = options.socketPath;
  normalizeName(options, request);
  const name = this.getName(options);
  this.sockets[name] ??= [];
  const free = this.freeSockets[name];
  let socket;
  if (free !== undefined) {
    while (free.length > 0 && free[0].destroyed) free.shift();
    socket = this.scheduling === 'fifo' ? free.shift() : free.pop();
    if (free.length === 0) delete this.freeSockets[name];
  }
  const count = (this.freeSockets[name]?.length ?? 0) + this.sockets[name].length;
  if (socket !== undefined) {
    this.reuseSocket(socket, request);
    this.sockets[name].push(socket);
    this.totalSocketCount++;
    give(this, request, socket);
  } else if (count < this.maxSockets && this.totalSocketCount < this.maxTotalSockets) {
    this.createSocket(request, options, (error, made) => {
      if (error) request.onSocket(made, error);
      else give(this, request, made);
    });
  } else {
    (this.requests[name] ??= []).push(request);
    request._agentOptions = options;
  }
};
function normalizeName(options, request) {
  if (options.servername || options.servername === '') return;
  options.servername = serverName(options, request);
}
function serverName(options, request) {
  let name = options.host;
  const header = request.getHeader?.('host');
  if (header) {
    if (typeof header !== 'string') throw new codes.ERR_INVALID_ARG_TYPE('options.headers.host', 'String', header);
    name = header.startsWith('[') ? header.slice(1, header.indexOf(']')) : header.split(':', 1)[0];
  }
  return net.isIP(name) !== 0 ? '' : name;
}

Agent.prototype.createSocket = function (request, options, done) {
  options = { __proto__: null, ...options, ...this.options };
  if (options.socketPath) options.path = options.socketPath;
  normalizeName(options, request);
  const name = this.getName(options);
  options._agentKey = name;
  options.encoding = null;
  let called = false;
  const created = (error, socket) => {
    if (called) return;
    called = true;
    if (error) {
      done(error);
      return;
    }
    (this.sockets[name] ??= []).push(socket);
    this.totalSocketCount++;
    installListeners(this, socket, options);
    done(null, socket);
  };
  if (this.keepAlive) {
    options.keepAlive = this.keepAlive;
    options.keepAliveInitialDelay = this.keepAliveMsecs;
  }
  const socket = this.createConnection(options.signal === undefined ? options : { ...options, signal: undefined }, created);
  if (socket) created(null, socket);
};
function installListeners(agent, socket, options) {
  const onFree = () => agent.emit('free', socket, options);
  const onClose = () => agent.removeSocket(socket, options);
  const onTimeout = () => {
    // Only a connection that nobody uses; the others are the requests'.
    for (const name of Object.keys(agent.freeSockets)) {
      if (agent.freeSockets[name].includes(socket)) {
        socket.destroy();
        return;
      }
    }
  };
  const onRemove = () => {
    agent.removeSocket(socket, options);
    socket.removeListener('close', onClose);
    socket.removeListener('free', onFree);
    socket.removeListener('timeout', onTimeout);
    socket.removeListener('agentRemove', onRemove);
  };
  socket.on('free', onFree);
  socket.on('close', onClose);
  socket.on('timeout', onTimeout);
  socket.on('agentRemove', onRemove);
}

Agent.prototype.removeSocket = function (socket, options) {
  const name = this.getName(options);
  const sets = [this.sockets];
  if (!socket.writable) sets.push(this.freeSockets);
  for (let i = 0; i < sets.length; i++) {
    const list = sets[i][name];
    const at = list === undefined ? -1 : list.indexOf(socket);
    if (at < 0) continue;
    list.splice(at, 1);
    if (list.length === 0) delete sets[i][name];
    if (sets[i] === this.sockets) this.totalSocketCount--;
  }
  // Somebody who waited may go on.
  let request = waitingFor(this, name)?.[0];
  if (request === undefined && this.totalSocketCount < this.maxTotalSockets) {
    for (const other of Object.keys(this.requests)) {
      if ((this.sockets[other]?.length ?? 0) < this.maxSockets && waitingFor(this, other) !== undefined) {
        request = this.requests[other][0];
        break;
      }
    }
  }
  if (request === undefined || this.totalSocketCount >= this.maxTotalSockets) return;
  const wanted = request._agentOptions ?? options;
  const key = this.getName(wanted);
  if ((this.sockets[key]?.length ?? 0) + (this.freeSockets[key]?.length ?? 0) >= this.maxSockets) return;
  this.createSocket(request, wanted, (error, made) => {
    if (error) request.onSocket(null, error);
    else made.emit('free');
  });
};
Agent.prototype.keepSocketAlive = function (socket) {
  socket.setKeepAlive(true, this.keepAliveMsecs);
  socket.unref();
  let patience = this.options.timeout || 0;
  const hint = socket._httpMessage?.res?.headers['keep-alive'];
  const match = typeof hint === 'string' ? /^timeout=(\d+)/.exec(hint) : null;
  if (match !== null) {
    // A little earlier than the server, so that no request meets its end.
    const said = +match[1] * 1000 - 1000;
    if (said <= 0) return false;
    if (patience === 0 || said < patience) patience = said;
  }
  if (socket.timeout !== patience) socket.setTimeout?.(patience);
  return true;
};
Agent.prototype.reuseSocket = function (socket, request) {
  socket.removeListener('error', onFreeError);
  request.reusedSocket = true;
  socket.ref();
};
Agent.prototype.destroy = function () {
  for (const set of [this.freeSockets, this.sockets]) {
    for (const name of Object.keys(set)) {
      for (const socket of set[name].slice()) socket.destroy();
    }
  }
};

function give(agent, request, socket) {
  request.onSocket(socket);
  const patience = request.timeout || agent.options.timeout || 0;
  if (socket.timeout !== patience) socket.setTimeout?.(patience);
}

module.exports = {
  Agent,
  globalAgent: new Agent({ keepAlive: true, scheduling: 'lifo', timeout: 5000 }),
};
