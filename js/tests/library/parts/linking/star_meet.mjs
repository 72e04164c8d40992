export * from './star_1.mjs'; export * from './star_2.mjs'; export const own = 'mine';
