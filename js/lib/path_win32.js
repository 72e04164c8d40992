// SPDX-License-Identifier: MIT
// path.win32: paths of Windows, for programs that handle them elsewhere. There is one current folder, and no drive has its own.
'use strict';

const posix = load('path');
const { extensionOf, formatWith } = posix[Symbol.for('vigil.host')];
const { validateString } = load('errors');

const isSeparator = (letter) => letter === '/' || letter === '\\';
const isDrive = (letter) => letter !== undefined && /^[a-zA-Z]$/.test(letter);

// A path as [device, absolute, length of both]. A device is "c:" or "\\server\share".
function rootOf(path, spaces = false) {
  if (isSeparator(path[0])) {
    if (!isSeparator(path[1])) return ['', true, 1];
    // Two separators, a name, separators, a name.
    let at = 2;
    while (at < path.length && !isSeparator(path[at])) at++;
    if (at === 2 || at === path.length) return ['', true, 1];
    const server = path.slice(2, at);
    let start = at;
    while (start < path.length && isSeparator(path[start])) start++;
    if (start === path.length) return ['', true, 1];
    if (spaces && (server === '.' || server === '?')) return [`\\\\${server}`, true, 4]; // devices have a space of names
    let end = start;
    while (end < path.length && !isSeparator(path[end])) end++;
    return [`\\\\${server}\\${path.slice(start, end)}`, true, Math.min(end + 1, path.length), end === path.length];
  }
  if (isDrive(path[0]) && path[1] === ':') {
    const absolute = isSeparator(path[2]);
    return [path.slice(0, 2), absolute, absolute ? 3 : 2];
  }
  return ['', false, 0];
}

function clean(rest, absolute) {
  const parts = [];
  for (const part of rest.split(/[\\/]/)) {
    if (part === '' || part === '.') continue;
    if (part !== '..') parts.push(part);
    else if (parts.length > 0 && parts[parts.length - 1] !== '..') parts.pop();
    else if (!absolute) parts.push('..');
  }
  return parts.join('\\');
}

function resolve(...args) {
  let device = '';
  let tail = '';
  let absolute = false;
  for (let i = args.length - 1; i >= -1 && !(absolute && device !== ''); i--) {
    let path = i >= 0 ? args[i] : process.cwd();
    if (i >= 0) validateString(path, `paths[${i}]`);
    if (path === '') continue;
    const [itsDevice, itsAbsolute, length] = rootOf(path, true);
    if (itsDevice !== '') {
      if (device !== '' && itsDevice.toLowerCase() !== device.toLowerCase()) continue; // of another drive
      device ||= itsDevice;
    }
    if (absolute) continue;
    tail = `${path.slice(length)}\\${tail}`;
    absolute = itsAbsolute;
  }
  const rest = clean(tail, absolute);
  return absolute ? `${device}\\${rest}` : `${device}${rest}` || '.';
}

function normalize(path) {
  validateString(path, 'path');
  if (path === '') return '.';
  const [device, absolute, length, whole] = rootOf(path, true);
  if (path.length === 1) return isSeparator(path) ? '\\' : path;
  if (whole) return `${device}\\`;
  let rest = length < path.length ? clean(path.slice(length), absolute) : '';
  if (rest === '' && !absolute) rest = '.';
  if (rest !== '' && isSeparator(path[path.length - 1])) rest += '\\';
  // What was relative stays so: a part that looks like a drive must not come first.
  if (device === '' && !absolute && (/^[a-zA-Z]:/.test(rest) || /:([\\/]|$)/.test(path))) return `.\\${rest}`;
  if (device === '') return absolute ? `\\${rest}` : rest;
  return absolute ? `${device}\\${rest}` : `${device}${rest}`;
}

function isAbsolute(path) {
  validateString(path, 'path');
  return isSeparator(path[0]) || (isDrive(path[0]) && path[1] === ':' && isSeparator(path[2]));
}

