// SPDX-License-Identifier: MIT
// node:url: URL and URLSearchParams from the npm package whatwg-url; file URLs.
'use strict';

const { codes, validateString } = load('errors');
const lib = load('npm:whatwg-url');
const path = load('path');
const custom = Symbol.for('nodejs.util.inspect.custom');

class URL extends lib.URL {
  constructor(input, base = undefined) {
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
const { URLSearchParams } = lib;
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
    protocol: url.protocol, hostname: url.hostname, hash: url.hash, search: url.search, pathname: url.pathname,
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
  format: (url, options) => {
    if (typeof url === 'string') return new URL(url).href;
    if (!(url instanceof lib.URL)) throw new codes.ERR_INVALID_ARG_TYPE('urlObject', 'URL', url);
    const copy = new URL(url.href);
    if (options?.fragment === false) copy.hash = '';
    if (options?.search === false) copy.search = '';
    if (options?.auth === false) copy.username = copy.password = '';
    return copy.href;
  },
};
