import { partitionPoint } from "../../bytes/partition-point.ts";
import type { StaticsOfModule } from "../../model/statics/statics.ts";
import type { PlacedData } from "./place-variables.ts";
import type { StaticObject } from "./static-objects.ts";

type Use = Pick<StaticObject, "accesses" | "use" | "untouchedBytes" | "unreadBytes">;

/** A stretch of memory, `end` exclusive. */
interface Stretch {
  readonly start: number;
  readonly end: number;
}

/** Without a name, what is accessed and what is not are told apart from so many bytes on. */
const LEAST_CUT = 64;

/** The cells of a module that were accessed. */
export class CellTable {
  /** Sum of all. */
  readonly accesses: number;
  readonly #bytes: number;
  readonly #spread: number;
  readonly #uncounted: readonly number[];
  /** Numbers of the cells, ascending, and what the file has of each. */
  readonly #cells: number[] = [];
  readonly #values: number[] = [];

  constructor({ runs, cellBytes, uncounted }: StaticsOfModule, spreadBytes: number) {
    this.#bytes = cellBytes;
    this.#spread = spreadBytes;
    this.#uncounted = uncounted;
    let accesses = 0;
    for (const { address, cells } of runs)
      cells.forEach((value, index) => {
        this.#cells.push(address / cellBytes + index);
        this.#values.push(value);
        accesses += Math.abs(value);
      });
    this.accesses = accesses;
  }

  accessesOf(cell: number): number {
    return Math.abs(this.#valueOf(cell) ?? 0);
  }

  /** Whether something reads it, or may. */
  isRead(cell: number): boolean {
    return (this.#valueOf(cell) ?? -1) >= 0;
  }

  isUncounted({ start, end }: Stretch): boolean {
    const first = partitionPoint(0, this.#uncounted.length, (row) => this.#uncounted[row] < start);
    return first < this.#uncounted.length && this.#uncounted[first] < end;
  }

  /** Cells that were accessed and in which several of the data lie, with these; data is sorted and does not overlap. */
  *sharedBy(placed: readonly PlacedData[]): Generator<[number, PlacedData[]]> {
    let first = 0;
    for (const cell of this.#cells) {
      const start = cell * this.#bytes;
      while (first < placed.length && placed[first].end <= start) first++;
      const owners: PlacedData[] = [];
      for (let row = first; row < placed.length && placed[row].start < start + this.#bytes; row++)
        owners.push(placed[row]);
      if (owners.length > 1) yield [cell, owners];
    }
  }

  /** How data was used, by the cells that it shares with nobody; undefined where there are none of these. */
  use(data: PlacedData, shared: ReadonlySet<number>): Use | undefined {
    const { start, end } = data;
    const touched: Stretch[] = [];
    const read: Stretch[] = [];
    let accesses = 0;
    let isAnyRead = false;
    let sharedBytes = 0;
    for (const [cell, value] of this.#within(data)) {
      const stretch = this.#stretchOf(cell, data);
      touched.push(stretch);
      if (shared.has(cell)) {
        sharedBytes += stretch.end - stretch.start;
        if (value >= 0) read.push(stretch);
        continue;
      }
      accesses += Math.abs(value);
      isAnyRead ||= value > 0;
      // Whether the loop that went over it reads shows at its last place.
      if (value >= 0) read.push(stretch);
    }
    if (sharedBytes === end - start) return undefined;
    if (this.isUncounted(data)) return { accesses, use: "uncounted", untouchedBytes: 0, unreadBytes: 0 };
    const untouchedBytes = this.#bytesOutside(data, touched);
    if (touched.length === 0) return { accesses, use: "untouched", untouchedBytes, unreadBytes: 0 };
    if (!isAnyRead && sharedBytes === 0)
      return { accesses, use: "unread", untouchedBytes, unreadBytes: end - start - untouchedBytes };
    const unreadBytes = Math.max(0, this.#bytesOutside(data, read) - untouchedBytes);
    return { accesses, use: "cold", untouchedBytes, unreadBytes };
  }

  /** Data without a name in pieces that were accessed and pieces that certainly were not. */
  cut(data: PlacedData): PlacedData[] {
    const touched = [...this.#within(data)].map(([cell]) => this.#stretchOf(cell, data));
    const outside = this.#outside(data, touched).filter(
      ({ start, end }) => touched.length === 0 || end - start >= Math.max(LEAST_CUT, this.#spread),
    );
    const pieces: PlacedData[] = [];
    let at = data.start;
    const add = (end: number): void => {
      if (end > at) pieces.push({ ...data, name: renamed(data, at), start: at, end });
      at = end;
    };
    for (const { start, end } of outside) {
      add(start);
      add(end);
    }
    add(data.end);
    return pieces;
  }

  *#within({ start, end }: Stretch): Generator<[number, number]> {
    const from = Math.floor(start / this.#bytes);
    const first = partitionPoint(0, this.#cells.length, (row) => this.#cells[row] < from);
    for (let row = first; row < this.#cells.length && this.#cells[row] * this.#bytes < end; row++)
      yield [this.#cells[row], this.#values[row]];
  }

  #stretchOf(cell: number, { start, end }: Stretch): Stretch {
    return { start: Math.max(start, cell * this.#bytes), end: Math.min(end, (cell + 1) * this.#bytes) };
  }

  #bytesOutside(data: Stretch, stretches: readonly Stretch[]): number {
    return this.#outside(data, stretches).reduce((sum, { start, end }) => sum + end - start, 0);
  }

  /** What of the data lies farther from all of the stretches, which are sorted, than accesses may be from where they are counted. */
  #outside({ start, end }: Stretch, stretches: readonly Stretch[]): Stretch[] {
    const outside: Stretch[] = [];
    let at = start;
    for (const stretch of stretches) {
      const to = stretch.start - this.#spread;
      if (to > at) outside.push({ start: at, end: to });
      at = Math.max(at, stretch.end + this.#spread);
    }
    if (end > at) outside.push({ start: at, end });
    return outside;
  }

  #valueOf(cell: number): number | undefined {
    const row = partitionPoint(0, this.#cells.length, (each) => this.#cells[each] < cell);
    return this.#cells[row] === cell ? this.#values[row] : undefined;
  }
}

/** The name of data without one, from another address on. */
function renamed({ name, start }: PlacedData, address: number): string {
  const plus = name.lastIndexOf("+0x");
  const offset = Number.parseInt(name.slice(plus + 3), 16);
  return plus < 0
    ? `0x${address.toString(16)}`
    : `${name.slice(0, plus)}+0x${(offset + address - start).toString(16)}`;
}
