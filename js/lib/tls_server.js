// SPDX-License-Identifier: MIT
// The servers of node:tls: net.Servers that put TLS on each connection.
'use strict';

const net = load('net');
const tls = load('tls');
const { codes, validateFunction } = load('errors');
const { setTimeout, clearTimeout } = load('sched');

function Server(options, listener) {
  if (!(this instanceof Server)) return new Server(options, listener);
  if (typeof options === 'function') {
    listener = options;
    options = {};
  } else if (options === null || options === undefined || typeof options === 'object') {
    options ??= {};
  } else {
    throw new codes.ERR_INVALID_ARG_TYPE('options', 'Object', options);
  }
  if (options.ALPNCallback !== undefined) {
    validateFunction(options.ALPNCallback, 'options.ALPNCallback');
    if (options.ALPNProtocols) throw new codes.ERR_TLS_ALPN_CALLBACK_WITH_PROTOCOLS();
    this.ALPNCallback = options.ALPNCallback;
  }
  if (options.SNICallback) validateFunction(options.SNICallback, 'options.SNICallback');
  this._contexts = [];
  this.requestCert = options.requestCert === true;
  this.rejectUnauthorized = options.rejectUnauthorized !== false;
  this._options = { ...options };
  this.ALPNProtocols = undefined;
  if (options.ALPNProtocols) tls.convertALPNProtocols(options.ALPNProtocols, this);
  this._handshakeTimeout = options.handshakeTimeout ?? 120000;
  if (typeof this._handshakeTimeout !== 'number') throw new codes.ERR_INVALID_ARG_TYPE('options.handshakeTimeout', 'number', options.handshakeTimeout);
  this.setSecureContext(options);
  this._sni = options.SNICallback ?? ((host, done) => this._contextOf(host, done));
  Reflect.apply(net.Server, this, [options]);
  if (listener) this.on('secureConnection', listener);
  this.on('connection', secure);
}
Object.setPrototypeOf(Server.prototype, net.Server.prototype);
Object.setPrototypeOf(Server, net.Server);

function secure(raw) {
  const server = this;
  const { pauseOnConnect, highWaterMark, SNICallback, ALPNCallback } = server._options;
  const socket = new tls.TLSSocket(raw, {
    isServer: true, server, secureContext: server._secureContext, requestCert: server.requestCert, rejectUnauthorized: server.rejectUnauthorized,
    ALPNProtocols: server.ALPNProtocols, SNICallback, ALPNCallback, pauseOnConnect, highWaterMark,
  });
  const timer = server._handshakeTimeout > 0
    ? setTimeout(() => socket._tlsError(new codes.ERR_TLS_HANDSHAKE_TIMEOUT()), server._handshakeTimeout) : undefined;
  timer?.unref();
  socket.on('_tlsError', (error) => {
    clearTimeout(timer);
    if (!socket._reported) {
      socket._reported = true;
      server.emit('tlsClientError', error, socket);
    }
  });
  // Before the agreement errors are the server's alone.
  const early = () => {};
  socket.on('error', early);
  socket.on('close', () => clearTimeout(timer));
  socket.on('secure', () => {
    clearTimeout(timer);
    if (server.requestCert) {
      const error = socket._verdict();
      if (error !== null) {
        socket.authorizationError = error.code;
        if (server.rejectUnauthorized) {
          socket.destroy();
          return;
        }
      } else {
        socket.authorized = true;
      }
    }
    socket.removeListener('error', early);
    server.emit('secureConnection', socket);
  });
}

Server.prototype.setSecureContext = function (options) {
  if (options === null || typeof options !== 'object') throw new codes.ERR_INVALID_ARG_TYPE('options', 'Object', options);
  this._secureContext = options.secureContext ?? tls.createSecureContext(options);
};
Server.prototype.setTicketKeys = function (keys) {
  this._secureContext.ticketKeys(keys);
};
// name: 'a.example.com', '*.example.com'
Server.prototype.addContext = function (name, context) {
  if (!name) throw new codes.ERR_TLS_REQUIRED_SERVER_NAME();
  const pattern = `${name}`.replace(/[.^$+?\-\\[\]{}]/g, '\\$&').replace(/\*/g, '[^.]*');
  this._contexts.push([new RegExp(`^${pattern}$`), context instanceof tls.SecureContext ? context : tls.createSecureContext(context)]);
};
// The newest that matches.
Server.prototype._contextOf = function (host, done) {
  for (let i = this._contexts.length - 1; i >= 0; i--) {
    if (this._contexts[i][0].test(host)) {
      done(null, this._contexts[i][1]);
      return;
    }
  }
  done(null, undefined);
};

module.exports = { Server, createServer: (options, listener) => new Server(options, listener) };
