/**
 * Probabilities are numbers of 12 bits, `4096 p`; their logistic form, `256 ln(p / (1 - p))`, is from -2047 to 2047.
 */

/** `4096 / (1 + exp(-x / 256))` for x from -2048 on, 128 apart; between them lines. */
const KNOTS = [
  1, 2, 4, 6, 10, 17, 27, 45, 74, 120, 194, 311, 488, 747, 1102, 1546, 2048, 2550, 2994, 3349, 3608, 3785,
  3902, 3976, 4022, 4051, 4069, 4079, 4086, 4090, 4092, 4094, 4095,
];

/** The probability that belongs to a logistic form, at least 1 and at most 4095. */
export function squash(x: number): number {
  const place = Math.max(-2047, Math.min(2047, x)) + 2048;
  const knot = place >> 7;
  const part = place & 127;
  return (KNOTS[knot]! * (128 - part) + KNOTS[knot + 1]! * part + 64) >> 7;
}

/** By probability: the least x whose `squash` is not smaller; 2047 where there is none. */
export const STRETCH = stretchTable();

function stretchTable(): Int16Array {
  const table = new Int16Array(4096).fill(2047);
  let next = 0;
  for (let x = -2047; x <= 2047; x++) {
    const probability = squash(x);
    while (next <= probability) table[next++] = x;
  }
  return table;
}
