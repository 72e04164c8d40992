export * from './way_1.mjs'; export * from './way_2.mjs';
