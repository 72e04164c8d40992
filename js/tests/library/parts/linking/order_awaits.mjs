console.log('awaits 1'); await 0; console.log('awaits 2'); await 0; console.log('awaits 3');
