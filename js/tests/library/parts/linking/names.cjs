exports.b = 1; exports.c = 2;
