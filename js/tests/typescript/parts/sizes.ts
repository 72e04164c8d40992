// SPDX-License-Identifier: MIT
export interface Round { kind: 'round'; radius: number }
export interface Square { kind: 'square'; side: number }
export const factor: number = 3;
