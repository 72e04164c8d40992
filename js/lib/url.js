// SPDX-License-Identifier: MIT
// node:url: URL and URLSearchParams, for what is not plain from the npm package whatwg-url; file URLs.
'use strict';

const { validateFunction, codes, validateString } = load('errors');
const lib = load('npm:whatwg-url');
const path = load('path');
const custom = Symbol.for('nodejs.util.inspect.custom');

// ---- the short way ------------------------------------------------------------------------------------------------

// Most URLs are plain: a special scheme and a host in ASCII. C takes them apart; everything else, and every change, is the package's, which
// costs some fifty times as much. Both ways give the same.
const { implForWrapper: implOf } = load('npm:whatwg-url/lib/utils.js');
// A URL that was plain keeps the object that programs may hold.
function adoptParams(url, params) {
  const inner = implOf(url);
  inner._query = implOf(params);
  inner._query._url = inner;
}

const places = new Uint8Array(32);
const place = new Uint32Array(places.buffer);

class Parts {
  constructor(href) {
    this.href = href;
    this.scheme = place[0];
    this.user = place[1];
    this.secret = place[2];
    this.hostAt = place[3];
    this.hostEnd = place[4];
    this.path = place[5];
    this.query = place[6];
    this.fragment = place[7];
    this.params = null;
  }
  // The package's, and what is changed in it comes back here.
  get searchParams() {
    if (this.params === null) {
      this.params = new lib.URLSearchParams(this.href.slice(this.query, this.fragment));
      const plain = this;
      implOf(this.params)._url = {
        _url: { set query(text) { plain.change(text === null ? '' : `?${text}`); } },
        _potentiallyStripTrailingSpacesFromAnOpaquePath() {},
      };
    }
    return this.params;
  }
  change(query) {
    this.href = this.href.slice(0, this.query) + query + this.href.slice(this.fragment);
    this.fragment = this.query + query.length;
  }
  get protocol() { return this.href.slice(0, this.scheme); }
  get username() { return this.href.slice(this.scheme + 2, this.user); }
  get password() { return this.secret > this.user ? this.href.slice(this.user + 1, this.secret) : ''; }
  get host() { return this.href.slice(this.hostAt, this.path); }
  get hostname() { return this.href.slice(this.hostAt, this.hostEnd); }
  get port() { return this.path > this.hostEnd ? this.href.slice(this.hostEnd + 1, this.path) : ''; }
  get origin() { return this.hostAt === this.hostEnd ? 'null' : this.href.slice(0, this.scheme + 2) + this.host; }
  get pathname() { return this.href.slice(this.path, this.query); }
  // '?' and '#' alone are shown as nothing, and kept in href.
  get search() { return this.fragment - this.query > 1 ? this.href.slice(this.query, this.fragment) : ''; }
  get hash() { return this.href.length - this.fragment > 1 ? this.href.slice(this.fragment) : ''; }
}
function plainParts(input, base) {
  const href = binding.urlParse(input, base, places);
  return href === undefined ? null : new Parts(href);
}

function invalid(input, base) {
  const error = new codes.ERR_INVALID_URL();
  error.input = input;
  if (base !== undefined) error.base = base;
  return error;
}

