import './cycle_throws_2.mjs'; console.log('never');
