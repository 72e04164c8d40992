// SPDX-License-Identifier: MIT
// The head of an answer: a ServerResponse's headers, and the text that they become.
'use strict';

const { OLD } = load('http_link');
const { codes } = load('errors');
const { STATUS_CODES, PLAIN, BAD_VALUE, lowerOf, lineOf, checkValue, dateLine, lengthLine } = load('http_names');

function find(headers, key) {
  if (headers === null) return -1;
  for (let i = 0; i < headers.length; i += 3) {
    if (headers[i] === key) return i;
  }
  return -1;
}

const REMOVABLE = { date: 1, connection: 2, 'content-length': 4, 'transfer-encoding': 8 };

function flatten(headers) {
  if (!Array.isArray(headers)) return Object.entries(headers).flat();
  if (headers.length > 0 && Array.isArray(headers[0])) return headers.flatMap(([name, value]) => [name, value]);
  if (headers.length % 2 !== 0) throw new codes.ERR_INVALID_ARG_VALUE('headers', headers);
  return headers.slice();
}

// Bits: which of the headers that we would add are there.
const HAS_DATE = 1, HAS_CONNECTION = 2, HAS_LENGTH = 4, HAS_CODING = 8, HAS_TRAILER = 16, HAS_KEEP_ALIVE = 32;
const NOTED = new Set(['date', 'connection', 'keep-alive', 'content-length', 'transfer-encoding', 'trailer']);
function note(response, key, value) {
  if (!NOTED.has(key)) return 0;
  switch (key) {
    case 'date':
      return HAS_DATE;
    case 'keep-alive':
      return HAS_KEEP_ALIVE;
    case 'connection':
      if (/(?:^|\W)close(?:$|\W)/i.test(value)) response._shut = true;
      else response.shouldKeepAlive = true;
      return HAS_CONNECTION;
    case 'content-length':
      response._promised = +value;
      return HAS_LENGTH;
    case 'transfer-encoding':
      if (/(?:^|\W)chunked(?:$|\W)/i.test(value)) response.chunkedEncoding = true;
      return HAS_CODING;
    case 'trailer':
      return HAS_TRAILER;
    default:
      return 0;
  }
}
function line(response, key, name, value) {
  if (!Array.isArray(value)) {
    response._lines += lineOf(name, value).text;
    return note(response, key, value);
  }
  if (key === 'cookie' || response._link.server.uniqueHeaders?.has(key)) return line(response, key, name, value.join('; '));
  let bits = 0;
  for (let i = 0; i < value.length; i++) {
    response._lines += `${name}: ${value[i]}\r\n`;
    bits |= note(response, key, value[i]);
  }
  return bits;
}

// ---- what a ServerResponse gets -----------------------------------------------------------------------------------

