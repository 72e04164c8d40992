// SPDX-License-Identifier: MIT
// node:url from before URL: parse, format, resolve, which many packages still use. The grammar is that of Node's documentation: what
// follows the protocol up to the first / ? or # is authority, and nothing is rejected.
'use strict';

const { codes, validateString, validateObject } = load('errors');
const querystring = load('querystring');

const slashed = new Set(['http', 'https', 'ftp', 'gopher', 'file', 'ws', 'wss'].flatMap((name) => [name, `${name}:`]));
const hostless = new Set(['javascript', 'javascript:']);
const escaped = /[{}|\\^`<>"\s']/g;
const escapeOne = (char) => (char === "'" ? '%27' : encodeURIComponent(char));

function Url() {
  for (const key of ['protocol', 'slashes', 'auth', 'host', 'port', 'hostname', 'hash', 'search', 'query', 'pathname', 'path', 'href']) {
    this[key] = null;
  }
}

Url.prototype.parse = function (url, parseQuery, slashesDenoteHost) {
  validateString(url, 'url');
  let rest = url.trim();
  // A backslash before the query is a slash.
  const mark = rest.search(/[?#]/);
  rest = mark < 0 ? rest.replace(/\\/g, '/') : rest.slice(0, mark).replace(/\\/g, '/') + rest.slice(mark);
  const proto = /^[a-z0-9.+-]+:/i.exec(rest)?.[0];
  if (proto !== undefined) {
    this.protocol = proto.toLowerCase();
    rest = rest.slice(proto.length);
  }
  const isHostless = hostless.has(this.protocol);
  let slashes = false;
  if ((slashesDenoteHost || proto !== undefined || /^\/\/[^@/]+@[^@/]+/.test(rest)) && rest.startsWith('//') && !isHostless) {
    rest = rest.slice(2);
    slashes = this.slashes = true;
  }
  if (slashes) {
    const end = rest.search(/[/?#]/);
    const before = end < 0 ? rest : rest.slice(0, end);
    const at = before.lastIndexOf('@');
    if (at >= 0) this.auth = decodeURIComponent(before.slice(0, at));
    let host = before.slice(at + 1);
    // What cannot be in a host belongs to the path.
    const odd = host.search(/[\0\s"'<>\\^`{|};%]/);
    let tail = end < 0 ? '' : rest.slice(end);
    if (odd >= 0 && !host.startsWith('[')) {
      tail = host.slice(odd) + tail;
      host = host.slice(0, odd);
    }
    const port = /:(\d*)$/.exec(host);
    if (port !== null) {
      if (port[1] !== '') this.port = port[1];
      host = host.slice(0, -port[0].length);
    }
    this.hostname = host.length > 255 ? '' : host.toLowerCase();
    if (!this.hostname.startsWith('[') && /[^\x00-\x7f]/.test(this.hostname)) {
      this.hostname = load('url').domainToASCII(this.hostname);
    }
    // What no host has: a program that takes one for another would ask the wrong server.
    const bare = this.hostname.replace(/^\[(.*)\]$/, '$1');
    if (bare === this.hostname ? /[\0\t\n\r #%/:<>?@[\\\]^|]/.test(bare) : /[\0\t\n\r #%/<>?@\\^|]/.test(bare)) {
      throw Object.assign(new codes.ERR_INVALID_URL(), { input: url });
    }
    this.host = this.hostname + (this.port === null ? '' : `:${this.port}`);
    if (this.hostname.startsWith('[') && this.hostname.endsWith(']')) this.hostname = this.hostname.slice(1, -1);
    rest = tail;
  }
  if (!hostless.has(this.protocol)) rest = rest.replace(escaped, escapeOne);
  const hash = rest.indexOf('#');
  if (hash >= 0) {
    this.hash = rest.slice(hash);
    rest = rest.slice(0, hash);
  }
  const query = rest.indexOf('?');
  if (query >= 0) {
    this.search = rest.slice(query);
    this.query = parseQuery ? querystring.parse(this.search.slice(1)) : this.search.slice(1);
    rest = rest.slice(0, query);
  } else if (parseQuery) {
    this.search = null;
    this.query = Object.create(null);
  }
  if (rest !== '') this.pathname = rest;
  else if (slashed.has(this.protocol) && this.hostname) this.pathname = '/';
  if (this.pathname !== null || this.search !== null) this.path = `${this.pathname ?? ''}${this.search ?? ''}`;
  this.href = this.format();
  return this;
};

