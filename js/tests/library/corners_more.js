// SPDX-License-Identifier: MIT
// Corners of node:buffer, string_decoder, url, dns, fs and process where programs noticed a difference from Node.
'use strict';
const fs = require('fs');
const os = require('os');
const path = require('path');
const url = require('url');
const dns = require('dns');
const { execFileSync, spawnSync } = require('child_process');
const { StringDecoder } = require('string_decoder');
const show = (name, call) => {
  try {
    console.log(name, call());
  } catch (error) {
    console.log(name, error.name, error.code, error.message);
  }
};

show('encoding that is no text', () => Buffer.from('asd', 1).toString());
show('no buffer', () => Buffer.prototype.lastIndexOf.call({}, 1));

// Half of the second unit is there: the first one is given.
const decoder = new StringDecoder('utf16le');
show('surrogates', () => [decoder.write(Buffer.from('3dd84d', 'hex')), decoder.write(Buffer.from('dc', 'hex')), decoder.end()].map(escape));

for (const text of ['http://x.y.com+a/b/c', 'http://a.com:8080/p?q#h', 'http://[::1]:80/x', 'http://a$b!c/']) {
  show(text, () => url.parse(text).host);
}
// A host with a NUL: Node 20 drops the rest of it in silence; here it is none.
let thrown;
try {
  url.parse('http://a\0b/');
} catch (error) {
  thrown = error.code;
}
console.log(process.versions.vigil === undefined || thrown === 'ERR_INVALID_URL');
for (const text of ['http://[127.0.0.1\0c8763]:8000/', 'http://a b/']) show(escape(text), () => url.parse(text).host);

for (const options of [{ timeout: null }, { timeout: '2' }, { tries: 0 }, { timeout: 5 }]) {
  show(JSON.stringify(options), () => typeof new dns.Resolver(options).resolve);
}
show('holes', () => {
  const resolver = new dns.Resolver();
  const servers = ['127.0.0.1'];
  servers[2] = '127.0.0.2';
  resolver.setServers(servers);
  return resolver.getServers();
});
show('servers of a busy resolver', () => {
  const resolver = new dns.Resolver();
  resolver.setServers(['127.0.0.1:9']);
  resolver.resolve4('localhost', () => {});
  try {
    resolver.setServers(['127.0.0.1']);
    return 'set';
  } catch (error) {
    return [error.code, error.message];
  } finally {
    resolver.cancel();
  }
});

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'corners-'));
show('folder beside one that is not there', () => {
  fs.mkdirSync(`${folder}/a/../b/c`, { recursive: true });
  return [fs.readdirSync(folder), fs.existsSync(`${folder}/a/../b/c`)];
});
fs.rmSync(folder, { recursive: true });

show('addon', () => {
  try {
    process.dlopen({ exports: {} }, '/nowhere.node');
  } catch (error) {
    return error.code;
  }
});
show('no such file of the environment', () => {
  try {
    process.loadEnvFile();
  } catch (error) {
    return [error.code, error.path];
  }
});
const run = (text, ...words) => spawnSync(process.execPath, [...words, '-e', text], { encoding: 'utf8' });
show('status of a listener', () => run('process.on("exit", () => { process.exitCode = 0; }); throw new Error("x")').status);
show('status without one', () => run('process.on("exit", () => {}); throw new Error("x")').status);
show('value of the environment', () => execFileSync(process.execPath, ['--pending-deprecation', '-e',
  'process.on("warning", (w) => console.log(w.code)); process.env.A = 1; process.env.B = undefined; process.env.C = null'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
show('least version', () => execFileSync(process.execPath, ['--tls-min-v1.3', '-p', 'tls.DEFAULT_MIN_VERSION'], { encoding: 'utf8' }));
show('two least versions', () => execFileSync(process.execPath, ['--tls-min-v1.1', '--tls-min-v1.0', '-p', 'tls.DEFAULT_MIN_VERSION'], { encoding: 'utf8' }));
show('greatest version', () => execFileSync(process.execPath, ['--tls-max-v1.2', '-p', 'tls.DEFAULT_MAX_VERSION'], { encoding: 'utf8' }));
show('both', () => run('', '--tls-min-v1.3', '--tls-max-v1.2').status);
show('ciphers', () => execFileSync(process.execPath, ['--tls-cipher-list=ABC', '-p', 'tls.DEFAULT_CIPHERS'], { encoding: 'utf8' }));
show('copy of the environment', () => {
  process.env.CORNER = 'x';
  return structuredClone(process.env).CORNER;
});
show('resolved', () => [['https:#h'], ['https:/p/a?s#h'], ['ftp:'], ['c']].map(([to]) => url.resolve('http://e.com/b', to)));
