import { dataSymbols, decodeModule, readNames, type WasmModule } from "../../../../code/wasm/index.ts";
import { MERGED_BYTES } from "../../../../profile/model/run.ts";
import {
  STATICS_SCHEMA,
  STATICS_VERSION,
  type StaticRun,
  type StaticSegment,
  type StaticsFile,
  type StaticsOfModule,
} from "../../../../profile/model/statics.ts";
import type { StaticPlaces } from "../../options.ts";
import type { StaticCounts } from "./read-statics.ts";
import { segmentStart } from "./segment-start.ts";

const GRANULE_BYTES = 8;
const WIDEST_BYTES = 16;
/** Most cells of a module in the file. If more were accessed, cells are made larger. */
const MOST_CELLS = 65_536;
const COUNTER_LIMIT = 2 ** 31 - 1;

export interface CountedModule {
  readonly index: number;
  readonly original: Uint8Array;
  readonly statics: StaticPlaces;
  readonly instances: readonly StaticCounts[];
}

export function staticsFile(
  modules: readonly CountedModule[],
  counters: "merged" | "exact",
): StaticsFile | undefined {
  if (modules.length === 0) return undefined;
  return {
    schema: STATICS_SCHEMA,
    version: STATICS_VERSION,
    counters,
    spreadBytes: counters === "exact" ? 0 : MERGED_BYTES + WIDEST_BYTES,
    modules: modules.map(describe),
  };
}

export function staticAccesses({ modules }: StaticsFile): number {
  let sum = 0;
  for (const { runs } of modules)
    for (const { cells } of runs) for (const cell of cells) sum += Math.abs(cell);
  return sum;
}

function describe({ index, original, statics, instances }: CountedModule): StaticsOfModule {
  const end = Math.min(statics.end, ...instances.map((counts) => counts.end));
  const { cells, initialization } = addUp(instances, statics, end);
  const { cellBytes, cells: boundedCells } = bounded(cells);
  const module = decodeModule(original);
  const isIn = ({ start }: StaticSegment): boolean => start >= statics.start && start < end;
  return {
    module: index,
    start: statics.start,
    end,
    segments: segmentsOf(module, statics).filter(isIn),
    symbols: dataSymbols(module).filter(({ address }) => address >= statics.start && address < end),
    uncounted: statics.uncounted.filter((address) => address < end),
    ...(instances.every(({ isWatched }) => isWatched) ? {} : { wrapsAt: COUNTER_LIMIT }),
    initialization,
    cellBytes,
    runs: runsOf(boundedCells, cellBytes),
  };
}

/** Signed counts by cell number, as in the file. */
type Cells = Map<number, number>;

/** Adds up the counts of all instances, without the writes that initialized the data. */
function addUp(
  instances: readonly StaticCounts[],
  { written }: StaticPlaces,
  end: number,
): { cells: Cells; initialization: number } {
  const cells: Cells = new Map();
  let initialization = 0;
  const isWritten = (granule: number): boolean =>
    written.some((range) => {
      const first = Math.floor(range.start / GRANULE_BYTES);
      return granule >= first && granule < first + Math.ceil((range.end - range.start) / GRANULE_BYTES);
    });
  for (const { granules, accesses, reads } of instances)
    granules.forEach((granule, row) => {
      if (granule * GRANULE_BYTES >= end) return;
      let count = accesses[row];
      if (count > 0 && written.length > 0 && isWritten(granule)) {
        initialization++;
        count--;
        if (count === 0) return;
      }
      const cell = reads[row] ? count : -count;
      cells.set(granule, joined(cells.get(granule), cell));
    });
  return { cells, initialization };
}

/** Adds two cells. The sum is a read cell if either is. */
function joined(a: number | undefined, b: number): number {
  if (a === undefined) return b;
  const sum = Math.abs(a) + Math.abs(b);
  return a > 0 || b > 0 ? sum : -sum || 0;
}

function bounded(cells: Cells): { cellBytes: number; cells: Cells } {
  let cellBytes = GRANULE_BYTES;
  while (cells.size > MOST_CELLS) {
    cellBytes *= 2;
    const wider: Cells = new Map();
    for (const [cell, count] of cells) wider.set(cell >>> 1, joined(wider.get(cell >>> 1), count));
    cells = wider;
  }
  return { cellBytes, cells };
}

function runsOf(cells: Cells, cellBytes: number): StaticRun[] {
  const runs: StaticRun[] = [];
  let next = -1;
  for (const [cell, count] of [...cells].sort(([a], [b]) => a - b)) {
    if (cell !== next) runs.push({ address: cell * cellBytes, cells: [] });
    runs.at(-1)?.cells.push(count === 0 ? 0 : count);
    next = cell + 1;
  }
  return runs;
}

function segmentsOf(module: WasmModule, statics: StaticPlaces): StaticSegment[] {
  const { data } = readNames(module);
  return module.data.flatMap((segment, index): StaticSegment[] => {
    const start = segmentStart(module, index, statics);
    const bytes = segment.end - segment.start;
    const name = data.get(index);
    if (start === undefined || bytes === 0) return [];
    return [{ index, ...(name === undefined ? {} : { name }), start, bytes }];
  });
}
