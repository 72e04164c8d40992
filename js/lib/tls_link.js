// SPDX-License-Identifier: MIT
// TLS between a socket and what carries it: a SecureHandle has the methods of a Handle (net_link.js), so a net.Socket can have one. Below
// it is the handle of another socket, or any Duplex; OpenSSL's machine stands between, and knows of neither.
'use strict';

const {
  tlsOpen, tlsFeed, tlsStep, tlsPlain, tlsOutput, tlsWrite, tlsShut, tlsFault, tlsTicket,
} = binding;
const { SECURE, ASKS, DATA, MORE, TICKET, ENDED, FAILED } = load('constants').tlsState;
const { fromBytes } = load('buffer');
const { setImmediate } = load('sched');

const LIBRARIES = {
  __proto__: null, 'SSL routines': 'SSL', 'x509 certificate routines': 'OSSL_X509', 'digital envelope routines': 'OSSL_EVP',
  'PEM routines': 'OSSL_PEM', 'asn1 encoding routines': 'OSSL_ASN1', 'rsa routines': 'OSSL_RSA', 'PKCS12 routines': 'OSSL_PKCS12',
  'elliptic curve routines': 'OSSL_EC', 'BIO routines': 'OSSL_BIO',
};
// What OpenSSL says, as Node words it: "ERR_SSL_WRONG_VERSION_NUMBER".
function sslError(fault) {
  const [text, library, reason] = fault;
  const error = new Error(text);
  if (library !== '') error.library = library;
  if (reason !== '') {
    error.reason = reason;
    error.code = `ERR_${LIBRARIES[library] ?? 'OSSL'}_${reason.toUpperCase().replace(/ /g, '_')}`;
  }
  return error;
}

// A Duplex that is no net.Socket, with the methods of a handle.
class StreamBelow {
  constructor(stream) {
    this.stream = stream;
    this.id = -1;
    this.fd = -1;
    this.onData = this.onEnd = this.onFail = this.onSent = null;
    stream.on('data', (chunk) => this.onData?.(typeof chunk === 'string' ? load('buffer').Buffer.from(chunk) : chunk));
    stream.on('end', () => this.onEnd?.());
    stream.pause();
  }
  readStart() { this.stream.resume(); return 0; }
  readStop() { this.stream.pause(); }
  write(bytes) {
    this.stream.write(bytes, (error) => { if (!error) this.onSent?.(0); });
    return 1;
  }
  shutdown() { this.stream.end(); return 0; }
  ref() { this.stream.ref?.(); }
  unref() { this.stream.unref?.(); }
  hasRef() { return true; }
  local() { return undefined; }
  remote() { return undefined; }
}

