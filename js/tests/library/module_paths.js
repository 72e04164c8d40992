// Where modules are looked for.
'use strict';
const Module = require('module');
const path = require('path');
console.log(Module._nodeModulePaths('/'));
console.log(Module._nodeModulePaths('/a/b'));
console.log(Module._nodeModulePaths('/a/node_modules/b/node_modules'));
console.log(Module._nodeModulePaths('/a/../b/./c/'));
console.log(Module._nodeModulePaths('/my_node_modules/x'));
const near = Module._nodeModulePaths('below');
console.log(near[0] === path.join(process.cwd(), 'below', 'node_modules'), near.at(-1));
console.log(module.paths[0] === path.join(__dirname, 'node_modules'), module.paths.at(-1));
console.log(require.resolve('./parts/../module_paths.js') === __filename);
const elsewhere = Module.createRequire('/tmp/../etc/x.js');
console.log(elsewhere.resolve.paths('x').slice(0, 2)); // further ones are those of this machine
console.log(elsewhere.resolve.paths('fs'), require.resolve.paths('./x')[0] === __dirname);
