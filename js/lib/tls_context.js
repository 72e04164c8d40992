// SPDX-License-Identifier: MIT
// createSecureContext: certificates, keys, trust and settings.
'use strict';

const { codes } = load('errors');
const { Buffer } = load('buffer');
const { tlsContext, tlsAdd, tlsCiphers } = binding;
const PART = load('constants').tlsPart;
const { sslError } = load('tls_link');

const VERSIONS = { __proto__: null, TLSv1: 0x301, 'TLSv1.1': 0x302, 'TLSv1.2': 0x303, 'TLSv1.3': 0x304 };
const METHODS = {
  __proto__: null, TLS_method: [0, 0], TLS_client_method: [0, 0], TLS_server_method: [0, 0], SSLv23_method: ['TLSv1', 'TLSv1.2'],
  SSLv23_client_method: ['TLSv1', 'TLSv1.2'], SSLv23_server_method: ['TLSv1', 'TLSv1.2'],
};
for (const version of ['TLSv1', 'TLSv1.1', 'TLSv1.2']) {
  for (const role of ['', 'client_', 'server_']) METHODS[`${version.replace('.', '_')}_${role}method`] = [version, version];
}
const DEFAULT_CIPHERS = 'TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256:ECDHE-RSA-AES128-GCM-SHA256:' +
  'ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-AES256-GCM-SHA384:DHE-RSA-AES128-GCM-SHA256:' +
  'ECDHE-RSA-AES128-SHA256:DHE-RSA-AES128-SHA256:ECDHE-RSA-AES256-SHA384:DHE-RSA-AES256-SHA384:ECDHE-RSA-AES256-SHA256:' +
  'DHE-RSA-AES256-SHA256:HIGH:!aNULL:!eNULL:!EXPORT:!DES:!RC4:!MD5:!PSK:!SRP:!CAMELLIA';
const defaults = { DEFAULT_CIPHERS, DEFAULT_ECDH_CURVE: 'auto', DEFAULT_MIN_VERSION: 'TLSv1.2', DEFAULT_MAX_VERSION: 'TLSv1.3', ...binding.tlsDefaults };

function version(value, name, fallback) {
  if (value === undefined || value === null || value === '') value = fallback;
  const number = VERSIONS[value];
  if (number === undefined) throw new codes.ERR_TLS_INVALID_PROTOCOL_VERSION(value, name);
  return number;
}
const listOf = (value) => (Array.isArray(value) ? value : [value]);
const given = (value) => value !== undefined && value !== null && value !== false && value !== '';

class SecureContext {
  constructor(options) {
    let least, most;
    this.ciphers = splitCiphers(text(options, 'ciphers') || defaults.DEFAULT_CIPHERS);
    if (options.secureProtocol !== undefined && options.secureProtocol !== null) {
      if (typeof options.secureProtocol !== 'string') throw new codes.ERR_INVALID_ARG_TYPE('options.secureProtocol', 'string', options.secureProtocol);
      if (given(options.minVersion)) throw new codes.ERR_TLS_PROTOCOL_VERSION_CONFLICT(options.minVersion, options.secureProtocol);
      if (given(options.maxVersion)) throw new codes.ERR_TLS_PROTOCOL_VERSION_CONFLICT(options.maxVersion, options.secureProtocol);
      const found = METHODS[options.secureProtocol];
      if (found === undefined) throw new codes.ERR_TLS_INVALID_PROTOCOL_METHOD(`Unknown method: ${options.secureProtocol}`);
      least = VERSIONS[found[0]] ?? 0x301;
      most = VERSIONS[found[1]] ?? 0x304;
    } else {
      least = version(options.minVersion, 'minimum', defaults.DEFAULT_MIN_VERSION);
      most = version(options.maxVersion, 'maximum', defaults.DEFAULT_MAX_VERSION);
    }
    // A version without ciphers is none.
    if (this.ciphers[0] === '' && most > 0x303 && least < 0x304) most = 0x303;
    if (this.ciphers[1] === '' && least < 0x304 && most > 0x303) least = 0x304;
    this.context = tlsContext(least, most);
    if (Array.isArray(this.context)) throw sslError(this.context);
  }
  add(part, value, name, pass) {
    if (typeof value === 'string') value = Buffer.from(value);
    else if (value instanceof ArrayBuffer || value instanceof SharedArrayBuffer) value = new Uint8Array(value);
    else if (ArrayBuffer.isView(value)) value = new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
    else if (value !== undefined) throw new codes.ERR_INVALID_ARG_TYPE(name, ['string', 'Buffer', 'TypedArray', 'DataView'], value);
    const fault = tlsAdd(this.context, part, value, pass);
    if (fault !== undefined) throw sslError(fault);
  }
}
const { SharedArrayBuffer = class {} } = globalThis;

