// SPDX-License-Identifier: MIT
// URLPattern: the npm package urlpattern-polyfill, with the properties of an interface of the web.
'use strict';

const { URLPattern } = load('npm:urlpattern-polyfill');
const custom = Symbol.for('nodejs.util.inspect.custom');
const parts = ['protocol', 'username', 'password', 'hostname', 'port', 'pathname', 'search', 'hash'];

// The package's own additions to the standard.
delete URLPattern.compareComponent;
load('idl').expose(URLPattern);
Object.defineProperty(URLPattern.prototype, custom, {
  value(depth, options, inspect) {
    const shown = {};
    for (const part of parts) shown[part] = this[part];
    return `URLPattern ${inspect(shown, options)}`;
  },
});

module.exports = { URLPattern };
