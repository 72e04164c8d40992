// SPDX-License-Identifier: MIT
// node:dns without a name server: what the system knows by itself, arguments, servers.
'use strict';
const dns = require('dns');
const log = (...args) => console.log(...args);
const thrown = (run) => {
  try {
    run();
    log('no error');
  } catch (error) {
    log(error.name, error.code, error.message.split('\n')[0]);
  }
};
(async () => {
  log(await dns.promises.lookup('localhost', { family: 4 }));
  log(await dns.promises.lookup('127.0.0.1', { all: true }));
  log(await require('dns/promises').lookup('::1'));
  await new Promise((resolve) => dns.lookup('localhost', 4, (...args) => resolve(log(...args))));
  await new Promise((resolve) => dns.lookup('localhost', { all: true, family: 4 }, (error, list) => resolve(log(error, list[0]))));
  log((await require('util').promisify(dns.lookup)('localhost', 4)).address);
  thrown(() => dns.lookup(1, () => {}));
  thrown(() => dns.lookup('x', { family: 5 }, () => {}));
  thrown(() => dns.lookup('x', { hints: 100000 }, () => {}));
  thrown(() => dns.resolve('x', 'NONE', () => {}));
  thrown(() => dns.resolve4('x'));
  thrown(() => dns.lookupService('x', 1, () => {}));
  thrown(() => dns.setServers(['x']));
  thrown(() => dns.reverse('x', () => {}));
  const resolver = new dns.Resolver();
  resolver.setServers(['1.2.3.4', '1.2.3.5:54', '[::1]:55', '::2']);
  log(resolver.getServers());
  log(dns.getDefaultResultOrder(), dns.NOTFOUND, typeof dns.promises.Resolver);
  const refused = new dns.promises.Resolver({ tries: 1, timeout: 1000 });
  const taken = require('net').createServer().listen(0, '127.0.0.1', async () => {
    refused.setServers([`127.0.0.1:${taken.address().port}`]);
    await refused.resolve4('vigil.example').catch((error) => log(error.code, error.syscall, error.hostname, error.message));
    taken.close();
  });
})();
