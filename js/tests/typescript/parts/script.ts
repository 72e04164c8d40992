// SPDX-License-Identifier: MIT
const path: typeof import('node:path') = require('node:path');
module.exports = { name: path.basename(__filename) as string };
