console.log('plain, before the other goes on');