Url.prototype.format = function () {
  let auth = this.auth || '';
  if (auth) auth = `${encodeURIComponent(auth).replace(/%3A/gi, ':')}@`;
  let protocol = this.protocol || '';
  let pathname = this.pathname || '';
  let hash = this.hash || '';
  let host = '';
  if (this.host) {
    host = auth + this.host;
  } else if (this.hostname) {
    host = auth + (this.hostname.includes(':') && !this.hostname.startsWith('[') ? `[${this.hostname}]` : this.hostname);
    if (this.port) host += `:${this.port}`;
  }
  const query = this.query !== null && typeof this.query === 'object' ? querystring.stringify(this.query) : '';
  let search = this.search || (query && `?${query}`) || '';
  if (protocol && !protocol.endsWith(':')) protocol += ':';
  pathname = pathname.replace(/[?#]/g, encodeURIComponent);
  if (this.slashes || slashed.has(protocol)) {
    if (this.slashes || host) {
      if (pathname && !pathname.startsWith('/')) pathname = `/${pathname}`;
      host = `//${host}`;
    } else if (protocol.startsWith('file')) {
      host = '//';
    }
  }
  search = search.replace(/#/g, '%23');
  if (hash && !hash.startsWith('#')) hash = `#${hash}`;
  if (search && !search.startsWith('?')) search = `?${search}`;
  return protocol + host + pathname + search + hash;
};

// As a browser would follow a link.
Url.prototype.resolveObject = function (relative) {
  const to = typeof relative === 'string' ? parse(relative, false, true) : relative;
  const result = Object.assign(new Url(), this);
  result.hash = to.hash;
  if (to.href === '') {
    result.href = result.format();
    return result;
  }
  if (to.slashes && !to.protocol) {
    for (const key of Object.keys(to)) if (key !== 'protocol') result[key] = to[key];
    if (slashed.has(result.protocol) && result.hostname && !result.pathname) result.path = result.pathname = '/';
    result.href = result.format();
    return result;
  }
  if (to.protocol && to.protocol !== result.protocol) {
    Object.assign(result, to);
    // As Node: without a host the first name of the path is one.
    if (slashed.has(to.protocol) && !to.host && !to.protocol.startsWith('file') && !hostless.has(to.protocol)) {
      const names = (to.pathname ?? '').split('/').filter((name, i, all) => name !== '' || i === all.length - 1);
      result.host = result.hostname = names.shift() ?? '';
      result.pathname = `/${names.join('/')}`;
      result.path = result.pathname + (result.search ?? '');
      result.slashes = true;
    }
    result.href = result.format();
    return result;
  }
  if (to.protocol && (to.host || !slashed.has(to.protocol))) {
    Object.assign(result, to);
    if (!to.host) Object.assign(result, { host: this.host, hostname: this.hostname, port: this.port, auth: this.auth, slashes: this.slashes });
  }
  const absolute = (to.pathname ?? '').startsWith('/');
  const from = (this.pathname ?? '').split('/');
  const given = (to.pathname ?? '').split('/');
  let path;
  if (to.pathname === null && !to.protocol) {
    path = from;
    if (to.search === null) {
      result.search = this.search;
      result.query = this.query;
    } else {
      result.search = to.search;
      result.query = to.query;
    }
  } else {
    path = absolute ? given : [...from.slice(0, -1), ...given];
    result.search = to.search;
    result.query = to.query;
  }
  const rooted = absolute || (this.pathname ?? '').startsWith('/') || !!result.host;
  const out = [];
  const last = path[path.length - 1];
  for (const part of path) {
    if (part === '.' || (part === '' && out.length === 0)) continue;
    if (part === '..') {
      if (out.length > 0 && out[out.length - 1] !== '..') out.pop();
      else if (!rooted) out.push('..');
    } else {
      out.push(part);
    }
  }
  if (last === '.' || last === '..') out.push('');
  let pathname = out.join('/');
  if (rooted) pathname = `/${pathname}`;
  result.pathname = pathname === '' ? null : pathname;
  if (result.pathname !== null || result.search !== null) result.path = `${result.pathname ?? ''}${result.search ?? ''}`;
  result.auth = to.auth || result.auth;
  result.slashes = result.slashes || to.slashes;
  result.href = result.format();
  return result;
};
Url.prototype.resolve = function (relative) {
  return this.resolveObject(parse(relative, false, true)).format();
};

function parse(url, parseQuery, slashesDenoteHost) {
  if (url instanceof Url) return url;
  return new Url().parse(url, parseQuery, slashesDenoteHost);
}
function format(value, options) {
  if (typeof value === 'string') return parse(value).format();
  if (value === null || typeof value !== 'object') throw new codes.ERR_INVALID_ARG_TYPE('urlObject', ['Object', 'string'], value);
  const { URL } = load('url');
  if (value instanceof URL) {
    if (options) validateObject(options, 'options');
    const copy = new URL(value.href);
    const off = (name) => options?.[name] !== undefined && options[name] !== null && !options[name];
    if (off('fragment')) copy.hash = '';
    if (off('search')) copy.search = '';
    if (off('auth')) copy.username = copy.password = '';
    return options?.unicode ? copy.href.replace(copy.host, () => load('url').domainToUnicode(copy.hostname) + (copy.port && `:${copy.port}`))
      : copy.href;
  }
  return Url.prototype.format.call(value);
}

module.exports = {
  Url, parse, format,
  resolve: (from, to) => parse(from, false, true).resolve(to),
  resolveObject: (from, to) => (from ? parse(from, false, true).resolveObject(to) : to),
};
