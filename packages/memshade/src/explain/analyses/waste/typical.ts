/** From a part, 0…1, to another one. */
export type PartRange = readonly [from: number, to: number];

/**
 * What real programs waste: the middle half of the seventeen of `bench/typical/run.ts`, whose table is in docs/tools/waste.md. Dead
 * bytes of those written, silent stores of all, loads of all that repeat.
 */
export const TYPICAL_SHARES: Readonly<Record<"dead" | "silent" | "redundant", PartRange>> = {
  dead: [0.07, 0.26],
  silent: [0.15, 0.27],
  redundant: [0.65, 0.76],
};
