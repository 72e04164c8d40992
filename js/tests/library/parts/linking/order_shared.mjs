console.log('shared 1'); await new Promise((resolve) => { setTimeout(resolve, 250); }); console.log('shared 2');
