// SPDX-License-Identifier: MIT
// Whether a certificate is for a host (RFC 6125), and certificates as getPeerCertificate shows them.
'use strict';

const net = load('net');
const { codes } = load('errors');
const { fromBytes } = load('buffer');
const { tlsDescribe } = binding;

// "DNS:a, IP Address:b", in which a value may be quoted -> [kind, value, ...]
function splitNames(text) {
  const list = [];
  for (let at = 0; at < text.length;) {
    const colon = text.indexOf(':', at);
    if (colon < 0) break;
    const kind = text.slice(at, colon);
    let value;
    if (text[colon + 1] === '"') {
      let end = colon + 2;
      while (end < text.length && text[end] !== '"') end += text[end] === '\\' ? 2 : 1;
      value = JSON.parse(text.slice(colon + 1, end + 1));
      at = end + 3;
    } else {
      const end = text.indexOf(', ', colon);
      value = text.slice(colon + 1, end < 0 ? undefined : end);
      at = end < 0 ? text.length : end + 2;
    }
    list.push(kind, value);
  }
  return list;
}
const unfqdn = (host) => (host.endsWith('.') ? host.slice(0, -1) : host);

// A star stands for one label, or a part of the first one; never in an international one.
function matches(host, pattern) {
  if (pattern === '') return false;
  const a = unfqdn(host).toLowerCase().split('.');
  const b = unfqdn(pattern).toLowerCase().split('.');
  if (a.length !== b.length || b.includes('') || /[^\u0021-\u007e]/.test(pattern)) return false;
  for (let i = 1; i < a.length; i++) {
    if (a[i] !== b[i]) return false;
  }
  const star = b[0].indexOf('*');
  if (star < 0) return a[0] === b[0];
  if (b[0].startsWith('xn--') || b[0].includes('*', star + 1) || b.length <= 2) return false;
  const before = b[0].slice(0, star);
  const after = b[0].slice(star + 1);
  return a[0].length >= before.length + after.length && a[0].startsWith(before) && a[0].endsWith(after);
}

function checkServerIdentity(hostname, certificate) {
  const { subject, subjectaltname } = certificate;
  const names = subjectaltname ? splitNames(subjectaltname) : [];
  const dns = [];
  const addresses = [];
  for (let i = 0; i < names.length; i += 2) {
    if (names[i] === 'DNS') dns.push(names[i + 1]);
    else if (names[i] === 'IP Address') addresses.push(plainAddress(names[i + 1]));
  }
  hostname = `${hostname}`;
  const host = unfqdn(hostname);
  let reason = 'Unknown reason';
  if (net.isIP(host)) {
    if (addresses.includes(plainAddress(host))) return undefined;
    reason = `IP: ${host} is not in the cert's list: ${addresses.join(', ')}`;
  } else if (dns.length > 0 || subject?.CN) {
    if (dns.length > 0) {
      if (dns.some((one) => matches(host, one))) return undefined;
      reason = `Host: ${host}. is not in the cert's altnames: ${subjectaltname}`;
    } else {
      const common = Array.isArray(subject.CN) ? subject.CN : [subject.CN];
      if (common.some((one) => matches(host, one))) return undefined;
      reason = `Host: ${host}. is not cert's CN: ${subject.CN}`;
    }
  } else {
    reason = 'Cert does not contain a DNS name';
  }
  return Object.assign(new codes.ERR_TLS_CERT_ALTNAME_INVALID(reason), { reason, host: hostname, cert: certificate });
}
// One spelling of each address.
function plainAddress(text) {
  if (net.isIP(text) !== 6) return text;
  return new URL(`http://[${text}]`).hostname.slice(1, -1);
}

// ---- as an object -------------------------------------------------------------------------------------------------

function nameObject(list) {
  const object = Object.create(null);
  for (let i = 0; i < list.length; i += 2) {
    const known = object[list[i]];
    if (known === undefined) object[list[i]] = list[i + 1];
    else object[list[i]] = [].concat(known, list[i + 1]);
  }
  return object;
}
function describe(der) {
  const found = tlsDescribe(der);
  if (found === undefined) return {};
  const subject = JSON.stringify(found.subject);
  const issuer = JSON.stringify(found.issuer);
  found.subject = nameObject(found.subject);
  found.issuer = nameObject(found.issuer);
  if (found.pubkey !== undefined) found.pubkey = fromBytes(found.pubkey);
  found.raw = fromBytes(der);
  return { found, subject, issuer };
}
function certificateObject(der) {
  return describe(der).found ?? {};
}
// The first, and with `detailed` its issuers as far as the peer has sent them.
function chainObject(list, detailed) {
  if (list.length === 0) return {};
  if (!detailed) return certificateObject(list[0]);
  const all = list.map((der) => describe(der));
  for (let i = 0; i < all.length; i++) {
    if (all[i].found === undefined) continue;
    const issuer = all[i].subject === all[i].issuer ? all[i] : all.find((one) => one.subject === all[i].issuer);
    if (issuer !== undefined) all[i].found.issuerCertificate = issuer.found;
  }
  return all[0].found ?? {};
}

module.exports = { checkServerIdentity, certificateObject, chainObject };
