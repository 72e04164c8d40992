// SPDX-License-Identifier: MIT
// node:tls: a TLSSocket is a net.Socket whose handle speaks TLS (tls_link.js). Servers are in tls_server.js.
'use strict';

const net = load('net');
const { Duplex } = load('stream');
const { SecureHandle } = load('tls_link');
const { SecureContext, createSecureContext, getCiphers, defaults } = load('tls_context');
const { checkServerIdentity, certificateObject, chainObject } = load('tls_identity');
const { codes, validateFunction } = load('errors');
const { Buffer, fromBytes } = load('buffer');
const { attach } = net[Symbol.for('vigil.host')];
const {
  tlsInfo, tlsPeer, tlsOwn, tlsSession, tlsFinished, tlsEphemeral, tlsExport, tlsFragment, tlsGreeting, tlsDecide,
} = binding;

const kOptions = Symbol('tls options');
const kBegun = Symbol('the agreement has begun');

// ['h2', 'http/1.1'] -> each with its length before it
function protocolBytes(protocols) {
  if (!Array.isArray(protocols)) {
    if (ArrayBuffer.isView(protocols)) return Buffer.from(new Uint8Array(protocols.buffer, protocols.byteOffset, protocols.byteLength));
    return undefined;
  }
  const pieces = [];
  for (let i = 0; i < protocols.length; i++) {
    const length = Buffer.byteLength(protocols[i]);
    if (length > 255) throw new codes.ERR_OUT_OF_RANGE(`The byte length of the protocol at index ${i} exceeds the maximum length.`, '<= 255', length);
    pieces.push(Buffer.from([length]), Buffer.from(protocols[i]));
  }
  return Buffer.concat(pieces);
}
function protocolList(bytes) {
  const list = [];
  for (let at = 0; at < bytes.length; at += 1 + bytes[at]) list.push(Buffer.from(bytes.subarray(at + 1, at + 1 + bytes[at])).toString());
  return list;
}
function convertALPNProtocols(protocols, out) {
  const bytes = protocolBytes(protocols);
  if (bytes !== undefined) out.ALPNProtocols = bytes;
}

// ---- the socket ---------------------------------------------------------------------------------------------------

function TLSSocket(socket, options) {
  options = { ...options };
  if (options.ALPNCallback && options.ALPNProtocols) throw new codes.ERR_TLS_ALPN_CALLBACK_WITH_PROTOCOLS();
  if (socket !== undefined && socket !== null && !(socket instanceof Duplex)) {
    throw new codes.ERR_INVALID_ARG_TYPE('socket', ['Duplex'], socket);
  }
  const isServer = this._isServer = !!options.isServer;
  const secureContext = options.secureContext ?? createSecureContext(options);
  this[kOptions] = options;
  this[kBegun] = false;
  this.authorized = false;
  this.authorizationError = null;
  this.encrypted = true;
  this.alpnProtocol = null;
  this.servername = null;
  this.secureConnecting = true;
  this._secureEstablished = false;
  const asks = isServer && Boolean(options.SNICallback || options.ALPNCallback || options.server?._contexts.length > 0);
  const handle = new SecureHandle(secureContext.context, {
    isServer, asks,
    requestCert: isServer ? !!options.requestCert : true,
    rejectUnauthorized: options.rejectUnauthorized !== false,
    servername: isServer ? undefined : options.servername,
    protocols: protocolBytes(options.ALPNProtocols), session: options.session ?? undefined,
  });
  Reflect.apply(net.Socket, this, [{
    allowHalfOpen: socket ? socket.allowHalfOpen : options.allowHalfOpen, pauseOnCreate: options.pauseOnConnect, manualStart: true,
    highWaterMark: options.highWaterMark, onread: options.onread, signal: options.signal,
  }]);
  const raw = this._raw = socket ?? new net.Socket({ allowHalfOpen: options.allowHalfOpen });
  this._parent = raw;
  this.ssl = handle;
  handle.onSecure = () => secured(this);
  handle.onAsks = () => greeted(this);
  handle.onTicket = (ticket) => this.emit('session', ticket);
  handle.onFault = (error) => failed(this, error);
  raw.on('error', (error) => this.destroy(error));
  raw.on('close', () => { if (!this.destroyed) closedBelow(this); });
  if (socket) {
    this.server = options.server;
    if (socket instanceof net.Socket && (socket.connecting || socket._handle === null)) {
      this.connecting = socket.connecting;
      raw.once('connect', () => connected(this));
    } else {
      connected(this, true);
    }
  }
  this.on('end', onEnd);
}
Object.setPrototypeOf(TLSSocket.prototype, net.Socket.prototype);
Object.setPrototypeOf(TLSSocket, net.Socket);

