const parse = require('yargs-parser');
console.log(parse('--port 90 -vvx --no-color --name=a --list 1 --list 2 rest -- tail', { boolean: ['v', 'x'], number: ['port'], alias: { port: ['p'] }, count: ['v'] }));
console.log(parse(['--a.b.c', '1', '--camel-case', 'x', '--arr', '1', '2', '3'], { array: ['arr'], configuration: { 'parse-numbers': false } }));
console.log(parse.detailed('--bad', { narg: { bad: 2 } }).error?.message);
