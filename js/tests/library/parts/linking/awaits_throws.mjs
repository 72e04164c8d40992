import './throws.mjs'; await 0; console.log('never');
