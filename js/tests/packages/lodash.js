const _ = require('lodash');
console.log(_.chunk([1, 2, 3, 4, 5], 2), _.groupBy(['one', 'two', 'three'], 'length'), _.get({ a: [{ b: 1 }] }, 'a[0].b'), _.cloneDeep({ a: new Date(0) }));
console.log(_.template('hi <%= name %>')({ name: 'x' }), _.isEqual({ a: [1] }, { a: [1] }), _.camelCase('foo bar-baz'), _.sortBy([{ a: 2 }, { a: 1 }], 'a'));
const t = _.throttle(() => console.log('throttled'), 1000000, { trailing: false }); t(); t(); t.cancel();
// One after the other: which of two timers ends first is the machine's choice.
_.defer(() => {
  console.log('deferred');
  const d = _.debounce(() => console.log('debounced'), 10); d(); d();
});
