import { cyc } from './parts/e.mjs'; console.log(cyc());
