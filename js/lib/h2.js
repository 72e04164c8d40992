// SPDX-License-Identifier: MIT
// node:http2, of which there are the constants and the settings. There is no HTTP/2 here: what would begin a connection says so.
//
// Many packages load the module for its constants, or to have HTTP/2 beside HTTP/1.1 in case somebody wants it; these work.
'use strict';

const { Buffer } = load('buffer');
const { codes, validateObject } = load('errors');
const constants = load('h2_constants');

function missing(name) {
  return Object.defineProperty(() => {
    throw new codes.ERR_FEATURE_UNAVAILABLE_ON_PLATFORM(`http2.${name}: this host speaks HTTP/1.1 only, and HTTP/2`);
  }, 'name', { value: name });
}

// Settings as they go over the wire: two bytes of identifier, four of value.
const SETTINGS = {
  headerTableSize: [1, 0, 2 ** 32 - 1, 4096],
  enablePush: [2, 0, 1, true],
  maxConcurrentStreams: [3, 0, 2 ** 32 - 1, 4294967295],
  initialWindowSize: [4, 0, 2 ** 32 - 1, 65535],
  maxFrameSize: [5, 16384, 2 ** 24 - 1, 16384],
  maxHeaderListSize: [6, 0, 2 ** 32 - 1, 65535],
  enableConnectProtocol: [8, 0, 1, false],
};
const isFlag = (name) => typeof SETTINGS[name][3] === 'boolean';

function getDefaultSettings() {
  const { headerTableSize, enablePush, initialWindowSize, maxFrameSize, maxConcurrentStreams, maxHeaderListSize, enableConnectProtocol } = SETTINGS;
  const last = (list) => list[3];
  return {
    __proto__: null, headerTableSize: last(headerTableSize), enablePush: last(enablePush), initialWindowSize: last(initialWindowSize), maxFrameSize: last(maxFrameSize),
    maxConcurrentStreams: last(maxConcurrentStreams), maxHeaderSize: last(maxHeaderListSize), maxHeaderListSize: last(maxHeaderListSize),
    enableConnectProtocol: last(enableConnectProtocol),
  };
}
function getPackedSettings(settings = {}) {
  validateObject(settings, 'settings');
  const wanted = { ...settings };
  if (wanted.maxHeaderSize !== undefined) wanted.maxHeaderListSize = wanted.maxHeaderSize;
  const parts = [];
  for (const name of Object.keys(SETTINGS)) {
    const value = wanted[name];
    if (value === undefined) continue;
    const [id, least, most] = SETTINGS[name];
    if (isFlag(name)) {
      if (typeof value !== 'boolean') throw new codes.ERR_HTTP2_INVALID_SETTING_VALUE(name, value, 'TypeError');
    } else if (typeof value !== 'number' || value < least || value > most) {
      throw new codes.ERR_HTTP2_INVALID_SETTING_VALUE(name, value, 'RangeError');
    }
    const bytes = Buffer.alloc(6);
    bytes.writeUInt16BE(id, 0);
    bytes.writeUInt32BE(Number(value), 2);
    parts.push(bytes);
  }
  return Buffer.concat(parts);
}
function getUnpackedSettings(buffer) {
  if (!ArrayBuffer.isView(buffer)) throw new codes.ERR_INVALID_ARG_TYPE('buf', ['Buffer', 'TypedArray'], buffer);
  const bytes = Buffer.from(buffer.buffer, buffer.byteOffset, buffer.byteLength);
  if (bytes.length % 6 !== 0) throw new codes.ERR_HTTP2_INVALID_PACKED_SETTINGS_LENGTH();
  const found = {};
  for (let at = 0; at < bytes.length; at += 6) {
    const name = Object.keys(SETTINGS).find((one) => SETTINGS[one][0] === bytes.readUInt16BE(at));
    if (name === undefined) continue;
    const value = bytes.readUInt32BE(at + 2);
    if (name === 'maxHeaderListSize') found.maxHeaderSize = value;
    found[name] = isFlag(name) ? value !== 0 : value;
  }
  return found;
}

// So that `instanceof` can be asked.
class Http2ServerRequest {
  constructor() { missing('Http2ServerRequest')(); }
}
class Http2ServerResponse {
  constructor() { missing('Http2ServerResponse')(); }
}

module.exports = {
  connect: missing('connect'), constants, createServer: missing('createServer'), createSecureServer: missing('createSecureServer'),
  getDefaultSettings, getPackedSettings, getUnpackedSettings, performServerHandshake: missing('performServerHandshake'),
  sensitiveHeaders: Symbol('nodejs.http2.sensitiveHeaders'), Http2ServerRequest, Http2ServerResponse,
};
