// SPDX-License-Identifier: MIT
// X509Certificate of node:crypto.
'use strict';

const { codes, validateString } = load('errors');
const { Buffer } = load('buffer');
const { now, unpack, textOf } = load('crypto_native');
const { bytesOf, keyOf, toBytes } = load('crypto_keys')[Symbol.for('vigil.host')];
const { createHash } = load('crypto_hash');

const print = (bytes, algorithm) => createHash(algorithm).update(bytes).digest('hex').toUpperCase().match(/../g).join(':');
const orNothing = (text) => (text === '' ? undefined : text);
// "C=DE\nO=A" as an object; a name that comes twice is a list.
function named(text) {
  const object = { __proto__: null };
  for (const line of text.split('\n')) {
    const at = line.indexOf('=');
    if (at < 0) continue;
    const [name, value] = [line.slice(0, at), line.slice(at + 1)];
    object[name] = object[name] === undefined ? value : [].concat(object[name], value);
  }
  return object;
}
// X509_CHECK_FLAG_*
function flagsOf(options) {
  const { subject = 'default', wildcards = true, partialWildcards = true, multiLabelWildcards = false, singleLabelSubdomains = false } = options ?? {};
  return (subject === 'always' ? 1 : 0) | (wildcards ? 0 : 2) | (partialWildcards ? 0 : 4) | (multiLabelWildcards ? 8 : 0) |
         (singleLabelSubdomains ? 16 : 0) | (subject === 'never' ? 32 : 0);
}

class X509Certificate {
  #parts;
  #key;
  constructor(file) {
    if (typeof file !== 'string' && !ArrayBuffer.isView(file)) {
      throw new codes.ERR_INVALID_ARG_TYPE('buffer', ['string', 'Buffer', 'TypedArray', 'DataView'], file);
    }
    const [der, key, ...texts] = unpack(now('certificate', toBytes(file, 'buffer')));
    const [subject, issuer, names, access, begins, ends, serial, usage, authority] = texts.map(textOf);
    this.#parts = { der, key, subject, issuer, names, access, begins, ends, serial, usage, authority };
  }
  get raw() { return Buffer.from(this.#parts.der); }
  get subject() { return orNothing(this.#parts.subject); }
  get issuer() { return orNothing(this.#parts.issuer); }
  get subjectAltName() { return orNothing(this.#parts.names); }
  get infoAccess() { return orNothing(this.#parts.access); }
  get validFrom() { return this.#parts.begins; }
  get validTo() { return this.#parts.ends; }
  get serialNumber() { return this.#parts.serial; }
  get keyUsage() { return this.#parts.usage === '' ? undefined : this.#parts.usage.split(','); }
  get ca() { return this.#parts.authority === '1'; }
  get fingerprint() { return print(this.#parts.der, 'sha1'); }
  get fingerprint256() { return print(this.#parts.der, 'sha256'); }
  get fingerprint512() { return print(this.#parts.der, 'sha512'); }
  get publicKey() { return this.#key ??= keyOf(this.#parts.key, false); }
  #named(kind, name, options) {
    validateString(name, kind === 'host' ? 'name' : kind);
    return orNothing(textOf(now('named', this.#parts.der, kind, name, flagsOf(options))));
  }
  checkHost(name, options = undefined) { return this.#named('host', name, options); }
  checkEmail(email, options = undefined) { return this.#named('email', email, options); }
  checkIP(ip) { return this.#named('ip', ip); }
  checkIssued(other) {
    if (!(other instanceof X509Certificate)) throw new codes.ERR_INVALID_ARG_TYPE('otherCert', 'X509Certificate', other);
    return now('issued', this.#parts.der, other.raw)[0] === 1;
  }
  checkPrivateKey(key) {
    if (key?.type !== 'private') throw new codes.ERR_INVALID_ARG_VALUE('pkey', key);
    return Buffer.compare(now('public', bytesOf(key)), this.#parts.key) === 0;
  }
  verify(key) {
    if (key?.type !== 'public') throw new codes.ERR_INVALID_ARG_VALUE('pkey', key);
    return now('certified', this.#parts.der, bytesOf(key))[0] === 1;
  }
  toString() {
    return `-----BEGIN CERTIFICATE-----\n${this.raw.toString('base64').match(/.{1,64}/g).join('\n')}\n-----END CERTIFICATE-----\n`;
  }
  toJSON() { return this.toString(); }
  toLegacyObject() {
    const { subject, issuer, names, begins, ends, serial, usage } = this.#parts;
    return {
      subject: named(subject), issuer: named(issuer), subjectaltname: orNothing(names), ca: this.ca, valid_from: begins, valid_to: ends,
      fingerprint: this.fingerprint, fingerprint256: this.fingerprint256, fingerprint512: this.fingerprint512,
      ext_key_usage: usage === '' ? undefined : usage.split(','), serialNumber: serial, raw: this.raw,
    };
  }
}

module.exports = { X509Certificate };