function install(ServerResponse) {
  ServerResponse.prototype.setHeader = function (name, value) {
    if (this.headersSent || (this.headersSent === undefined && this._header)) throw new codes.ERR_HTTP_HEADERS_SENT('set');
    let key;
    if (Array.isArray(value)) {
      key = lowerOf(name);
      for (let i = 0; i < value.length; i++) if (!checkValue(name, value[i])) this._latin1 = true;
    } else {
      const line = lineOf(name, value);
      key = line.key;
      if (!line.plain) this._latin1 = true;
    }
    if (this._headers === null) {
      this._headers = [key, name, value];
      return this;
    }
    const at = find(this._headers, key);
    if (at < 0) {
      this._headers.push(key, name, value);
    } else {
      this._headers[at + 1] = name;
      this._headers[at + 2] = value;
    }
    return this;
  };
  ServerResponse.prototype.setHeaders = function (headers) {
    if (this.headersSent) throw new codes.ERR_HTTP_HEADERS_SENT('set');
    if (!headers || Array.isArray(headers) || typeof headers.keys !== 'function' || typeof headers.get !== 'function') {
      throw new codes.ERR_INVALID_ARG_TYPE('headers', ['Headers', 'Map'], headers);
    }
    const cookies = typeof headers.getSetCookie === 'function' ? headers.getSetCookie() : [];
    for (const [name, value] of headers) {
      if (cookies.length === 0 || name !== 'set-cookie') this.setHeader(name, value);
    }
    if (cookies.length > 0) this.setHeader('set-cookie', cookies);
    return this;
  };
  ServerResponse.prototype.appendHeader = function (name, value) {
    if (this.headersSent) throw new codes.ERR_HTTP_HEADERS_SENT('append');
    const at = find(this._headers, lowerOf(name));
    if (at < 0) return this.setHeader(name, value);
    return this.setHeader(this._headers[at + 1], [].concat(this._headers[at + 2], value));
  };
  ServerResponse.prototype.getHeader = function (name) {
    if (typeof name !== 'string') throw new codes.ERR_INVALID_ARG_TYPE('name', 'string', name);
    const at = find(this._headers, name.toLowerCase());
    return at < 0 ? undefined : this._headers[at + 2];
  };
  ServerResponse.prototype.hasHeader = function (name) {
    if (typeof name !== 'string') throw new codes.ERR_INVALID_ARG_TYPE('name', 'string', name);
    return find(this._headers, name.toLowerCase()) >= 0;
  };
  ServerResponse.prototype.removeHeader = function (name) {
    if (typeof name !== 'string') throw new codes.ERR_INVALID_ARG_TYPE('name', 'string', name);
    if (this.headersSent) throw new codes.ERR_HTTP_HEADERS_SENT('remove');
    const key = name.toLowerCase();
    this._removed |= REMOVABLE[key] ?? 0;
    if (key === 'date') this.sendDate = false;
    const at = find(this._headers, key);
    if (at >= 0) this._headers.splice(at, 3);
  };
  ServerResponse.prototype.getHeaders = function () {
    const all = Object.create(null);
    const headers = this._headers ?? [];
    for (let i = 0; i < headers.length; i += 3) all[headers[i]] = headers[i + 2];
    return all;
  };
  ServerResponse.prototype.getHeaderNames = function () {
    return (this._headers ?? []).filter((_, i) => i % 3 === 0);
  };
  ServerResponse.prototype.getRawHeaderNames = function () {
    return (this._headers ?? []).filter((_, i) => i % 3 === 1);
  };

  ServerResponse.prototype.writeHead = function (status, reason, headers) {
    if (this.headersSent) throw new codes.ERR_HTTP_HEADERS_SENT('write');
    const wanted = status;
    status |= 0;
    if (status < 100 || status > 999) throw new codes.ERR_HTTP_INVALID_STATUS_CODE(wanted);
    if (typeof reason === 'string') {
      this.statusMessage = reason;
    } else {
      this.statusMessage ||= STATUS_CODES[status] || 'unknown';
      headers ??= reason;
    }
    this.statusCode = status;
    let extra = null;
    if (headers !== undefined && headers !== null) {
      const list = flatten(headers);
      if (this._headers !== null) {
        for (let i = 0; i < list.length; i += 2) {
          if (list[i]) this.setHeader(list[i], list[i + 1]);
        }
      } else {
        for (let i = 0; i < list.length; i += 2) {
          lowerOf(list[i]);
          const values = Array.isArray(list[i + 1]) ? list[i + 1] : [list[i + 1]];
          for (let k = 0; k < values.length; k++) if (!checkValue(list[i], values[k])) this._latin1 = true;
        }
        extra = list;
      }
    }
    if (extra !== null) this._extra = extra;
    this._head();
    return this;
  };
  ServerResponse.prototype.writeHeader = ServerResponse.prototype.writeHead;

  // Fixes the head: after this nothing of it can be changed. `length`: of the whole body, if that is known; -1 otherwise.
  ServerResponse.prototype._head = function (length = -1) {
    const status = this.statusCode;
    const known = STATUS_CODES[status];
    const reason = this.statusMessage ??= known ?? 'unknown';
    if (reason !== known && !PLAIN.test(reason)) {
      if (BAD_VALUE.test(reason)) throw new codes.ERR_INVALID_CHAR('statusMessage');
      this._latin1 = true;
    }
    this.headersSent = true;
    let bits = 0;
    this._lines = '';
    if (this._extra !== null) {
      const extra = this._extra;
      for (let i = 0; i < extra.length; i += 2) bits |= line(this, lowerOf(extra[i]), extra[i], extra[i + 1]);
    } else if (this._headers !== null) {
      const headers = this._headers;
      for (let i = 0; i < headers.length; i += 3) bits |= line(this, headers[i], headers[i + 1], headers[i + 2]);
    }
    let text = (status === 200 && reason === 'OK' ? 'HTTP/1.1 200 OK\r\n' : `HTTP/1.1 ${status} ${reason}\r\n`) + this._lines;
    if (status === 204 || status === 304 || status < 200) {
      this._hasBody = false;
      // Such an answer has no body, so it can have no coding: what would be sent for it is the next answer to the client.
      if (this.chunkedEncoding) {
        this.chunkedEncoding = false;
        this.shouldKeepAlive = false;
      }
    }
    if (this.sendDate && (bits & HAS_DATE) === 0) text += dateLine();
    const server = this._link.server;
    const byDefault = (this._flags & OLD) === 0;
    if ((bits & HAS_CONNECTION) === 0) {
      if ((this._removed & 2) !== 0) {
        if (!this.shouldKeepAlive) this._shut = true;
      } else if (server.maxRequestsPerSocket > 0 && this._link.requests >= server.maxRequestsPerSocket) {
        this._shut = true;
        text += 'Connection: close\r\n';
      } else if (this.shouldKeepAlive && !server.ending && (byDefault || (bits & HAS_LENGTH) !== 0)) {
        text += (bits & HAS_KEEP_ALIVE) !== 0 ? 'Connection: keep-alive\r\n' : server.maxRequestsPerSocket > 0 && server.keepAliveTimeout > 0 ?
          `${server.keepAliveLine.slice(0, -2)}, max=${server.maxRequestsPerSocket}\r\n` : server.keepAliveLine;
      } else {
        this._shut = true;
        text += 'Connection: close\r\n';
      }
    }
    if ((bits & (HAS_LENGTH | HAS_CODING)) === 0) {
      if (!this._hasBody) {
        if (this.chunkedEncoding) this.chunkedEncoding = false;
      } else if (!byDefault) {
        this._shut = true;
      } else if (length >= 0 && (bits & HAS_TRAILER) === 0 && (this._removed & 4) === 0) {
        text += lengthLine(length);
        this._promised = length;
      } else if ((this._removed & 8) === 0) {
        text += 'Transfer-Encoding: chunked\r\n';
        this.chunkedEncoding = true;
      } else {
        this._shut = true; // the end of the connection is the end of the body
      }
    }
    if ((bits & HAS_TRAILER) !== 0 && !this.chunkedEncoding) {
      this.headersSent = false;
      this._lines = '';
      throw new codes.ERR_HTTP_TRAILER_INVALID();
    }
    this._lines = text + '\r\n';
  };
}

module.exports = { install, flatten };
