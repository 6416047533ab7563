/** A stretch of code whose size depends on where it lies: a jump, or what an alignment leaves out. */
export type Stretch = { raw: number } & (
  | { kind: "jump"; long: boolean; condition?: unknown }
  | { kind: "alignment"; bytes: number }
);

type Placed = Stretch & { to?: { raw: number; stretches: number } | undefined };

/**
 * How many bytes all stretches before the one of an index take; one entry more than there are stretches. Jumps are short first, and
 * those that do not reach become long until all reach: a long one never becomes short again, so this comes to an end.
 */
export function settle(stretches: readonly Placed[]): readonly number[] {
  const jumps = stretches.map((one) => ({ ...one }));
  const sizeBefore = new Array<number>(jumps.length + 1).fill(0);
  for (let changed = true; changed; ) {
    changed = false;
    jumps.forEach((one, i) => {
      const at = one.raw + sizeBefore[i];
      sizeBefore[i + 1] = sizeBefore[i] + sizeOf(one, at);
    });
    jumps.forEach((one, i) => {
      if (one.kind !== "jump" || one.long || one.to === undefined) return;
      const distance = one.to.raw + sizeBefore[one.to.stretches] - (one.raw + sizeBefore[i + 1]);
      if (distance === (distance << 24) >> 24) return;
      one.long = true;
      changed = true;
    });
  }
  return sizeBefore;
}

function sizeOf(one: Placed, at: number): number {
  if (one.kind === "alignment") return (one.bytes - (at % one.bytes)) % one.bytes;
  if (!one.long) return 2;
  return one.condition === undefined ? 5 : 6;
}
