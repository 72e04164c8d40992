import { a, hoisted, late } from '../../linking.mjs';
import * as ns from '../../linking.mjs';
export const seen = [];
export const attempts = [];
for (const look of [() => a, () => hoisted(), () => late, () => ns.a, () => ns.hoisted()]) {
  try {
    seen.push(look());
  } catch (error) {
    seen.push(error.name);
  }
}
for (const change of [() => { ns.a = 7; }, () => { ns.more = 7; }, () => { delete ns.a; }]) {
  try {
    change();
    attempts.push('done');
  } catch (error) {
    attempts.push(error.name);
  }
}
export const getA = () => a;
