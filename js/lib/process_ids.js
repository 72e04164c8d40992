// SPDX-License-Identifier: MIT
// Users and groups of the process: setuid and its kin, which few programs call.
'use strict';

const { codes, validateInteger, validateString } = load('errors');

function check(id, name) {
  if (typeof id === 'number') validateInteger(id, name, 0, 4294967295);
  else if (typeof id !== 'string') throw new codes.ERR_INVALID_ARG_TYPE(name, ['number', 'string'], id);
}
// A name, or a number, as a number.
function numberOf(id, name, ofGroup) {
  check(id, name);
  if (typeof id === 'number') return id;
  const found = binding.idOf(id, ofGroup ? 1 : 0);
  if (found < 0) throw new codes.ERR_UNKNOWN_CREDENTIAL(ofGroup ? 'Group' : 'User', id);
  return found;
}
function done(result, syscall) {
  if (result >= 0) return;
  const { code } = load('net_link').errnoError(result, syscall);
  const text = load('util').getSystemErrorMap().get(result)?.[1] ?? 'unknown error';
  throw Object.assign(new Error(`${code}, ${text[0].toUpperCase()}${text.slice(1)}`), { errno: -result, code, syscall });
}
['setuid', 'seteuid', 'setgid', 'setegid'].forEach((name, which) => {
  module.exports[name] = (id) => done(binding.setId(which, numberOf(id, 'id', which > 1)), name);
});
module.exports.getgroups = () => {
  const groups = binding.getgroups();
  if (typeof groups === 'number') done(groups, 'getgroups');
  const own = binding.getegid();
  return groups.includes(own) ? groups : [...groups, own];
};
module.exports.setgroups = (groups) => {
  if (!Array.isArray(groups)) throw new codes.ERR_INVALID_ARG_TYPE('groups', 'Array', groups);
  groups.forEach((group, i) => check(group, `groups[${i}]`));
  done(binding.setgroups(...groups.map((group, i) => numberOf(group, `groups[${i}]`, true))), 'setgroups');
};
module.exports.initgroups = (user, extraGroup) => {
  check(user, 'user');
  check(extraGroup, 'extraGroup');
  const group = numberOf(extraGroup, 'extraGroup', true);
  if (typeof user === 'number') {
    const line = `${binding.readText('/etc/passwd')}`.split('\n').find((one) => one.split(':')[2] === `${user}`);
    if (line === undefined) throw new codes.ERR_UNKNOWN_CREDENTIAL('User', user);
    [user] = line.split(':');
  } else {
    numberOf(user, 'user', false);
  }
  validateString(user, 'user');
  done(binding.initgroups(user, group), 'initgroups');
};
