import { g } from './f.mjs'; export function cyc() { return 'cyc' + g(); } export const late = 1;