class SecureHandle {
  #session;
  #below = null;
  #waiting = []; // written before the agreement
  #sending = false; // somebody waits for onSent
  #ending = false; // shutdown was asked for
  #stepping = false;
  #over = false; // nothing more comes
  #first = null; // bytes that had been read when TLS began
  constructor(context, options) {
    this.#session = tlsOpen(context, options.isServer, options.requestCert, options.rejectUnauthorized, options.asks, options.servername,
      options.protocols, options.session);
    this.reading = false;
    this.refed = true;
    this.secure = false;
    this.bytesRead = this.bytesWritten = 0;
    this.raw = null;
    this.onData = this.onEnd = this.onFail = this.onSent = this.onConnect = null;
    this.onSecure = this.onAsks = this.onTicket = this.onFault = null;
  }
  get session() { return this.#session; }
  // http2-wrapper, which got loads, looks here for what makes a socket of a stream.
  get _parentWrap() { return this.#below ?? StreamBelow.prototype; }
  get id() { return this.#below === null ? -1 : this.#below.id; }
  get fd() { return this.#below === null ? -1 : this.#below.fd; }

  // The agreement begins. raw: a connected net.Socket, or a Duplex.
  begin(raw, SocketClass) {
    this.raw = raw;
    const taken = raw instanceof SocketClass && raw._handle !== null;
    const below = this.#below = taken ? raw._handle : new StreamBelow(raw);
    if (taken && raw.readableLength > 0) this.#first = raw.read();
    below.onData = (data) => {
      if (this.#over) return;
      this.bytesRead += data.length;
      tlsFeed(this.#session, data);
      this.step();
    };
    below.onEnd = () => this.#ended();
    below.onFail = (number) => this.onFail?.(number);
    below.onSent = (number) => this.#sent(number);
    if (!this.refed) below.unref();
    below.readStart();
    if (this.#first !== null) tlsFeed(this.#session, this.#first);
    this.step();
  }
  #ended() {
    if (this.#over) return;
    this.#over = true;
    if (this.secure) this.onEnd?.();
    else this.onFault?.(null);
  }
  #sent(number) {
    if (!this.#sending) return;
    this.#sending = false;
    this.onSent?.(number);
  }
  #flush() {
    const output = tlsOutput(this.#session);
    return output === undefined || this.#below === null ? 0 : this.#below.write(output);
  }

  step() {
    if (this.#below === null || this.#stepping) return;
    this.#stepping = true;
    try {
      this.#steps();
    } finally {
      this.#stepping = false;
    }
  }
  #steps() {
    for (;;) {
      const state = tlsStep(this.#session, this.reading && this.secure);
      // A client that does not trust the server says nothing more: the judgement comes before the last message.
      const agreed = (state & SECURE) !== 0 && !this.secure;
      if (agreed) {
        this.secure = true;
        this.onSecure();
        if (this.#below === null) return;
      }
      this.#flush();
      if ((state & TICKET) !== 0) {
        for (let ticket = tlsTicket(this.#session); ticket !== undefined; ticket = tlsTicket(this.#session)) this.onTicket?.(fromBytes(ticket));
      }
      if ((state & ASKS) !== 0) {
        this.onAsks();
        return;
      }
      if (agreed) {
        this.#writeWaiting();
        if (!this.reading) this.#below.readStop();
        continue; // data may have come along
      }
      if ((state & DATA) !== 0) this.onData?.(fromBytes(tlsPlain(this.#session)));
      if (this.#below === null) return;
      if ((state & FAILED) !== 0) {
        this.#over = true;
        this.onFault?.(sslError(tlsFault(this.#session)));
        return;
      }
      if ((state & ENDED) !== 0) {
        if (!this.#over) {
          this.#over = true;
          this.onEnd?.();
        }
        return;
      }
      if ((state & MORE) === 0 || !this.reading) return;
    }
  }
  #writeWaiting() {
    const waiting = this.#waiting;
    this.#waiting = [];
    let queued = 0;
    for (let i = 0; i < waiting.length; i++) {
      tlsWrite(this.#session, waiting[i]);
      queued = this.#flush();
    }
    if (waiting.length > 0 && queued <= 0) setImmediate(() => this.#sent(queued));
    if (this.#ending) this.#shut();
  }

  // ---- what net.Socket calls
  readStart() {
    this.reading = true;
    if (this.#below === null) return 0;
    const result = this.#over ? 0 : this.#below.readStart();
    if (this.secure) setImmediate(() => { if (this.reading) this.step(); });
    return result;
  }
  readStop() {
    this.reading = false;
    if (this.#below !== null && this.secure) this.#below.readStop();
  }
  write(bytes) {
    if (this.#below === null && this.raw !== null) return -9;
    this.bytesWritten += bytes.length;
    if (!this.secure) {
      this.#waiting.push(bytes);
      this.#sending = true;
      return 1;
    }
    if (!tlsWrite(this.#session, bytes)) {
      const error = sslError(tlsFault(this.#session));
      setImmediate(() => this.onFault?.(error));
      this.#sending = true;
      return 1;
    }
    const queued = this.#flush();
    if (queued > 0) this.#sending = true;
    return queued;
  }
  shutdown() {
    this.#ending = true;
    if (this.secure) this.#shut();
    return 0;
  }
  #shut() {
    if (this.#below === null) return;
    tlsShut(this.#session);
    const queued = this.#flush();
    if (queued > 0) {
      this.#sending = true;
      this.onSent = () => this.#below?.shutdown();
    } else {
      this.#below.shutdown();
    }
  }
  close(done, reset = false) {
    const { raw } = this;
    const below = this.#below;
    this.#below = null;
    this.reading = false;
    if (below !== null) below.onData = below.onEnd = below.onFail = below.onSent = null;
    if (reset && raw?.resetAndDestroy !== undefined) raw.resetAndDestroy();
    else raw?.destroy();
    setImmediate(done ?? (() => {}));
  }
  ref() { this.setRef(true); }
  unref() { this.setRef(false); }
  setRef(on) {
    this.refed = on;
    if (on) this.#below?.ref();
    else this.#below?.unref();
  }
  hasRef() { return this.refed; }
  local() { return this.#below?.local(); }
  remote() { return this.#below?.remote(); }
}

module.exports = { SecureHandle, sslError };
