// SPDX-License-Identifier: MIT
// The records in a name server's answer (RFC 1035 and those after it), in the form that node:dns gives them.
'use strict';

const TYPES = { a: 1, ns: 2, cname: 5, soa: 6, ptr: 12, mx: 15, txt: 16, aaaa: 28, srv: 33, naptr: 35, tlsa: 52, any: 255, caa: 257 };
const NAMES = Object.create(null);
for (const name of Object.keys(TYPES)) NAMES[TYPES[name]] = name.toUpperCase();

// A view of the answer; reading behind its end throws.
class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }
  byte() {
    if (this.at >= this.bytes.length) throw new RangeError('the answer is cut');
    return this.bytes[this.at++];
  }
  two() { return this.byte() * 256 + this.byte(); }
  four() { return this.two() * 65536 + this.two(); }
  text(length) {
    let text = '';
    for (let i = 0; i < length; i++) text += String.fromCharCode(this.byte());
    return text;
  }
  name() {
    const labels = [];
    let back = -1;
    for (let jumps = 0; jumps < 64;) {
      const length = this.byte();
      if (length === 0) break;
      if ((length & 0xc0) === 0xc0) {
        const target = (length & 0x3f) * 256 + this.byte();
        if (back < 0) back = this.at;
        this.at = target;
        jumps++;
        continue;
      }
      labels.push(this.text(length));
      if (labels.length > 128) throw new RangeError('the name has no end');
    }
    if (back >= 0) this.at = back;
    return labels.join('.');
  }
}

function six(reader) {
  const groups = [];
  for (let i = 0; i < 8; i++) groups.push(reader.two());
  // The longest run of zeros is written as "::".
  let best = -1;
  let most = 1;
  for (let i = 0; i < 8; i++) {
    let end = i;
    while (end < 8 && groups[end] === 0) end++;
    if (end - i > most) {
      best = i;
      most = end - i;
    }
    if (end > i) i = end;
  }
  const hex = groups.map((group) => group.toString(16));
  if (best < 0) return hex.join(':');
  return `${hex.slice(0, best).join(':')}::${hex.slice(best + most).join(':')}`;
}

function record(reader, type, ttl, end) {
  switch (type) {
    case TYPES.a:
      return { address: `${reader.byte()}.${reader.byte()}.${reader.byte()}.${reader.byte()}`, ttl };
    case TYPES.aaaa:
      return { address: six(reader), ttl };
    case TYPES.ns: case TYPES.cname: case TYPES.ptr:
      return reader.name();
    case TYPES.mx: {
      const priority = reader.two();
      return { exchange: reader.name(), priority };
    }
    case TYPES.txt: {
      const parts = [];
      while (reader.at < end) {
        const length = reader.byte();
        const bytes = reader.bytes.slice(reader.at, reader.at + length);
        reader.at += length;
        parts.push(load('buffer').Buffer.from(bytes).toString());
      }
      return parts;
    }
    case TYPES.srv: {
      const priority = reader.two();
      const weight = reader.two();
      const port = reader.two();
      return { name: reader.name(), port, priority, weight };
    }
    case TYPES.soa:
      return { nsname: reader.name(), hostmaster: reader.name(), serial: reader.four(), refresh: reader.four(), retry: reader.four(),
        expire: reader.four(), minttl: reader.four() };
    case TYPES.naptr: {
      const order = reader.two();
      const preference = reader.two();
      const flags = reader.text(reader.byte());
      const service = reader.text(reader.byte());
      const regexp = reader.text(reader.byte());
      return { flags, service, regexp, replacement: reader.name(), order, preference };
    }
    case TYPES.caa: {
      const critical = reader.byte();
      const tag = reader.text(reader.byte());
      return { critical, [tag]: reader.text(end - reader.at) };
    }
    case TYPES.tlsa: {
      const certUsage = reader.byte();
      const selector = reader.byte();
      const match = reader.byte();
      const data = reader.bytes.slice(reader.at, end).buffer;
      return { certUsage, selector, match, data };
    }
    default:
      return undefined;
  }
}

// undefined: it is no answer that can be read.
function read(bytes, kind) {
  const wanted = TYPES[kind];
  const reader = new Reader(bytes);
  const found = [];
  try {
    reader.at = 4;
    const questions = reader.two();
    const answers = reader.two();
    reader.at = 12;
    for (let i = 0; i < questions; i++) {
      reader.name();
      reader.at += 4;
    }
    for (let i = 0; i < answers; i++) {
      reader.name();
      const type = reader.two();
      reader.at += 2;
      const ttl = reader.four();
      const end = reader.two() + reader.at;
      if (type === wanted || (wanted === TYPES.any && NAMES[type] !== undefined)) {
        const value = record(reader, type, ttl, end);
        found.push(wanted === TYPES.any ? labelled(type, value) : value);
      }
      reader.at = end;
    }
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
  return found;
}
function labelled(type, value) {
  const name = NAMES[type];
  if (typeof value === 'string') return { value, type: name };
  if (Array.isArray(value)) return { entries: value, type: name };
  return { ...value, type: name };
}

function reverseName(address) {
  if (!address.includes(':')) return `${address.split('.').reverse().join('.')}.in-addr.arpa`;
  const [head, tail] = address.replace(/%.*/, '').split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const groups = [...left, ...new Array(8 - left.length - right.length).fill('0'), ...right];
  const digits = groups.map((group) => group.padStart(4, '0')).join('');
  return `${digits.split('').reverse().join('.')}.ip6.arpa`;
}

// Names beyond ASCII are asked for in their IDNA form.
function toAscii(name) {
  for (let i = 0; i < name.length; i++) {
    if (name.charCodeAt(i) > 127) return load('npm:tr46').toASCII(name, { processingOption: 'transitional' }) ?? name;
  }
  return name;
}

module.exports = { TYPES, read, reverseName, toAscii };
