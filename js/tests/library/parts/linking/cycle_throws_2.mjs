import './cycle_throws_1.mjs'; console.log('cycle'); throw new Error('in a cycle');
