// SPDX-License-Identifier: MIT
// node:url: URL and URLSearchParams from the npm package whatwg-url; file URLs.
'use strict';

const { codes, validateString } = load('errors');
const lib = load('npm:whatwg-url');
const path = load('path');
const custom = Symbol.for('nodejs.util.inspect.custom');

class URL extends lib.URL {
  constructor(input, base = undefined) {
    if (arguments.length === 0) throw new codes.ERR_MISSING_ARGS('url');
    try {
      if (base === undefined) super(`${input}`);
      else super(`${input}`, `${base}`);
    } catch {
      const error = new codes.ERR_INVALID_URL();
      error.input = `${input}`;
      if (base !== undefined) error.base = `${base}`;
      throw error;
    }
  }
  static canParse(input, base = undefined) {
    return lib.URL.canParse(`${input}`, base === undefined ? undefined : `${base}`);
  }
}
for (const name of Object.getOwnPropertyNames(lib.URL.prototype)) {
  if (name !== 'constructor') {
    Object.defineProperty(URL.prototype, name, Object.getOwnPropertyDescriptor(lib.URL.prototype, name));
  }
}
const href = Object.getOwnPropertyDescriptor(lib.URL.prototype, 'href');
Object.defineProperty(URL.prototype, 'href', {
  ...href,
  set(value) {
    try {
      href.set.call(this, value);
    } catch {
      const error = new codes.ERR_INVALID_URL();
      error.input = `${value}`;
      throw error;
    }
  },
});
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
for (const [name, wanted] of [['append', 2], ['set', 2], ['delete', 1], ['get', 1], ['getAll', 1], ['has', 1]]) {
  const method = lib.URLSearchParams.prototype[name];
  const checked = function (...args) {
    if (args.length < wanted) throw new codes.ERR_MISSING_ARGS(...['name', 'value'].slice(0, wanted));
    return Reflect.apply(method, this, args);
  };
  Object.defineProperty(checked, 'name', { value: name });
  Object.defineProperty(URLSearchParams.prototype, name, { value: checked, writable: true, configurable: true, enumerable: true });
}
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
  const url = new URL('file:///');
  url.pathname = full.replace(/%/g, '%25').replace(/\\/g, '%5C').replace(/\n/g, '%0A').replace(/\r/g, '%0D').replace(/\t/g, '%09')
    .replace(/\?/g, '%3F').replace(/#/g, '%23');
  return url;
}
function urlToHttpOptions(url) {
  return {
    __proto__: null, protocol: url.protocol, hostname: url.hostname, hash: url.hash, search: url.search, pathname: url.pathname,
    path: `${url.pathname || ''}${url.search || ''}`, href: url.href,
    ...(url.port !== '' ? { port: Number(url.port) } : {}),
    ...(url.username || url.password ? { auth: `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}` } : {}),
  };
}

module.exports = {
  URL, URLSearchParams, fileURLToPath, pathToFileURL, urlToHttpOptions,
  domainToASCII: (name) => {
    try {
      return new URL(`ws://${name}`).hostname;
    } catch {
      return '';
    }
  },
  domainToUnicode: (name) => load('npm:tr46').toUnicode(name).domain,
};
for (const name of ['parse', 'resolve', 'resolveObject', 'format', 'Url']) {
  module.exports[name] = name === 'Url' ? undefined : (...args) => load('url_legacy')[name](...args);
}
Object.defineProperty(module.exports, 'Url', { enumerable: true, configurable: true, get: () => load('url_legacy').Url });
