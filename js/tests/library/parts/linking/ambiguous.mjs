import { both } from './star_meet.mjs'; console.log(both);
