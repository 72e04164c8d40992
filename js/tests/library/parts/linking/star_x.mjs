export * from './star_y.mjs'; export const p = 'p';