// What lies below is there: the agreement begins.
function connected(socket, quiet) {
  if (socket.destroyed) return;
  socket.connecting = false;
  socket._names = undefined;
  socket._handle = socket.ssl;
  attach(socket);
  if (!quiet) {
    socket.emit('connect');
    socket.emit('ready');
  }
  if (socket.destroyed) return;
  if (socket.readable && !socket.isPaused()) socket.read(0);
  const begin = () => {
    if (socket.destroyed || socket[kBegun]) return;
    socket[kBegun] = true;
    socket.ssl.begin(socket._raw, net.Socket);
  };
  // Listeners are put on the socket after the constructor.
  if (quiet) process.nextTick(begin);
  else begin();
}
TLSSocket.prototype.connect = function (...args) {
  const [options, callback] = Array.isArray(args[0]) ? args[0] : net._normalizeArgs(args);
  if (callback !== null && callback !== undefined) this.once('connect', callback);
  this.connecting = true;
  const raw = this._raw;
  for (const name of ['lookup', 'connectionAttempt', 'connectionAttemptFailed', 'connectionAttemptTimeout']) {
    raw.on(name, (...found) => this.emit(name, ...found));
  }
  raw.once('connect', () => connected(this));
  raw.connect([options, null]);
  return this;
};

function secured(socket) {
  const info = tlsInfo(socket.ssl.session);
  socket.alpnProtocol = info[4] ?? false;
  socket.servername = info[5] ?? (socket._isServer ? false : socket.servername ?? null);
  socket.secureConnecting = false;
  socket._secureEstablished = true;
  socket.emit('secure');
}
function onEnd() {
  if (!this._secureEstablished && !this.destroyed && !this._isServer) this.destroy(disconnected());
}
function disconnected() {
  return Object.assign(new Error('Client network socket disconnected before secure TLS connection was established'), { code: 'ECONNRESET' });
}
function described(socket, error) {
  const { host, port, path, localAddress } = socket[kOptions];
  return socket._isServer ? error : Object.assign(error, { path, host, port, localAddress });
}
// null: the peer has gone before the agreement was there.
function failed(socket, error) {
  if (socket.destroyed) return;
  if (error === null) error = socket._isServer ? Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' }) : described(socket, disconnected());
  if (socket._secureEstablished || !socket._isServer) {
    socket.destroy(error);
    return;
  }
  socket._tlsError(error);
}
// Of a server, before the agreement: nobody but the server can know.
TLSSocket.prototype._tlsError = function (error) {
  this.emit('_tlsError', error);
  this.destroy(this[kOptions].server ? undefined : error);
};
function closedBelow(socket) {
  if (socket._secureEstablished) socket.destroy();
  else if (socket._isServer) socket._tlsError(Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' }));
  else socket.destroy(described(socket, disconnected()));
}

// A client has said whom it wants (SNI) and what it speaks (ALPN).
function greeted(socket) {
  const options = socket[kOptions];
  const [host, protocols] = tlsGreeting(socket.ssl.session);
  let chosen;
  if (options.ALPNCallback && protocols.length > 0) {
    const list = protocolList(protocols);
    chosen = options.ALPNCallback({ servername: host ?? '', protocols: list });
    if (chosen !== undefined && !list.includes(chosen)) {
      socket._tlsError(new codes.ERR_TLS_ALPN_CALLBACK_INVALID_RESULT(chosen, list));
      return;
    }
    chosen ??= '';
  }
  const decide = (context) => {
    tlsDecide(socket.ssl.session, context?.context, chosen);
    socket.ssl.step();
  };
  const callback = options.SNICallback ?? options.server?._sni;
  if (host === undefined || !callback) {
    process.nextTick(decide);
    return;
  }
  let called = false;
  const answer = (error, context) => {
    if (called || socket.destroyed) return;
    called = true;
    if (error) {
      socket._tlsError(error);
      return;
    }
    if (context && !(context.context ?? undefined)) {
      socket._tlsError(new codes.ERR_TLS_INVALID_CONTEXT('context'));
      return;
    }
    process.nextTick(decide, context);
  };
  Reflect.apply(callback, socket, [host, answer]);
}

// ---- what is asked of it ------------------------------------------------------------------------------------------

const ask = (name, answer) => {
  TLSSocket.prototype[name] = function (...args) { return Reflect.apply(answer, this, [this.ssl.session, ...args]); };
};
ask('getProtocol', function (session) { return this.destroyed ? null : tlsInfo(session)[0]; });
ask('getCipher', (session) => {
  const info = tlsInfo(session);
  return info[1] === undefined ? undefined : { name: info[1], standardName: info[2], version: info[3] };
});
ask('isSessionReused', (session) => tlsInfo(session)[6]);
ask('getPeerCertificate', (session, detailed) => chainObject(tlsPeer(session), detailed));
ask('getCertificate', (session) => {
  const own = tlsOwn(session);
  return own === undefined ? {} : certificateObject(own);
});
const bytesOr = (value) => (value === undefined ? undefined : fromBytes(value));
ask('getSession', (session) => bytesOr(tlsSession(session)));
ask('getFinished', (session) => bytesOr(tlsFinished(session, false)));
ask('getPeerFinished', (session) => bytesOr(tlsFinished(session, true)));
ask('getEphemeralKeyInfo', function (session) {
  if (this._isServer) return null;
  const found = tlsEphemeral(session);
  if (found === undefined) return {};
  const [type, name, size] = found;
  return name === undefined ? { type, size } : { type, name, size };
});
ask('exportKeyingMaterial', function (session, length, label, context) {
  if (typeof length !== 'number') throw new codes.ERR_INVALID_ARG_TYPE('length', 'number', length);
  if (typeof label !== 'string') throw new codes.ERR_INVALID_ARG_TYPE('label', 'string', label);
  if (context !== undefined && !ArrayBuffer.isView(context)) throw new codes.ERR_INVALID_ARG_TYPE('context', ['Buffer', 'TypedArray', 'DataView'], context);
  if (!this._secureEstablished) throw new codes.ERR_TLS_INVALID_STATE();
  return bytesOr(tlsExport(session, length, label, context));
});
ask('setMaxSendFragment', (session, size) => tlsFragment(session, size));
TLSSocket.prototype.getTLSTicket = TLSSocket.prototype.getSession;
Object.defineProperty(TLSSocket.prototype, '_controlReleased', { get() { return this._secureEstablished; }, configurable: true });

// ---- connecting ---------------------------------------------------------------------------------------------------

function verdictOf(socket) {
  const info = tlsInfo(socket.ssl.session);
  if (info[7] === undefined) return null;
  return Object.assign(new Error(info[8]), { code: info[7] });
}
let warned = false;
function rejectsByDefault() {
  if (process.env.NODE_TLS_REJECT_UNAUTHORIZED !== '0') return true;
  if (!warned) {
    warned = true;
    process.emitWarning('Setting the NODE_TLS_REJECT_UNAUTHORIZED environment variable to \'0\' makes TLS connections and HTTPS ' +
      'requests insecure by disabling certificate verification.');
  }
  return false;
}

function connectArgs(args) {
  // (options), (port, host, options), (path, options), each with a callback
  let [options, callback] = net._normalizeArgs(args);
  options = { ...options };
  for (let i = 1; i <= 2; i++) {
    if (args[i] !== null && typeof args[i] === 'object') Object.assign(options, args[i]);
  }
  return [options, callback];
}
function connect(...args) {
  let [options, callback] = connectArgs(args);
  const allowed = rejectsByDefault();
  options = { rejectUnauthorized: allowed, ciphers: defaults.DEFAULT_CIPHERS, checkServerIdentity, ...options };
  if (!options.keepAlive) options.singleUse = true;
  validateFunction(options.checkServerIdentity, 'options.checkServerIdentity');
  if (options.minDHSize !== undefined && (typeof options.minDHSize !== 'number' || !(options.minDHSize > 0))) {
    throw typeof options.minDHSize !== 'number' ? new codes.ERR_INVALID_ARG_TYPE('options.minDHSize', 'number', options.minDHSize)
      : new codes.ERR_OUT_OF_RANGE('options.minDHSize', '> 0', options.minDHSize);
  }
  const named = options.servername || undefined;
  const socket = new TLSSocket(options.socket, {
    ...options, isServer: false, requestCert: true, secureContext: options.secureContext ?? createSecureContext(options),
    servername: named ?? '', pipe: !!options.path,
  });
  socket.servername = named ?? null;
  if (callback) socket.once('secureConnect', callback);
  socket.on('secure', () => connectionSecured(socket, options));
  if (!options.socket) {
    if (options.timeout) socket.setTimeout(options.timeout);
    socket.connect(options);
  }
  return socket;
}
function connectionSecured(socket, options) {
  const host = options.servername || options.host || options.socket?._host || 'localhost';
  let error = verdictOf(socket);
  if (error === null && !socket.isSessionReused()) error = options.checkServerIdentity(host, socket.getPeerCertificate(true)) ?? null;
  if (error) {
    socket.authorized = false;
    socket.authorizationError = error.code || error.message;
    if (options.rejectUnauthorized !== false) {
      socket.destroy(error);
      return;
    }
  } else {
    socket.authorized = true;
  }
  socket.emit('secureConnect');
}
TLSSocket.prototype._verdict = function () { return verdictOf(this); };

let roots;
module.exports = {
  CLIENT_RENEG_LIMIT: 3, CLIENT_RENEG_WINDOW: 600,
  TLSSocket, SecureContext, createSecureContext, connect, checkServerIdentity, getCiphers, convertALPNProtocols,
  get Server() { return load('tls_server').Server; },
  get createServer() { return load('tls_server').createServer; },
  // Those that the system trusts.
  get rootCertificates() {
    if (roots === undefined) {
      let text = '';
      for (const file of ['/etc/ssl/certs/ca-certificates.crt', '/etc/pki/tls/certs/ca-bundle.crt', '/etc/ssl/cert.pem']) {
        try {
          text = load('fs').readFileSync(process.env.SSL_CERT_FILE || file, 'utf8');
          break;
        } catch {
          // The next place.
        }
      }
      roots = Object.freeze(text.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? []);
    }
    return roots;
  },
};
for (const name of Object.keys(defaults)) {
  Object.defineProperty(module.exports, name, { get: () => defaults[name], set(value) { defaults[name] = value; }, enumerable: true, configurable: true });
}
