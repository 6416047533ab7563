import type { NamedStatics } from "../../model/statics/named-statics.ts";
import type { StaticsFile, StaticsOfModule } from "../../model/statics/statics.ts";
import { CellTable } from "./cell-table.ts";
import { type PlacedData, placeVariables } from "./place-variables.ts";

/**
 * How static data was used:
 *
 * - `hot`: one of the fewest that have 99 % of all accesses to static data;
 * - `cold`: accessed less than those;
 * - `unread`: written, never read;
 * - `untouched`: neither read nor written;
 * - `uncounted`: code knows it whose accesses are not counted, such as the allocator's.
 */
export type StaticUse = "hot" | "cold" | "unread" | "untouched" | "uncounted";

/** What static data is called, and where it is declared. */
export interface StaticSymbolName {
  /** `crc_table`, `.rodata+0x40`; of what shares 8 bytes `hits, misses`. */
  readonly name: string;
  readonly linkageName?: string | undefined;
  readonly file?: string | undefined;
  /** 0 where it is not known. */
  readonly line: number;
}

/** A variable, a literal, a stretch of data without a name, or the few bytes that several of them share. */
export interface StaticObject extends StaticSymbolName {
  /** Index in the run. */
  readonly module: number;
  readonly kind: PlacedData["kind"] | "shared";
  /** The variables that share the bytes. */
  readonly members?: readonly StaticSymbolName[];
  readonly address: number;
  readonly bytes: number;
  readonly accesses: number;
  readonly use: StaticUse;
  /** Bytes that certainly nobody read or wrote, and bytes that were written and certainly not read. */
  readonly untouchedBytes: number;
  readonly unreadBytes: number;
  /** The module brings all of it or a part: zeros it does not bring, and systems give no memory to what nobody touches of them. */
  readonly isBrought: boolean;
}

/** The static data of a run: who has it, and who was accessed. */
export interface StaticsReport {
  /** The most accessed first. */
  readonly objects: readonly StaticObject[];
  /** Of all of it. */
  readonly bytes: number;
  readonly untouchedBytes: number;
  readonly unreadBytes: number;
  /** Of all objects. */
  readonly accesses: number;
  /** What else was counted between the first segment and the heap: to zeroed data without a name, and to a stack that lies there. */
  readonly elsewhere: number;
  /** Counters may have wrapped: accesses are at least as many. */
  readonly atLeast: boolean;
}

/** LLVM's limit: what has these parts of all counts together is hot. */
export const HOT_PART = 0.99;
/** Counters this full may have wrapped before. */
const NEARLY_FULL = 2 ** 30;

/** What of a run's static data was accessed, by variable. */
export function staticsReport({ file, variables }: NamedStatics): StaticsReport {
  const found = file.modules.map((module) => objectsOf(module, file, variables.get(module.module)));
  const objects = found
    .flatMap(({ objects: each }) => each)
    .sort(
      (a, b) => b.accesses - a.accesses || b.bytes - a.bytes || a.module - b.module || a.address - b.address,
    );
  const sum = (figure: (object: StaticObject) => number): number =>
    objects.reduce((total, object) => total + figure(object), 0);
  const accesses = sum((object) => object.accesses);
  return {
    objects: markHot(objects, accesses),
    bytes: found.reduce((total, each) => total + each.bytes, 0),
    untouchedBytes: sum(({ untouchedBytes }) => untouchedBytes),
    unreadBytes: sum(({ unreadBytes }) => unreadBytes),
    accesses,
    elsewhere: found.reduce((total, { elsewhere }) => total + elsewhere, 0),
    atLeast: file.modules.some(mayHaveWrapped),
  };
}

function mayHaveWrapped({ wrapsAt, runs }: StaticsOfModule): boolean {
  return (
    wrapsAt !== undefined && runs.some(({ cells }) => cells.some((cell) => Math.abs(cell) > NEARLY_FULL))
  );
}

/** `objects`: the most accessed first. */
function markHot(objects: readonly StaticObject[], accesses: number): StaticObject[] {
  let seen = 0;
  return objects.map((object) => {
    const isHot = object.use === "cold" && seen < accesses * HOT_PART;
    seen += object.accesses;
    return isHot ? { ...object, use: "hot" as const } : object;
  });
}

function objectsOf(
  module: StaticsOfModule,
  { spreadBytes }: StaticsFile,
  variables: Parameters<typeof placeVariables>[1],
): { objects: StaticObject[]; bytes: number; elsewhere: number } {
  const cells = new CellTable(module, spreadBytes);
  const placed = placeVariables(module, variables).flatMap((data) =>
    data.kind === "unnamed" ? cells.cut(data) : [data],
  );
  const objects: StaticObject[] = [];
  const shared = new Map<string, { accesses: number; cells: number[] }>();
  for (const [cell, owners] of cells.sharedBy(placed)) {
    const key = owners.map(({ start }) => start).join();
    const group = shared.get(key) ?? { accesses: 0, cells: [] };
    group.accesses += cells.accessesOf(cell);
    group.cells.push(cell);
    shared.set(key, group);
  }
  const isShared = new Set([...shared.values()].flatMap((group) => group.cells));
  for (const data of placed) {
    const used = cells.use(data, isShared);
    if (used === undefined) continue;
    const { start, end, ...names } = data;
    const isBrought = module.segments.some((at) => at.start < end && start < at.start + at.bytes);
    objects.push({ module: module.module, ...names, address: start, bytes: end - start, ...used, isBrought });
  }
  const byStart = new Map(placed.map((data) => [data.start, data]));
  for (const [key, { accesses, cells: members }] of shared) {
    const owners = key.split(",").map((start) => byStart.get(Number(start)) as PlacedData);
    const reads = members.some((cell) => cells.isRead(cell));
    const bytes = members.length * module.cellBytes;
    objects.push({
      module: module.module,
      kind: "shared",
      name: owners.map(({ name }) => name).join(", "),
      members: owners
        .filter(({ kind }) => kind === "variable")
        .map(({ name, linkageName, file, line }) => ({ name, linkageName, file, line })),
      file: owners[0].file,
      line: owners[0].line,
      address: members[0] * module.cellBytes,
      bytes,
      accesses,
      use: owners.some((data) => cells.isUncounted(data)) ? "uncounted" : reads ? "cold" : "unread",
      untouchedBytes: 0,
      unreadBytes: 0,
      isBrought: true,
    });
  }
  const told = objects.reduce((sum, object) => sum + object.accesses, 0);
  const bytes = placed.reduce((sum, { start, end }) => sum + end - start, 0);
  return { objects, bytes, elsewhere: cells.accesses - told };
}
