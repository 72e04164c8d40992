import './order_shared.mjs'; console.log('last 1'); await 0; console.log('last 2');
