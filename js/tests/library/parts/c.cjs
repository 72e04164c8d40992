exports.named= 'n'; exports.other= 2 ;
