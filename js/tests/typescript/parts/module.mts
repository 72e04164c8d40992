// SPDX-License-Identifier: MIT
export const name: string = import.meta.filename.replace(/.*\//, '');
