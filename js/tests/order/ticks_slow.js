// Ticks that take so long together that timers come due in their midst: each runs once, in order, and nothing breaks.
const ticks = [];
let timers = 0;
let immediates = 0;
const spin = (ms) => { for (const end = Date.now() + ms; Date.now() < end;); };
for (let i = 0; i < 1000; i++) {
  process.nextTick((x) => { ticks.push(x); if (x % 300 === 299) spin(60); }, i);
  setTimeout(() => timers++, 1);
  setImmediate(() => immediates++);
}
process.on('uncaughtException', (error) => console.log('thrown', error.message));
process.on('exit', () => {
  console.log(ticks.length, ticks.every((x, i) => x === i), timers, immediates);
});
