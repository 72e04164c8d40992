// Many of each at once keep their order.
let out = [];
for (let i = 0; i < 3000; i++) { process.nextTick((x) => out.push(`t${x}`), i); queueMicrotask(() => out.push(`m${i}`)); setTimeout((x) => out.push(`T${x}`), 1 + i % 3, i); setImmediate((x) => out.push(`i${x}`), i); }
process.on('exit', () => {
  const of = (c) => out.filter((s) => s[0] === c).map((s) => +s.slice(1));
  const sorted = (a) => a.every((x, i) => i === 0 || a[i - 1] < x);
  console.log(of('t').length, sorted(of('t')), of('m').length, sorted(of('m')), of('i').length, sorted(of('i')), of('T').length);
  for (const k of [0, 1, 2]) console.log(sorted(of('T').filter((x) => x % 3 === k)));
});
