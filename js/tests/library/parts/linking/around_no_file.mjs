import './no_file.mjs'; export const around = 1;
