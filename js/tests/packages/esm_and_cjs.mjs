import _ from 'lodash';
import semver, { satisfies } from 'semver';
import { createRequire } from 'node:module';
import mustache from 'mustache';
const require = createRequire(import.meta.url);
console.log(_.sum([1, 2]), satisfies('1.0.0', '1.x'), semver === require('semver'), mustache.render('{{a}}', { a: 1 }));
console.log((await import('async')).default !== undefined, import.meta.resolve('semver').endsWith('semver/index.js'));
