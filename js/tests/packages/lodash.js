const _ = require('lodash');
console.log(_.chunk([1, 2, 3, 4, 5], 2), _.groupBy(['one', 'two', 'three'], 'length'), _.get({ a: [{ b: 1 }] }, 'a[0].b'), _.cloneDeep({ a: new Date(0) }));
console.log(_.template('hi <%= name %>')({ name: 'x' }), _.isEqual({ a: [1] }, { a: [1] }), _.camelCase('foo bar-baz'), _.sortBy([{ a: 2 }, { a: 1 }], 'a'));
const d = _.debounce(() => console.log('debounced'), 10); d(); d(); const t = _.throttle(() => console.log('throttled'), 10, { trailing: false }); t(); t();
_.defer(() => console.log('deferred'));
