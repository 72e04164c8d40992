// SPDX-License-Identifier: MIT
// System errors: "ENOENT: no such file or directory, open 'x'", with errno, code, syscall, path and dest.
'use strict';

function make(number, syscall, path, dest) {
  const names = binding.errorName(-number);
  const code = names[0];
  const text = names[1];
  let message = `${code}: ${text}, ${syscall}`;
  if (path !== undefined) message += ` '${path}'`;
  if (dest !== undefined) message += ` -> '${dest}'`;
  const error = new Error(message);
  error.errno = number;
  error.code = code;
  error.syscall = syscall;
  if (path !== undefined) error.path = `${path}`;
  if (dest !== undefined) error.dest = `${dest}`;
  return error;
}

module.exports = { make };
