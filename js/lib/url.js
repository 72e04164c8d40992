// SPDX-License-Identifier: MIT
// node:url: URL and URLSearchParams, for what is not plain from the npm package whatwg-url; file URLs.
'use strict';

const { validateFunction, codes, validateString } = load('errors');
const lib = load('npm:whatwg-url');
const path = load('path');
const custom = Symbol.for('nodejs.util.inspect.custom');

// ---- the short way ------------------------------------------------------------------------------------------------

// Most URLs are plain: a special scheme and a host in ASCII. C takes them apart, and knows most of what is no URL; everything else is the
// package's, which costs some fifty times as much. Both ways give the same.
const { implForWrapper: implOf } = load('npm:whatwg-url/lib/utils.js');
const { URLSearchParams, attach, refill } = load('url_params');

const places = new Uint8Array(32);
const place = new Uint32Array(places.buffer);

class Parts {
  constructor(href) { this.take(href); }
  take(href) {
    this.href = href;
    this.scheme = place[0];
    this.user = place[1];
    this.secret = place[2];
    this.hostAt = place[3];
    this.hostEnd = place[4];
    this.path = place[5];
    this.query = place[6];
    this.fragment = place[7];
  }
  // False: it is for the package to say what becomes of it.
  retake(text) {
    const href = binding.urlParse(text, undefined, places);
    if (typeof href !== 'string') return false;
    this.take(href);
    return true;
  }
  get queryText() { return this.href.slice(this.query + 1, this.fragment); }
  set queryText(text) {
    const query = text === '' ? '' : `?${text}`;
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
// Setters for values without surprises, of URLs with a host; true if it is done.
const PRINTED = /^[!-~]*$/;
// Segments that stay as they are.
const PATH = /^(?:\/[\w~!$&'()*+,;=:@-][\w.~!$&'()*+,;=:@-]*)+\/?$/;
const setters = {
  __proto__: null,
  pathname(parts, value) {
    if (PATH.test(value)) {
      const more = value.length - (parts.query - parts.path);
      parts.href = parts.href.slice(0, parts.path) + value + parts.href.slice(parts.query);
      parts.query += more;
      parts.fragment += more;
      return true;
    }
    const path = value.replaceAll('?', '%3F').replaceAll('#', '%23');
    return parts.retake(`${parts.href.slice(0, parts.path)}${/^[/\\]/.test(path) ? '' : '/'}${path}${parts.href.slice(parts.query)}`);
  },
  search(parts, value) {
    const query = (value.startsWith('?') ? value.slice(1) : value).replaceAll('#', '%23');
    return parts.retake(`${parts.href.slice(0, parts.query)}${value === '' ? '' : `?${query}`}${parts.href.slice(parts.fragment)}`);
  },
  hash(parts, value) {
    return parts.retake(`${parts.href.slice(0, parts.fragment)}${value === '' ? '' : value.startsWith('#') ? value : `#${value}`}`);
  },
  port(parts, value) {
    if (!/^[0-9]{1,5}$/.test(value) || +value > 65535) return false;
    return parts.retake(`${parts.href.slice(0, parts.hostEnd)}:${value}${parts.href.slice(parts.path)}`);
  },
  hostname(parts, value) {
    if (!/^[A-Za-z0-9.-]+$/.test(value)) return false;
    return parts.retake(`${parts.href.slice(0, parts.hostAt)}${value}${parts.href.slice(parts.hostEnd)}`);
  },
};
// Undefined: it is no URL. Null: that is for the package to say.
function plainParts(input, base) {
  const href = binding.urlParse(input, base, places);
  return typeof href === 'string' ? new Parts(href) : href === null ? undefined : null;
}

function invalid(input, base) {
  const error = new codes.ERR_INVALID_URL();
  error.input = input;
  if (base !== undefined) error.base = base;
  return error;
}

function textOf(value) {
  if (typeof value === 'symbol') throw new TypeError('Cannot convert a Symbol value to a string');
  return `${value}`;
}

let handed = null; // parts for the URL that is made next
let read, change, paramsOf; // set by the class
class URL {
  #plain;
  #whole = null; // of the package
  #params = null;
  constructor(input, base = undefined) {
    if (arguments.length === 0) throw new codes.ERR_MISSING_ARGS('url');
    input = textOf(input);
    if (base !== undefined) base = textOf(base);
    if (handed !== null) {
      this.#plain = handed;
      handed = null;
      return;
    }
    const plain = plainParts(input, base);
    if (plain === undefined) throw invalid(input, base);
    this.#plain = plain;
    if (plain !== null) return;
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
    input = textOf(input);
    if (base !== undefined) base = textOf(base);
    const href = binding.urlParse(input, base, places);
    return href === undefined ? lib.URL.canParse(input, base) : href !== null;
  }
  static parse(input, base = undefined) {
    if (arguments.length === 0) throw new codes.ERR_MISSING_ARGS('url');
    input = textOf(input);
    if (base !== undefined) base = textOf(base);
    const plain = plainParts(input, base);
    if (plain === undefined) return null;
    handed = plain;
    try {
      return URL.#from(input, base);
    } catch {
      return null;
    }
  }
  static {
    read = (url) => {
      if (typeof url !== 'object' || url === null || !(#plain in url)) throw new TypeError('Receiver must be an instance of class URL');
      return url.#plain ?? url.#whole;
    };
    change = (url, name, value) => {
      if (typeof url !== 'object' || url === null || !(#plain in url)) throw new TypeError('Cannot read private member #context from an object whose class did not declare it');
      value = textOf(value);
      const plain = url.#plain;
      if (name === 'href') {
        const next = plainParts(value);
        if (next === undefined) throw invalid(value);
        if (next === null) url.#whole = new lib.URL(value); // throws if it is no URL
        else url.#whole = null;
        url.#plain = next;
      } else if (plain === null || plain.hostAt === plain.hostEnd || !PRINTED.test(value) || setters[name]?.(plain, value) !== true) {
        if (plain !== null) {
          const whole = new lib.URL(plain.href);
          whole[name] = value; // may throw
          url.#whole = whole;
          url.#plain = null;
        } else {
          url.#whole[name] = value;
        }
      }
      if (url.#params !== null && (name === 'search' || name === 'href')) refill(url.#params, url.#query);
    };
    paramsOf = (url) => {
      read(url);
      return url.#params ??= attach(url.#query, (text) => {
        if (url.#plain !== null) url.#plain.queryText = text;
        else implOf(url.#whole)._url.query = text === '' ? null : text;
      });
    };
  }
  get #query() {
    return this.#plain !== null ? this.#plain.queryText : this.#whole.search.slice(1);
  }
}
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
  accessor(name, Object.getOwnPropertyDescriptor({ get [name]() { return read(this)[name]; }, set [name](value) { change(this, name, value); } }, name));
}
accessor('href', Object.getOwnPropertyDescriptor({
  get href() { return read(this).href; },
  set href(value) {
    value = textOf(value);
    try {
      change(this, 'href', value);
    } catch (error) {
      read(this);
      throw error instanceof TypeError ? invalid(value) : error;
    }
  },
}, 'href'));
accessor('origin', Object.getOwnPropertyDescriptor({ get origin() { return read(this).origin; } }, 'origin'));
accessor('searchParams', Object.getOwnPropertyDescriptor({ get searchParams() { return paramsOf(this); } }, 'searchParams'));
for (const name of ['toString', 'toJSON']) {
  accessor(name, { value: { [name]() { return read(this).href; } }[name], writable: true });
}
Object.defineProperty(URL.prototype, Symbol.toStringTag, { value: 'URL', configurable: true });
Object.defineProperty(URL.prototype, load('idl').kPlatform, { value: true });

// ---- and the rest of it -------------------------------------------------------------------------------------------

Object.defineProperty(URL.prototype, custom, {
  configurable: true, writable: true,
  value: {
    [custom](depth, options, inspect) {
      read(this);
      if (typeof depth === 'number' && depth < 0) return this;
      const shown = {};
      for (const name of ['href', 'origin', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search',
                          'searchParams', 'hash']) shown[name] = this[name];
      return `${this.constructor.name} ${inspect(shown, options)}`;
    },
  }[custom],
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
