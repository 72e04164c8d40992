import { cyc, late } from './e.mjs'; export function g() { return typeof cyc + late; }