function text(options, name) {
  const value = options[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') throw new codes.ERR_INVALID_ARG_TYPE(`options.${name}`, 'string', value);
  return value;
}
// Those of TLS 1.3 have names of their own.
function splitCiphers(text) {
  const suites = [];
  const others = [];
  const all = text.split(':');
  for (let i = 0; i < all.length; i++) {
    if (/^TLS_/.test(all[i])) suites.push(all[i]);
    else if (all[i] !== '' && !/^!TLS_/.test(all[i])) others.push(all[i]);
  }
  return [suites.join(':'), others.join(':')];
}

let extra; // certificates of NODE_EXTRA_CA_CERTS
function extraTrust() {
  if (extra === undefined) {
    extra = null;
    const file = process.env.NODE_EXTRA_CA_CERTS;
    if (file) {
      try {
        extra = load('fs').readFileSync(file);
      } catch (error) {
        process.emitWarning(`Ignoring extra certs from \`${file}\`, load failed: ${error.message}`);
      }
    }
  }
  return extra;
}

function createSecureContext(options = {}) {
  if (options === null || typeof options !== 'object') options = {};
  const secure = new SecureContext(options);
  const pass = options.passphrase;
  if (pass !== undefined && pass !== null && typeof pass !== 'string') throw new codes.ERR_INVALID_ARG_TYPE('options.passphrase', 'string', pass);
  if (given(options.ca)) {
    for (const one of listOf(options.ca)) secure.add(PART.TRUST, one, 'options.ca');
  } else {
    secure.add(PART.SYSTEM, undefined, '', given(options.crl) || given(options.pfx) || extraTrust() !== null ? 'own' : undefined);
    if (extraTrust() !== null) secure.add(PART.TRUST, extraTrust());
  }
  if (given(options.cert)) for (const one of listOf(options.cert)) secure.add(PART.CERTIFICATE, one, 'options.cert');
  if (given(options.key)) {
    for (const one of listOf(options.key)) {
      // An object with a passphrase of its own is one of a list.
      const own = Array.isArray(options.key) && one !== null && typeof one === 'object' && one.pem !== undefined;
      const words = own && one.passphrase !== undefined ? one.passphrase : pass;
      secure.add(PART.KEY, own ? one.pem : one, 'options.key', words ?? undefined);
    }
    if (given(options.cert)) secure.add(PART.CHECK);
  }
  if (given(options.sigalgs) || options.sigalgs === '') {
    const names = text(options, 'sigalgs');
    if (names === '') throw new codes.ERR_INVALID_ARG_VALUE('options.sigalgs', names);
    secure.add(PART.SIGNATURES, names, 'options.sigalgs');
  }
  const [suites, others] = secure.ciphers;
  secure.add(PART.SUITES, suites, 'options.ciphers');
  if (others !== '') secure.add(PART.CIPHERS, others, 'options.ciphers');
  const curve = text(options, 'ecdhCurve') ?? defaults.DEFAULT_ECDH_CURVE;
  if (curve !== 'auto') secure.add(PART.GROUPS, curve, 'options.ecdhCurve');
  if (given(options.crl)) for (const one of listOf(options.crl)) secure.add(PART.REVOKED, one, 'options.crl');
  if (given(options.pfx)) {
    for (const one of listOf(options.pfx)) {
      const own = one !== null && typeof one === 'object' && one.buf !== undefined;
      secure.add(PART.BUNDLE, own ? one.buf : one, 'options.pfx', (own ? one.passphrase : undefined) ?? pass ?? '');
    }
  }
  secure.add(PART.SESSIONS, text(options, 'sessionIdContext') ?? 'vigil', 'options.sessionIdContext');
  if (options.honorCipherOrder) secure.add(PART.SERVER_ORDER);
  if (given(options.ticketKeys)) secure.ticketKeys(options.ticketKeys);
  return secure;
}
SecureContext.prototype.ticketKeys = function (keys) {
  if (!ArrayBuffer.isView(keys)) throw new codes.ERR_INVALID_ARG_TYPE('options.ticketKeys', ['Buffer', 'TypedArray', 'DataView'], keys);
  if (keys.byteLength !== 48) throw new codes.ERR_INVALID_ARG_VALUE('options.ticketKeys', keys.byteLength, 'must be exactly 48 bytes');
  // OpenSSL wants 80; the parts are taken from the 48 in a fixed way.
  const bytes = Buffer.from(keys.buffer, keys.byteOffset, keys.byteLength);
  this.add(PART.TICKET_KEYS, Buffer.concat([bytes.subarray(0, 16), bytes.subarray(16, 48), bytes.subarray(16, 48)]));
};

let ciphers;
function getCiphers() {
  if (ciphers === undefined) {
    const secure = new SecureContext({});
    secure.add(PART.CIPHERS, 'ALL');
    ciphers = tlsCiphers(secure.context).map((name) => name.toLowerCase());
  }
  return ciphers.slice();
}

module.exports = { SecureContext, createSecureContext, getCiphers, defaults };