function join(...args) {
  for (const arg of args) validateString(arg, 'path');
  const parts = args.filter((arg) => arg !== '');
  if (parts.length === 0) return '.';
  const joined = parts.join('\\');
  // Only a first part that begins with two separators and a name means a server.
  const lead = /^[\\/]+/.exec(parts[0]);
  const slashes = lead === null ? 0 : lead[0].length;
  if (slashes === 2 && parts[0].length > 2) return normalize(joined);
  return normalize(joined.replace(/^[\\/]{2,}/, '\\'));
}

function relative(from, to) {
  validateString(from, 'from');
  validateString(to, 'to');
  if (from === to) return '';
  const a = resolve(from);
  const b = resolve(to);
  if (a === b || a.toLowerCase() === b.toLowerCase()) return '';
  const first = a.split('\\').filter(Boolean);
  const second = b.split('\\').filter(Boolean);
  let same = 0;
  while (same < first.length && same < second.length && first[same].toLowerCase() === second[same].toLowerCase()) same++;
  if (same === 0) return b;
  return [...first.slice(same).map(() => '..'), ...second.slice(same)].join('\\');
}

function toNamespacedPath(path) {
  if (typeof path !== 'string' || path === '') return path;
  const full = resolve(path);
  if (full.length <= 2) return path;
  if (full.startsWith('\\\\')) return full[2] === '?' || full[2] === '.' ? full : `\\\\?\\UNC\\${full.slice(2)}`;
  return isDrive(full[0]) && full[1] === ':' && full[2] === '\\' ? `\\\\?\\${full}` : path;
}

// Where the path's last part begins and ends; nothing of the root.
function lastPart(path, root) {
  let end = path.length;
  while (end > root && isSeparator(path[end - 1])) end--;
  let start = end;
  while (start > root && !isSeparator(path[start - 1])) start--;
  return [start, end];
}

function dirname(path) {
  validateString(path, 'path');
  if (path === '') return '.';
  if (path.length === 1) return isSeparator(path) ? path : '.';
  const [device, , length, whole] = rootOf(path);
  if (whole) return path;
  const root = device !== '' || length > 0 ? length : 0;
  const [start] = lastPart(path, root);
  if (start > root) return path.slice(0, start - 1);
  return root === 0 ? '.' : path.slice(0, root);
}

function basename(path, suffix = undefined) {
  if (suffix !== undefined) validateString(suffix, 'suffix');
  validateString(path, 'path');
  const root = isDrive(path[0]) && path[1] === ':' ? 2 : 0;
  const [start, end] = lastPart(path, root);
  const base = path.slice(start, end);
  if (suffix === undefined || suffix === '' || !base.endsWith(suffix)) return base;
  if (base === suffix) return path.length === suffix.length ? '' : base;
  return base.slice(0, base.length - suffix.length);
}

function extname(path) {
  validateString(path, 'path');
  return extensionOf(basename(path));
}

function parse(path) {
  validateString(path, 'path');
  const [device, , length, whole] = rootOf(path);
  const root = path.slice(0, length);
  if (path.length === 1 && isSeparator(path)) return { root: path, dir: path, base: '', ext: '', name: '' };
  if (whole || path.length === length) return { root, dir: root, base: '', ext: '', name: '' };
  const [start, end] = lastPart(path, device !== '' || length > 0 ? length : 0);
  const base = path.slice(start, end);
  const ext = extensionOf(base);
  const dir = start > length ? path.slice(0, start - 1) : root;
  return { root, dir, base, ext, name: ext === '' ? base : base.slice(0, base.length - ext.length) };
}

const win32 = {
  sep: '\\', delimiter: ';',
  format(pathObject) { return formatWith('\\', pathObject); },
  resolve, normalize, join, relative, dirname, basename, extname, parse, isAbsolute, toNamespacedPath, posix,
};
win32.win32 = win32;
module.exports = win32;
