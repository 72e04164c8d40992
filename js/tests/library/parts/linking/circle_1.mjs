export { z } from './circle_2.mjs';
