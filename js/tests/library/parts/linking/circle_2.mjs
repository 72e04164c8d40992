export { z } from './circle_1.mjs';
