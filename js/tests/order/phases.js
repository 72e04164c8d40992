// Timers, immediates, I/O callbacks: which phase follows which, with a checkpoint after every callback.
const fs = require('fs');
const log = (...a) => console.log(...a);
const spin = (ms) => { const t = Date.now(); while (Date.now() - t < ms); };
fs.stat(__filename, () => {
  log('io');
  setTimeout(() => log('timer from io'), 0);
  setImmediate(() => {
    log('immediate 1');
    spin(5);
    process.nextTick(() => log('tick of immediate 1'));
    Promise.resolve().then(() => log('micro of immediate 1'));
    setImmediate(() => log('immediate of immediate 1'));
  });
  setImmediate(() => log('immediate 2'));
  process.nextTick(() => log('tick of io'));
  Promise.resolve().then(() => log('micro of io'));
  setTimeout(() => {
    for (let i = 0; i < 3; i++) {
      setTimeout(() => {
        log('timer', i);
        process.nextTick(() => log('tick of timer', i));
        Promise.resolve().then(() => log('micro of timer', i)).then(() => log('micro 2 of timer', i));
        if (i === 1) setTimeout(() => log('timer of timer'), 0);
        if (i === 2) setImmediate(() => log('immediate of timer'));
      }, 1);
    }
    spin(5);
  }, 5);
});
