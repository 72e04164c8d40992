// SPDX-License-Identifier: MIT
// node:url from before URL: parse, format, resolve, which many packages still use, with Node 20's answers. Nothing is rejected but a host
// that would become another one.
'use strict';

const { codes, validateString, validateObject } = load('errors');
const querystring = load('querystring');

const slashed = new Set(['http', 'https', 'ftp', 'gopher', 'file', 'ws', 'wss'].flatMap((name) => [name, `${name}:`]));
const hostless = new Set(['javascript', 'javascript:']);
const blanks = /^[\0-\x20\xa0\ufeff]+|[\0-\x20\xa0\ufeff]+$/g;
const escaped = /[\t\n\r "'<>\\^`{|}]/g;
const escapeOne = (char) => (char === "'" ? '%27' : encodeURIComponent(char));
let warned = false;

function Url() {
  for (const key of ['protocol', 'slashes', 'auth', 'host', 'port', 'hostname', 'hash', 'search', 'query', 'pathname', 'path', 'href']) {
    this[key] = null;
  }
}

Url.prototype.parse = function (url, parseQuery, slashesDenoteHost) {
  validateString(url, 'url');
  // A backslash before the query is a slash.
  let rest = url.replace(blanks, '').replace(/^[^?#]+/, (before) => before.replaceAll('\\', '/'));
  if (!slashesDenoteHost && !/#|^[^?]*@/.test(rest) && plainPath(this, rest, parseQuery)) return this;
  const proto = /^[a-z0-9.+-]+:/i.exec(rest)?.[0];
  if (proto !== undefined) {
    this.protocol = proto.toLowerCase();
    rest = rest.slice(proto.length);
  }
  const isHostless = hostless.has(this.protocol);
  const slashes = rest.startsWith('//') && (slashesDenoteHost || proto !== undefined || /^\/\/[^@/]+@[^@/]+/.test(rest));
  if (slashes && !isHostless) {
    rest = rest.slice(2);
    this.slashes = true;
  }
  if (!isHostless && (slashes || (proto !== undefined && !slashed.has(proto)))) rest = parseAuthority(this, rest, url);
  if (!isHostless) rest = rest.replace(escaped, escapeOne);
  const hash = rest.indexOf('#');
  if (hash >= 0) {
    this.hash = rest.slice(hash);
    rest = rest.slice(0, hash);
  }
  const query = rest.indexOf('?');
  setQuery(this, query < 0 ? null : rest.slice(query), parseQuery);
  if (query >= 0) rest = rest.slice(0, query);
  if (rest !== '') this.pathname = rest;
  else if (slashed.has(this.protocol) && this.hostname) this.pathname = '/';
  if (this.pathname || this.search) this.path = `${this.pathname ?? ''}${this.search ?? ''}`;
  this.href = this.format();
  return this;
};
function setQuery(self, search, parseQuery) {
  self.search = search;
  if (search !== null) self.query = parseQuery ? querystring.parse(search.slice(1)) : search.slice(1);
  else if (parseQuery) self.query = Object.create(null);
}
// A path alone stays as it is written.
function plainPath(self, text, parseQuery) {
  const found = /^(\/\/?(?!\/)[^?\s]*)(\?\S*)?$/.exec(text);
  if (found === null) return false;
  self.path = self.href = text;
  self.pathname = found[1];
  setQuery(self, found[2] ?? null, parseQuery);
  return true;
}
// Takes user, host and port; what remains is the path and what follows it.
function parseAuthority(self, rest, url) {
  const end = rest.search(/[/?#]/);
  const before = (end < 0 ? rest : rest.slice(0, end)).replace(/[\t\n\r]/g, '');
  rest = end < 0 ? '' : rest.slice(end);
  const at = before.lastIndexOf('@');
  if (at >= 0) self.auth = decodeURIComponent(before.slice(0, at));
  self.host = before.slice(at + 1);
  // What cannot be in a host belongs to the path.
  const odd = self.host.search(/[ "%';<>\\^`{|}]/);
  if (odd >= 0) {
    rest = self.host.slice(odd) + rest;
    self.host = self.host.slice(0, odd);
  }
  self.parseHost();
  let name = self.hostname ?? '';
  const ipv6 = isIpv6(name);
  const colon = ipv6 ? -1 : name.indexOf(':');
  if (colon >= 0) {
    if (!warned) process.emitWarning(`The URL ${url} is invalid. Future versions of Node.js will throw an error.`, 'DeprecationWarning', 'DEP0170');
    warned = true;
    rest = `/${name.slice(colon)}${rest}`;
    name = name.slice(0, colon);
  }
  name = name.length > 255 ? '' : name.toLowerCase();
  if (name !== '') name = checkHost(name, ipv6, url);
  self.host = name + (self.port ? `:${self.port}` : '');
  self.hostname = ipv6 ? name.slice(1, -1) : name;
  return ipv6 && !rest.startsWith('/') ? `/${rest}` : rest;
}
function isIpv6(name) {
  return name.startsWith('[') && name.endsWith(']');
}
// A name beyond ASCII can become one with a slash or a question mark, or nothing: who takes it for a host asks the wrong server.
function checkHost(name, ipv6, url) {
  if (!ipv6 && /[^\0-\x7f]|xn--/.test(name)) name = load('npm:tr46').toASCII(name, { checkBidi: true, checkJoiners: true }) ?? '';
  if (name === '' || (ipv6 ? /[\0\t\n\r #%/<>?@\\^|]/ : /[\0\t\n\r #%/:<>?@[\\\]^|]/).test(name)) {
    throw Object.assign(new codes.ERR_INVALID_URL(), { input: url });
  }
  return name;
}
Url.prototype.parseHost = function () {
  const port = /:(\d*)$/.exec(this.host);
  if (port !== null && port[1] !== '') this.port = port[1];
  const name = port === null ? this.host : this.host.slice(0, -port[0].length);
  if (name) this.hostname = name;
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
    host = auth + (this.hostname.includes(':') && !isIpv6(this.hostname) ? `[${this.hostname}]` : this.hostname);
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

// As a browser would follow a link, and where browsers differ as Node.
Url.prototype.resolveObject = function (relative) {
  const to = Object.assign(new Url(), typeof relative === 'string' ? parse(relative, false, true) : relative);
  const result = Object.assign(new Url(), this, { hash: to.hash });
  if (to.href !== '') {
    if (to.slashes && !to.protocol) otherHost(result, to);
    else if (to.protocol && to.protocol !== result.protocol) otherProtocol(result, to);
    else otherPath(result, to);
  }
  result.href = result.format();
  return result;
};
function otherHost(result, to) {
  Object.assign(result, to, { protocol: result.protocol });
  if (slashed.has(result.protocol) && result.hostname && !result.pathname) result.path = result.pathname = '/';
}
function otherProtocol(result, to) {
  if (!slashed.has(to.protocol)) {
    Object.assign(result, to);
    return;
  }
  let { host, pathname } = to;
  // Without a host the first name of the path is one.
  if (!host && !to.protocol.startsWith('file')) {
    const names = (pathname ?? '').split('/');
    while (names.length > 0 && !host) host = names.shift();
    if (names[0] === '') names.shift();
    pathname = `/${names.join('/')}`;
  }
  const { protocol, search, query, auth, port } = to;
  Object.assign(result, { protocol, search, query, auth, port, pathname, host: host || '', hostname: to.hostname || host });
  if (pathname || search) result.path = `${pathname ?? ''}${search ?? ''}`;
  result.slashes ||= to.slashes;
}
const namesOf = (pathname) => (pathname ? pathname.split('/') : []);
function hostFirst(names, host) {
  if (!host) return;
  if (names[0] === '') names[0] = host;
  else names.unshift(host);
}
function takeHost(result, host) {
  result.host = result.hostname = host;
  if (!host || host.indexOf('@') <= 0) return;
  const parts = host.split('@');
  result.auth = parts[0];
  result.host = result.hostname = parts[1];
}
// Removes . and .. from a list of names: how many .. had nothing to remove.
function dropDots(names) {
  let up = 0;
  for (let i = names.length - 1; i >= 0; i--) {
    if (names[i] === '..') up++;
    else if (names[i] !== '.' && up === 0) continue;
    else if (names[i] !== '.') up--;
    names.splice(i, 1);
  }
  return up;
}
function otherPath(result, to) {
  const absolute = !!to.host || !!to.pathname?.startsWith('/');
  const ends = absolute || !!result.pathname?.startsWith('/') || !!(result.host && to.pathname);
  let rooted = ends;
  let names = namesOf(result.pathname);
  const given = namesOf(to.pathname);
  // With a protocol that needs no slashes .. goes up to the host, which is the first name until then.
  const hostIsName = !!result.protocol && !slashed.has(result.protocol);
  if (hostIsName) {
    hostFirst(names, result.host);
    result.host = result.hostname = '';
    result.port = null;
    if (to.protocol) {
      hostFirst(given, to.host);
      to.host = to.hostname = to.port = result.auth = null;
    }
    rooted &&= given[0] === '' || names[0] === '';
  }
  const searchOnly = !absolute && given.length === 0 && to.search !== null;
  if (absolute || given.length > 0 || searchOnly) {
    result.search = to.search;
    result.query = to.query;
  }
  if (absolute) {
    if (typeof to.host === 'string') {
      // Another host does not get the user.
      if (result.host !== to.host || result.hostname !== to.hostname) result.auth = null;
      result.host = to.host;
      result.hostname = to.hostname;
      result.port = to.port;
    }
    names = given;
  } else if (given.length > 0) {
    names.pop();
    names.push(...given);
  } else if (searchOnly) {
    if (hostIsName) takeHost(result, names.shift());
    result.path = `${result.pathname ?? ''}${result.search}`;
    return;
  }
  if (names.length === 0) {
    result.pathname = null;
    result.path = result.search ? `/${result.search}` : null;
    return;
  }
  const last = names[names.length - 1];
  const folder = last === '' || ((last === '.' || last === '..') && !!(result.host || to.host || names.length > 1));
  const up = dropDots(names);
  if (!ends) for (let i = 0; i < up; i++) names.unshift('..');
  if (rooted && names[0] !== '') names.unshift('');
  if (folder && !names.join('/').endsWith('/')) names.push('');
  const fromRoot = names[0] === '';
  if (hostIsName) takeHost(result, fromRoot ? '' : names.shift() ?? '');
  if (!fromRoot && (rooted || (result.host && names.length > 0))) names.unshift('');
  result.pathname = names.length === 0 ? null : names.join('/');
  result.path = result.pathname === null && result.search === null ? null : `${result.pathname ?? ''}${result.search ?? ''}`;
  result.auth = to.auth || result.auth;
  result.slashes ||= to.slashes;
}
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
