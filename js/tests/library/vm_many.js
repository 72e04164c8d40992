// Contexts that nobody needs any more are collected: ten thousand of them would not fit otherwise.
const vm = require('node:vm');
let sum = 0;
const step = (n) => {
  for (let i = 0; i < 20; i++) sum += vm.runInNewContext('var a = new Array(10000).fill(b); function f() { return a.length; } f()', { b: n });
  if (n < 15) setImmediate(step, n + 1);
  else console.log(sum);
};
step(1);