class URL {
  #plain;
  #whole = null; // of the package
  constructor(input, base = undefined) {
    if (arguments.length === 0) throw new codes.ERR_MISSING_ARGS('url');
    input = `${input}`;
    if (base !== undefined) base = `${base}`;
    this.#plain = plainParts(input, base);
    if (this.#plain !== null) return;
    try {
      this.#whole = base === undefined ? new lib.URL(input) : new lib.URL(input, base);
    } catch {
      throw invalid(input, base);
    }
  }
  static #from(input, base) {
    return new URL(input, base);
  }
  static canParse(input, base = undefined) {
    if (arguments.length === 0) throw new codes.ERR_MISSING_ARGS('url');
    input = `${input}`;
    if (base === undefined && binding.urlParse(input, undefined, places) !== undefined) return true;
    return lib.URL.canParse(input, base === undefined ? undefined : `${base}`);
  }
  static parse(input, base = undefined) {
    if (arguments.length === 0) throw new codes.ERR_MISSING_ARGS('url');
    try {
      return URL.#from(input, base);
    } catch {
      return null;
    }
  }
  // What can be changed.
  static whole(url) {
    if (url.#whole === null) {
      url.#whole = new lib.URL(url.#plain.href);
      if (url.#plain.params !== null) adoptParams(url.#whole, url.#plain.params);
      url.#plain = null;
    }
    return url.#whole;
  }
  static parts(url) {
    return url.#plain ?? url.#whole;
  }
}
const { whole, parts } = URL;
delete URL.whole;
delete URL.parts;
for (const name of ['createObjectURL', 'revokeObjectURL']) {
  const { [name]: value } = { [name](item) { return arguments.length === 0 ? load('blob')[name]() : load('blob')[name](item); } };
  Object.defineProperty(URL, name, { value, writable: true, configurable: true, enumerable: true });
}
for (const name of ['canParse', 'parse']) Object.defineProperty(URL, name, { enumerable: true });
function accessor(name, descriptor) {
  for (const kind of ['get', 'set']) {
    if (descriptor[kind] !== undefined) Object.defineProperty(descriptor[kind], 'name', { value: `${kind} ${name}` });
  }
  Object.defineProperty(URL.prototype, name, { enumerable: true, configurable: true, ...descriptor });
}
for (const name of ['protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search', 'hash']) {
  accessor(name, { get() { return parts(this)[name]; }, set(value) { whole(this)[name] = `${value}`; } });
}
accessor('href', {
  get() { return parts(this).href; },
  set(value) {
    value = `${value}`;
    try {
      whole(this).href = value;
    } catch {
      throw invalid(value);
    }
  },
});
accessor('origin', { get() { return parts(this).origin; } });
accessor('searchParams', { get() { return parts(this).searchParams; } });
for (const name of ['toString', 'toJSON']) {
  accessor(name, { value: { [name]() { return parts(this).href; } }[name], writable: true });
}
Object.defineProperty(URL.prototype, Symbol.toStringTag, { value: 'URL', configurable: true });
for (const { prototype } of [URL, lib.URLSearchParams]) Object.defineProperty(prototype, load('idl').kPlatform, { value: true });

// ---- and the rest of it -------------------------------------------------------------------------------------------

Object.defineProperty(URL.prototype, custom, {
  configurable: true, writable: true,
  value: function (depth, options, inspect) {
    if (depth < 0) return options.stylize('[Object]', 'special');
    const shown = {};
    for (const name of ['href', 'origin', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search',
                        'searchParams', 'hash']) shown[name] = this[name];
    return `URL ${inspect(shown, options)}`;
  },
});
// The package's own class behind Node's checks: a URL's searchParams are of it as well.
function URLSearchParams(init = undefined) {
  if (new.target === undefined) throw new TypeError("Class constructor URLSearchParams cannot be invoked without 'new'");
  if (init !== null && typeof init === 'object' && typeof init[Symbol.iterator] === 'function') {
    init = [...init];
    for (const pair of init) {
      if (pair === null || typeof pair !== 'object' || typeof pair[Symbol.iterator] !== 'function' || [...pair].length !== 2) {
        throw new codes.ERR_INVALID_TUPLE('Each query pair', '[name, value]');
      }
    }
  }
  return Reflect.construct(lib.URLSearchParams, init === undefined ? [] : [init], new.target);
}
Object.defineProperty(URLSearchParams, 'prototype', { value: lib.URLSearchParams.prototype, writable: false });
Object.defineProperty(URLSearchParams.prototype, 'constructor', { value: URLSearchParams, writable: true, configurable: true });
// The package's own words for a wrong `this` become Node's. A good one costs nothing more.
const sizeOf = Object.getOwnPropertyDescriptor(lib.URLSearchParams.prototype, 'size').get;
function guarded(method, self, args, kind = 'URLSearchParams') {
  try {
    return Reflect.apply(method, self, args);
  } catch (error) {
    if (error instanceof TypeError && /called on (an object that is not a valid instance|a value that is not a)/.test(error.message)) throw new codes.ERR_INVALID_THIS(kind);
    if (error instanceof TypeError && /is a symbol, which cannot be converted/.test(error.message)) throw new TypeError('Cannot convert a Symbol value to a string');
    throw error;
  }
}
function replace(prototype, name, wanted, checked) {
  Object.defineProperty(checked, 'name', { value: name });
  Object.defineProperty(checked, 'length', { value: wanted });
  Object.defineProperty(prototype, name, { value: checked, writable: true, configurable: true, enumerable: true });
}
for (const [name, wanted] of [['append', 2], ['set', 2], ['delete', 1], ['get', 1], ['getAll', 1], ['has', 1], ['entries', 0], ['keys', 0], ['values', 0],
                              ['sort', 0], ['toString', 0], ['forEach', 1]]) {
  const method = lib.URLSearchParams.prototype[name];
  replace(URLSearchParams.prototype, name, wanted, function (...args) {
    if (args.length < wanted || name === 'forEach') {
      guarded(sizeOf, this, []);
      if (name === 'forEach') validateFunction(args[0], 'callback');
      else throw new codes.ERR_MISSING_ARGS(...['name', 'value'].slice(0, wanted));
    }
    return guarded(method, this, args);
  });
}
Object.defineProperty(URLSearchParams.prototype, Symbol.iterator, { value: URLSearchParams.prototype.entries, writable: true, configurable: true });
const steps = Object.getPrototypeOf(new lib.URLSearchParams().entries());
const { next } = steps;
replace(steps, 'next', 0, function () { return guarded(next, this, [], 'URLSearchParamsIterator'); });
Object.defineProperty(URLSearchParams.prototype, custom, {
  configurable: true, writable: true,
  value: function (depth, options, inspect) {
    const pairs = [...this].map(([key, value]) => `${inspect(key, options)} => ${inspect(value, options)}`);
    return pairs.length === 0 ? 'URLSearchParams {}' : `URLSearchParams { ${pairs.join(', ')} }`;
  },
});

function fileURLToPath(value) {
  const url = typeof value === 'string' ? new URL(value) : value;
  if (url === null || typeof url !== 'object' || url.href === undefined) throw new codes.ERR_INVALID_ARG_TYPE('path', ['string', 'URL'], value);
  if (url.protocol !== 'file:') throw new codes.ERR_INVALID_URL_SCHEME('file');
  if (url.hostname !== '') throw new codes.ERR_INVALID_FILE_URL_HOST();
  if (/%2f/i.test(url.pathname)) throw new codes.ERR_INVALID_FILE_URL_PATH('must not include encoded / characters');
  return decodeURIComponent(url.pathname);
}
function pathToFileURL(file) {
  validateString(file, 'path');
  let full = path.resolve(file);
  if (file.endsWith('/') && full !== '/') full += '/';
  return new URL('file://' + full.replace(/%/g, '%25').replace(/\\/g, '%5C').replace(/[\0- ]/g, encodeURIComponent)
    .replace(/\?/g, '%3F').replace(/#/g, '%23'));
}
function urlToHttpOptions(url) {
  return {
    __proto__: null, protocol: url.protocol,
    hostname: typeof url.hostname === 'string' && url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname, hash: url.hash, search: url.search, pathname: url.pathname,
    path: `${url.pathname || ''}${url.search || ''}`, href: url.href,
    ...(url.port !== '' ? { port: Number(url.port) } : {}),
    ...(url.username || url.password ? { auth: `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}` } : {}),
  };
}

module.exports = {
  URL, URLSearchParams, fileURLToPath, pathToFileURL, urlToHttpOptions,
  domainToASCII(name) {
    if (arguments.length < 1) throw new codes.ERR_MISSING_ARGS('domain');
    try {
      return new URL(`ws://${name}`).hostname;
    } catch {
      return '';
    }
  },
  domainToUnicode(name) {
    if (arguments.length < 1) throw new codes.ERR_MISSING_ARGS('domain');
    return load('npm:tr46').toUnicode(`${name}`).domain;
  },
};
for (const name of ['parse', 'resolve', 'resolveObject', 'format', 'Url']) {
  module.exports[name] = name === 'Url' ? undefined : (...args) => load('url_legacy')[name](...args);
}
Object.defineProperty(module.exports, 'Url', { enumerable: true, configurable: true, get: () => load('url_legacy').Url });
