console.log('once'); throw new RangeError('thrown');
