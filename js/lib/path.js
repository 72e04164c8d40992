// SPDX-License-Identifier: MIT
// node:path, the POSIX half. The other is in path_win32.js.
'use strict';

const { validateString, validateObject } = load('errors');

function clean(path, absolute) {
  const parts = [];
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') parts.push(part);
    else if (parts.length > 0 && parts[parts.length - 1] !== '..') parts.pop();
    else if (!absolute) parts.push('..');
  }
  return parts.join('/');
}

function resolve(...args) {
  let path = '';
  for (let i = args.length - 1; i >= -1 && !path.startsWith('/'); i--) {
    const part = i >= 0 ? args[i] : process.cwd();
    validateString(part, `paths[${i}]`);
    if (part !== '') path = path === '' ? part : `${part}/${path}`;
  }
  const absolute = path.startsWith('/');
  const rest = clean(path, absolute);
  return absolute ? `/${rest}` : rest || '.';
}

function normalize(path) {
  validateString(path, 'path');
  if (path === '') return '.';
  const absolute = path.startsWith('/');
  let rest = clean(path, absolute);
  if (rest === '' && !absolute) rest = path.endsWith('/') ? './' : '.';
  else if (rest !== '' && path.endsWith('/')) rest += '/';
  return absolute ? `/${rest}` : rest;
}

function join(...args) {
  for (const arg of args) validateString(arg, 'path');
  const path = args.filter((arg) => arg !== '').join('/');
  return path === '' ? '.' : normalize(path);
}

function relative(from, to) {
  validateString(from, 'from');
  validateString(to, 'to');
  if (from === to) return '';
  const a = resolve(from).split('/').filter(Boolean);
  const b = resolve(to).split('/').filter(Boolean);
  let same = 0;
  while (same < a.length && same < b.length && a[same] === b[same]) same++;
  return [...a.slice(same).map(() => '..'), ...b.slice(same)].join('/');
}

function trimmed(path) {
  let end = path.length;
  while (end > 1 && path[end - 1] === '/') end--;
  return path.slice(0, end);
}

function dirname(path) {
  validateString(path, 'path');
  if (path === '') return '.';
  const body = trimmed(path);
  const at = body.lastIndexOf('/');
  if (at < 0) return '.';
  if (at === 0) return '/';
  if (at === 1 && body[0] === '/') return '//';
  return body.slice(0, at);
}

function basename(path, suffix) {
  if (suffix !== undefined) validateString(suffix, 'suffix');
  validateString(path, 'path');
  const body = trimmed(path);
  const base = body === '/' ? '' : body.slice(body.lastIndexOf('/') + 1);
  if (suffix === undefined || base === suffix || !base.endsWith(suffix)) {
    return suffix !== undefined && base === suffix && path === base ? '' : base;
  }
  return base.slice(0, base.length - suffix.length);
}

// Of a last part, whatever separates the parts.
function extensionOf(base) {
  const at = base.lastIndexOf('.');
  return at <= 0 || base === '..' ? '' : base.slice(at);
}
function extname(path) {
  validateString(path, 'path');
  return extensionOf(basename(path));
}

function parse(path) {
  validateString(path, 'path');
  const base = basename(path);
  const ext = extname(path);
  const root = path.startsWith('/') ? '/' : '';
  let dir = dirname(path);
  if (dir === '.' && !trimmed(path).includes('/')) dir = '';
  if (base === '' && root === '/') dir = '/';
  return { root, dir, base, ext, name: ext === '' ? base : base.slice(0, base.length - ext.length) };
}

function formatWith(separator, object) {
  validateObject(object, 'pathObject');
  const dir = object.dir || object.root;
  const ext = object.ext ? (object.ext[0] === '.' ? object.ext : `.${object.ext}`) : '';
  const base = object.base || `${object.name || ''}${ext}`;
  if (!dir) return base;
  return dir === object.root ? `${dir}${base}` : `${dir}${separator}${base}`;
}

const path = {
  sep: '/', delimiter: ':',
  resolve, normalize, join, relative, dirname, basename, extname, parse,
  format(pathObject) { return formatWith('/', pathObject); },
  isAbsolute(value) {
    validateString(value, 'path');
    return value.startsWith('/');
  },
  toNamespacedPath: (value) => value,
};
path.posix = path;
Object.defineProperty(path, Symbol.for('vigil.host'), { value: { extensionOf, formatWith } });
Object.defineProperty(path, 'win32', { enumerable: true, configurable: true, get: () => load('path_win32') });
module.exports = path;
