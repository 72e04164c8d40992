// A FinalizationRegistry's callback runs in a turn of the loop, and its promises with it.
let collected = 0;
const registry = new FinalizationRegistry((held) => {
  if (held !== 'small') throw new Error(held);
  if (++collected === 1) Promise.resolve().then(() => console.log('reaction'));
});
for (let i = 0; i < 1000; i++) registry.register({ i }, 'small');
let waste;
(function again() {
  waste = []; for (let i = 0; i < 1e5; i++) waste = [waste, i];
  if (collected === 0) setImmediate(again);
  else setImmediate(() => console.log('collected'));
})();
