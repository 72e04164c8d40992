'use strict';
// Of process, os and -e's neighbours: checks of arguments, users and groups, the environment's properties, what keeps the program alive.
const os = require('os');
function refused(what, call) {
  try {
    console.log(what, call());
  } catch (error) {
    console.log(what, error.name, error.code, error.message);
  }
}
for (const wrong of [[1], [{}], ['', 1], ['', '', []], []]) refused('warning', () => process.emitWarning(...wrong));
for (const wrong of ['9', 'x', {}, -1]) refused('umask', () => process.umask(wrong));
refused('cpu', () => process.cpuUsage(1));
refused('cpu', () => process.cpuUsage({ user: 1 }));
refused('cpu', () => process.cpuUsage({ user: -1, system: 1 }));
refused('env', () => Object.defineProperty(process.env, 'A', { value: 'x' }));
refused('env', () => Object.defineProperty(process.env, 'A', { get() {} }));
console.log(process.env.hasOwnProperty === Object.prototype.hasOwnProperty, process instanceof process.constructor);
for (const name of ['setuid', 'setgid', 'seteuid', 'setegid']) {
  refused(name, () => process[name]({}));
  refused(name, () => process[name]('nobody of that name'));
}
refused('setgroups', () => process.setgroups('x'));
refused('setgroups', () => process.setgroups([1, null]));
refused('initgroups', () => process.initgroups(undefined, 0));
console.log(process.getgroups().every(Number.isInteger), process.argv0.length > 0, process.abort.prototype);
const timer = setTimeout(() => {}, 1000);
setTimeout(() => {}, 1000).unref();
console.log(process.getActiveResourcesInfo().filter((one) => one === 'Timeout'));
clearTimeout(timer);
console.log(process.getActiveResourcesInfo().filter((one) => one === 'Timeout'));

for (const call of [() => { os.EOL = 'x'; }, () => { os.constants.signals.SIGHUP = 2; }]) {
  try {
    call();
  } catch (error) {
    console.log(error.name);
  }
}
console.log(os.constants.priority, os.constants.dlopen, os.getPriority() === os.getPriority(process.pid));
for (const wrong of ['x', 1.5, 2 ** 40]) refused('pid', () => os.getPriority(wrong));
refused('pid', () => os.getPriority(-1));
refused('priority', () => os.setPriority(0, 20));
os.setPriority(os.getPriority());
console.log(os.userInfo({ encoding: 'buffer' }).username.toString() === os.userInfo().username, Object.keys(os.cpus()[0].times).join());
refused('getter', () => os.userInfo({ get encoding() { throw new Error('of the getter'); } }));
