// SPDX-License-Identifier: MIT
import type { Missing } from './there_is_no_such_file.ts';
import { type Round, type Square, factor } from './sizes.ts';

export type Shape = Round | Square;
export const Kind = { round: 'round', square: 'square' } as const;
export abstract class Base<T extends Shape = Shape> implements Iterable<T> {
  declare hidden: T;
  readonly #list: T[] = [];
  protected abstract size(): number;
  static of<U>(this: void, ...list: U[]): U[] { return list; }
  *[Symbol.iterator](): Iterator<T> { yield* this.#list; }
}
export function area(shape: Shape): number;
export function area(shape: Shape, scale?: number): number {
  return shape.kind === Kind.round ? shape.radius! ** 2 * factor : (shape as Square).side ** 2;
}
export const first = <T,>(list: readonly T[]): T => list[0] satisfies T;
const unused: Missing | undefined = undefined;
let later!: string
type After = string
;[later] = ['x']
export default [{ kind: 'round', radius: 2 }, { kind: 'square', side: 3 }] as Shape[];
export { unused as nothing, type After };
