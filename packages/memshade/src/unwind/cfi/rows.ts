/**
 * The interpreted rows of an object as they stand in its sections, in columns. Addresses are offsets from `base`.
 *
 * Row i holds from `starts[i]` to the start of the next row of the same FDE, or to that FDE's end. No row is empty, and
 * those of an FDE ascend.
 */
export class CfiRows {
  /** Address (SVMA) that offsets count from. */
  readonly base: number;
  /** Number of rows. */
  count = 0;
  starts: Uint32Array;
  /** Index of each row's rule set. */
  sets: Uint16Array | Uint32Array;

  fdeCount = 0;
  fdeStarts: Uint32Array;
  /** First offset behind each FDE; 2^32 itself is stored as 2^32 − 1. */
  fdeEnds: Uint32Array;
  /** First row of each FDE; `fdeRows[fdeCount]` is the number of rows. */
  fdeRows: Uint32Array;

  constructor(base: number, sectionBytes: number) {
    this.base = base;
    // Large libraries take about 5.5 bytes per row and 50 per FDE. What is too much is never touched and costs nothing.
    this.starts = new Uint32Array(Math.ceil(sectionBytes / 5) + 64);
    this.sets = new Uint16Array(this.starts.length);
    this.fdeStarts = new Uint32Array(Math.ceil(sectionBytes / 40) + 16);
    this.fdeEnds = new Uint32Array(this.fdeStarts.length);
    this.fdeRows = new Uint32Array(this.fdeStarts.length + 1);
  }

  reserveRows(count: number): void {
    if (this.count + count <= this.starts.length) return;
    const capacity = Math.max(this.count + count, Math.ceil(this.starts.length * 1.5));
    this.starts = withCapacity(this.starts, capacity);
    this.sets = withCapacity(this.sets, capacity);
  }

  addFde(start: number, end: number, firstRow: number): void {
    const index = this.fdeCount++;
    if (index >= this.fdeStarts.length) {
      const capacity = Math.ceil(index * 1.5) + 16;
      this.fdeStarts = withCapacity(this.fdeStarts, capacity);
      this.fdeEnds = withCapacity(this.fdeEnds, capacity);
      this.fdeRows = withCapacity(this.fdeRows, capacity + 1);
    }
    this.fdeStarts[index] = start;
    this.fdeEnds[index] = Math.min(end, 0xffff_ffff);
    this.fdeRows[index] = firstRow;
    this.fdeRows[index + 1] = this.count;
  }

  /** Makes room for indices of rule sets above 65,535. */
  widenSets(): void {
    if (this.sets instanceof Uint16Array) this.sets = Uint32Array.from(this.sets);
  }

  clear(): void {
    this.count = 0;
    this.fdeCount = 0;
  }
}

function withCapacity<T extends Uint16Array | Uint32Array>(array: T, capacity: number): T {
  const larger = new (array.constructor as new (length: number) => T)(capacity);
  larger.set(array);
  return larger;
}
