const semver = require('semver');
console.log(semver.satisfies('1.2.3', '^1.0.0'), semver.inc('1.2.3', 'minor'), semver.sort(['2.0.0', '1.0.0-beta', '1.0.0']), semver.coerce('v3.4 replaces v3.3.1').version, semver.validRange('>=1 <2 || 3'));
console.log(require('semver/functions/parse')('1.2.3-a.1+b'), require('semver/package.json').name);
try { new semver.SemVer('nope'); } catch (e) { console.log(e.name, e.message); }
