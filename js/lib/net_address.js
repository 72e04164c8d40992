// SPDX-License-Identifier: MIT
// net.SocketAddress and net.BlockList.
'use strict';

const net = load('net');
const { codes, validateString, validateInteger } = load('errors');

function familyOf(family, name = 'family') {
  validateString(family, name);
  const lower = family.toLowerCase();
  if (lower !== 'ipv4' && lower !== 'ipv6') throw new codes.ERR_INVALID_ARG_VALUE(name, family);
  return lower;
}
// An address as a number of 32 or 128 bits.
function numberOf(address, family) {
  if (family === 'ipv4') return address.split('.').reduce((sum, part) => sum * 256n + BigInt(part), 0n);
  let text = address.replace(/%.*/, '');
  const dotted = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text);
  if (dotted !== null) {
    const four = numberOf(dotted[2], 'ipv4');
    text = `${dotted[1]}${(four >> 16n).toString(16)}:${(four & 0xffffn).toString(16)}`;
  }
  const [head, tail] = text.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const groups = left.concat(new Array(8 - left.length - right.length).fill('0'), right);
  return groups.reduce((sum, part) => sum * 65536n + BigInt(`0x${part}`), 0n);
}

class SocketAddress {
  #address;
  #port;
  #family;
  #flowlabel;
  constructor(options = {}) {
    if (options === null || typeof options !== 'object') throw new codes.ERR_INVALID_ARG_TYPE('options', 'Object', options);
    const family = familyOf(options.family ?? 'ipv4', 'options.family');
    const { address = family === 'ipv4' ? '127.0.0.1' : '::', port = 0, flowlabel = 0 } = options;
    validateString(address, 'options.address');
    if ((typeof port !== 'number' && typeof port !== 'string') || +port !== (+port >>> 0) || port > 65535) throw new codes.ERR_SOCKET_BAD_PORT('options.port', port);
    validateInteger(flowlabel, 'options.flowlabel', 0, 2 ** 32 - 1);
    if (net.isIP(address) !== (family === 'ipv4' ? 4 : 6)) throw new codes.ERR_INVALID_ADDRESS();
    this.#address = address;
    this.#port = +port;
    this.#family = family;
    this.#flowlabel = flowlabel;
  }
  static isSocketAddress(value) { return value !== null && typeof value === 'object' && #address in value; }
  static parse(input) {
    validateString(input, 'input');
    const match = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(input);
    const address = match?.[1] ?? match?.[2];
    const type = address === undefined ? 0 : net.isIP(address);
    if (type === 0 || (match[1] !== undefined) !== (type === 6) || +(match[3] ?? 0) > 65535) return undefined;
    return new SocketAddress({ address, port: +(match[3] ?? 0), family: type === 4 ? 'ipv4' : 'ipv6' });
  }
  get address() { return this.#address; }
  get port() { return this.#port; }
  get family() { return this.#family; }
  get flowlabel() { return this.#flowlabel; }
  toJSON() { return { address: this.#address, port: this.#port, family: this.#family, flowlabel: this.#flowlabel }; }
}

const MAPPED = 0xffff00000000n; // ::ffff:0:0

class BlockList {
  #rules = []; // { text, family, first, last }, the newest first
  static isBlockList(value) { return value !== null && typeof value === 'object' && #rules in value; }
  static #parts(address, family, name) {
    if (SocketAddress.isSocketAddress(address)) return [address.address, address.family];
    validateString(address, name);
    const kind = familyOf(family);
    if (net.isIP(address) !== (kind === 'ipv4' ? 4 : 6)) throw new codes.ERR_INVALID_ADDRESS();
    return [address, kind];
  }
  addAddress(address, family = 'ipv4') {
    const [text, kind] = BlockList.#parts(address, family, 'address');
    const number = numberOf(text, kind);
    this.#rules.unshift({ text: `Address: ${kind === 'ipv4' ? 'IPv4' : 'IPv6'} ${text}`, family: kind, first: number, last: number });
  }
  addRange(start, end, family = 'ipv4') {
    const [from, kind] = BlockList.#parts(start, family, 'start');
    const [to, other] = BlockList.#parts(end, family, 'end');
    const first = numberOf(from, kind);
    const last = numberOf(to, other);
    if (kind !== other || first > last) throw new codes.ERR_INVALID_ARG_VALUE('start', start, `must come before ${end}`);
    this.#rules.unshift({ text: `Range: ${kind === 'ipv4' ? 'IPv4' : 'IPv6'} ${from}-${to}`, family: kind, first, last });
  }
  addSubnet(network, prefix, family = 'ipv4') {
    const [text, kind] = BlockList.#parts(network, family, 'network');
    const bits = kind === 'ipv4' ? 32 : 128;
    if (typeof prefix !== 'number') throw new codes.ERR_INVALID_ARG_TYPE('prefix', 'number', prefix);
    validateInteger(prefix, 'prefix', 0, bits);
    const rest = (1n << BigInt(bits - prefix)) - 1n;
    const number = numberOf(text, kind);
    this.#rules.unshift({ text: `Subnet: ${kind === 'ipv4' ? 'IPv4' : 'IPv6'} ${text}/${prefix}`, family: kind, first: number & ~rest, last: number | rest });
  }
  check(address, family = 'ipv4') {
    let text = address;
    let kind = family;
    if (SocketAddress.isSocketAddress(address)) {
      text = address.address;
      kind = address.family;
    } else {
      validateString(address, 'address');
      kind = familyOf(family);
      if (net.isIP(address) !== (kind === 'ipv4' ? 4 : 6)) return false;
    }
    const number = numberOf(text, kind);
    const four = kind === 'ipv6' && number >> 32n === MAPPED >> 32n ? number & 0xffffffffn : undefined;
    return this.#rules.some((rule) => (rule.family === kind && number >= rule.first && number <= rule.last) ||
      (four !== undefined && rule.family === 'ipv4' && four >= rule.first && four <= rule.last));
  }
  get rules() { return this.#rules.map((rule) => rule.text); }
  toJSON() { return this.rules; }
}

module.exports = { SocketAddress, BlockList };
