import { partitionPoint } from "../../ground/bytes/columns.ts";
import {
  canonicalSymbol,
  type DataAccessProfile,
  type DataAccessRecord,
} from "../../profile/model/memprof/index.ts";
import type {
  NamedStatics,
  StaticSegment,
  StaticsFile,
  StaticsOfModule,
  StaticVariable,
} from "../../profile/model/statics.ts";

/**
 * Use of static data:
 *
 * - `hot`: one of the fewest objects that have 99 % of all accesses to static data;
 * - `cold`: accessed less than those;
 * - `unread`: written, never read;
 * - `untouched`: neither read nor written;
 * - `uncounted`: referenced by code whose accesses are not counted, such as the allocator's.
 */
type StaticUse = "hot" | "cold" | "unread" | "untouched" | "uncounted";

interface StaticSymbolName {
  /** Name such as `crc_table` or `.rodata+0x40`; `hits, misses` for variables that share 8 bytes. */
  readonly name: string;
  readonly linkageName?: string | undefined;
  readonly file?: string | undefined;
  readonly line: number;
}

/** Variable, literal, unnamed stretch of data, or a few bytes that several of them share. */
export interface StaticObject extends StaticSymbolName {
  /** Index of the module. */
  readonly module: number;
  /** Kind of the data; "shared": 8 bytes of several variables. */
  readonly kind: PlacedData["kind"] | "shared";
  readonly members?: readonly StaticSymbolName[];
  readonly address: number;
  /** Size. */
  readonly bytes: number;
  /** Counted accesses. */
  readonly accesses: number;
  /** Use of the data by the run. */
  readonly use: StaticUse;
  /** Bytes that were certainly neither read nor written, and bytes that were written and certainly not read. */
  readonly untouchedBytes: number;
  readonly unreadBytes: number;
  /**
   * True if the module file contains at least part of it. Zeros are not contained, and systems allocate no memory for
   * untouched ones.
   */
  readonly isBrought: boolean;
}

export interface StaticsReport {
  readonly objects: readonly StaticObject[];
  /**
   * Size of all objects. Part of it was neither read nor written (`untouchedBytes`), or written only (`unreadBytes`): at
   * least so much ([static data](concepts.md#static-data)).
   */
  readonly bytes: number;
  readonly untouchedBytes: number;
  readonly unreadBytes: number;
  /** Accesses to all objects. */
  readonly accesses: number;
  /**
   * Counted accesses elsewhere between the first segment and the heap: to unnamed zeroed data, and to a stack in that
   * range.
   */
  readonly elsewhere: number;
  readonly atLeast: boolean;
}

/** LLVM's limit: objects that together have this part of all accesses are hot. */
const HOT_PART = 0.99;
/** Count from which a counter may have wrapped before. */
const NEARLY_FULL = 2 ** 30;

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
    const { start, end, behind: _, ...names } = data;
    const isBrought = module.segments.some((at) => at.start < end && start < at.start + at.bytes);
    const name = placeName(data);
    objects.push({
      module: module.module,
      ...names,
      name,
      address: start,
      bytes: end - start,
      ...used,
      isBrought,
    });
  }
  const byStart = new Map(placed.map((data) => [data.start, data]));
  for (const [key, { accesses, cells: members }] of shared) {
    const owners = key.split(",").map((start) => byStart.get(Number(start)) as PlacedData);
    const reads = members.some((cell) => cells.isRead(cell));
    const bytes = members.length * module.cellBytes;
    objects.push({
      module: module.module,
      kind: "shared",
      name: owners.map(placeName).join(", "),
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
  const objectAccesses = objects.reduce((sum, object) => sum + object.accesses, 0);
  const bytes = placed.reduce((sum, { start, end }) => sum + end - start, 0);
  return { objects, bytes, elsewhere: cells.accesses - objectAccesses };
}

type Use = Pick<StaticObject, "accesses" | "use" | "untouchedBytes" | "unreadBytes">;

/** Address range; `end` is exclusive. */
interface Stretch {
  readonly start: number;
  readonly end: number;
}

/** Least size for which unnamed data is divided into accessed and untouched pieces. */
const LEAST_CUT = 64;

class CellTable {
  readonly accesses: number;
  readonly #bytes: number;
  readonly #spread: number;
  readonly #uncounted: readonly number[];
  /** Numbers of the cells, ascending, and their values in the file. */
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

  /** Returns true if the cell is read, or may be. */
  isRead(cell: number): boolean {
    return (this.#valueOf(cell) ?? -1) >= 0;
  }

  isUncounted({ start, end }: Stretch): boolean {
    const first = partitionPoint(0, this.#uncounted.length, (row) => this.#uncounted[row] < start);
    return first < this.#uncounted.length && this.#uncounted[first] < end;
  }

  /**
   * Yields accessed cells that contain several data objects, with these. The data must be sorted and without overlaps.
   */
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

  /** Returns the use of data, judged by the cells that it shares with no other data; undefined if there are none. */
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
      // A loop's reads are recorded only at its last cell.
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

  /** Divides unnamed data into accessed pieces and certainly untouched ones. */
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

  /**
   * Returns the parts of the data that are farther from all (sorted) stretches than an access may be from its counting
   * cell.
   */
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

function renamed({ name, start }: PlacedData, address: number): string {
  const plus = name.lastIndexOf("+0x");
  const offset = Number.parseInt(name.slice(plus + 3), 16);
  return plus < 0
    ? `0x${address.toString(16)}`
    : `${name.slice(0, plus)}+0x${(offset + address - start).toString(16)}`;
}

/** Named part of a module's static data. Parts do not overlap. */
interface PlacedData {
  readonly kind: "variable" | "literal" | "unnamed";
  readonly name: string;
  readonly linkageName?: string | undefined;
  readonly file?: string | undefined;
  readonly line: number;
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
  /** Last address before unnamed data that has a name but no size. */
  readonly behind?: Label | undefined;
}

interface Label {
  readonly name: string;
  readonly address: number;
}

/** Least space between variables that is not taken for alignment. */
const LEAST_SPACE = 16;
const LITERAL = "string literal";

/**
 * Determines the contents of a module's static data, by address: variables from debug information, then symbols of the
 * module, then unnamed data between them, named by its segment. A symbol without a size has an unknown end; it only
 * labels the unnamed data after it.
 */
function placeVariables(module: StaticsOfModule, variables: readonly StaticVariable[] = []): PlacedData[] {
  const candidates = [
    ...variables.map(describe),
    ...module.symbols.map((symbol) => ({ ...symbol, kind: "variable" as const, line: 0 })),
  ].sort((a, b) => a.address - b.address);
  return withSpaces(
    module,
    withoutOverlaps(module, candidates),
    candidates.filter(({ bytes }) => bytes === undefined),
  );
}

/** Returns the name of unnamed data: `.rodata+0x40`, and its position relative to a symbol without a size. */
function placeName({ name, start, behind }: PlacedData): string {
  if (behind === undefined) return name;
  return start <= behind.address ? `${name}, from ${behind.name} on` : `${name}, behind ${behind.name}`;
}

interface Candidate extends Omit<PlacedData, "start" | "end"> {
  readonly address: number;
  readonly bytes?: number | undefined;
}

function describe({ name, ...variable }: StaticVariable): Candidate {
  return { ...variable, kind: name === undefined ? "literal" : "variable", name: name ?? LITERAL };
}

/** Removes overlaps; the first of several parts at one address stays. */
function withoutOverlaps(module: StaticsOfModule, sorted: readonly Candidate[]): PlacedData[] {
  const placed: PlacedData[] = [];
  for (const { address, bytes = 0, ...candidate } of sorted) {
    if (address < Math.max(module.start, placed.at(-1)?.end ?? 0)) continue;
    const end = Math.min(module.end, address + bytes);
    if (end > address) placed.push({ ...candidate, start: address, end });
  }
  return placed;
}

function endOfData({ segments, start }: StaticsOfModule): number {
  return Math.max(start, ...segments.map((segment) => segment.start + segment.bytes));
}

/**
 * Adds unnamed data between the parts, in whole cells. A rest within a cell counts as padding of its neighbours. Labels
 * divide the data.
 */
function withSpaces(
  module: StaticsOfModule,
  named: readonly PlacedData[],
  labels: readonly Label[],
): PlacedData[] {
  const { cellBytes } = module;
  const end = Math.min(module.end, endOfData(module));
  const segmentAt = segmentsBefore(module);
  // A label names no data in other segments.
  const endAround = (address: number): number => {
    const { start = address, bytes = 0 } = segmentAt(address) ?? {};
    return address < start + bytes ? start + bytes : end;
  };
  const placed: PlacedData[] = [];
  let at = module.start;
  let label = 0;
  const cellOf = (address: number): number => Math.floor(address / cellBytes) * cellBytes;
  const space = (to: number): void => {
    while (label < labels.length && labels[label].address < at) label++;
    for (let start = at; start < to; ) {
      let behind: Label | undefined;
      if (label < labels.length && cellOf(labels[label].address) <= start) behind = labels[label++];
      while (label < labels.length && cellOf(labels[label].address) <= start) label++;
      const end = Math.min(
        to,
        label < labels.length ? cellOf(labels[label].address) : to,
        behind === undefined ? to : Math.ceil(endAround(behind.address) / cellBytes) * cellBytes,
      );
      if (end - start >= LEAST_SPACE || behind !== undefined)
        placed.push({ kind: "unnamed", name: nameIn(segmentAt(start), start), line: 0, start, end, behind });
      start = end;
    }
  };
  for (const data of named) {
    space(Math.min(cellOf(data.start), end));
    placed.push(data);
    at = Math.max(at, Math.ceil(data.end / cellBytes) * cellBytes);
  }
  space(end);
  return placed;
}

/**
 * Returns a lookup of the segment that begins at or before an address. Zeros lie between segments; some programs have
 * tens of thousands of segments.
 */
function segmentsBefore({ segments }: StaticsOfModule): (address: number) => StaticSegment | undefined {
  const sorted = [...segments].sort((a, b) => a.start - b.start);
  return (address) => sorted[partitionPoint(0, sorted.length, (row) => sorted[row].start <= address) - 1];
}

function nameIn(segment: StaticSegment | undefined, address: number): string {
  if (segment === undefined) return `0x${address.toString(16)}`;
  const { name = `segment ${segment.index}`, start } = segment;
  return `${name}+0x${(address - start).toString(16)}`;
}

export interface SymbolUse {
  readonly accesses: number;
  /** True if it was neither read nor written in any run. */
  readonly isUntouched: boolean;
  readonly places: readonly SymbolPlace[];
}

interface SymbolPlace {
  readonly file: string;
  readonly line: number;
}

/**
 * Builds LLVM's data access profile of runs. The compiler treats every symbol with a record as hot, so only symbols
 * with 99 % of all accesses get records. Symbols that no run touched are known to be cold. A symbol that shares 8 bytes
 * with others counts their accesses too.
 */
export function dataAccessProfile(reports: readonly StaticsReport[]): DataAccessProfile {
  return profileOfSymbols(reports.flatMap((report) => [...symbolUses(report)]));
}

export function symbolUses({ objects }: StaticsReport): Map<string, SymbolUse> {
  return together(
    objects.flatMap((object) =>
      namesOf(object).map((name): [string, SymbolUse] => [
        symbolOf(name),
        { accesses: object.accesses, isUntouched: object.use === "untouched", places: placesOf(name) },
      ]),
    ),
  );
}

export function profileOfSymbols(uses: Iterable<readonly [string, SymbolUse]>): DataAccessProfile {
  const symbols = together(uses);
  const ranked = [...symbols].sort(([a, x], [b, y]) => y.accesses - x.accesses || compare(a, b));
  const total = ranked.reduce((sum, [, { accesses }]) => sum + accesses, 0);
  const hot = new Map<string, DataAccessRecord>();
  let seen = 0;
  for (const [name, { accesses, places }] of ranked) {
    if (accesses === 0 || seen >= total * HOT_PART) break;
    seen += accesses;
    const symbol = canonicalSymbol(name);
    const before = hot.get(symbol);
    hot.set(symbol, {
      symbol,
      accessCount: BigInt(Math.round(accesses)) + (before?.accessCount ?? 0n),
      locations: [...(before?.locations ?? []), ...places],
    });
  }
  return {
    records: [...hot.values()].sort((a, b) => compare(String(a.symbol), String(b.symbol))),
    coldSymbols: ranked.flatMap(([name, { isUntouched }]) => (isUntouched ? [name] : [])).sort(compare),
    coldHashes: [],
  };
}

function namesOf(object: StaticObject): readonly StaticSymbolName[] {
  if (object.kind === "shared") return object.members ?? [];
  return object.kind === "variable" ? [object] : [];
}

function placesOf({ file, line }: StaticSymbolName): SymbolPlace[] {
  return file !== undefined && line > 0 ? [{ file, line }] : [];
}

function together(uses: Iterable<readonly [string, SymbolUse]>): Map<string, SymbolUse> {
  const symbols = new Map<string, SymbolUse>();
  for (const [name, use] of uses) {
    const existing = symbols.get(name);
    symbols.set(
      name,
      existing === undefined
        ? use
        : {
            accesses: existing.accesses + use.accesses,
            isUntouched: existing.isUntouched && use.isUntouched,
            places: distinct([...existing.places, ...use.places]),
          },
    );
  }
  return symbols;
}

function distinct(places: readonly SymbolPlace[]): SymbolPlace[] {
  return [...new Map(places.map((place) => [`${place.line} ${place.file}`, place])).values()];
}

/** Returns the compiler's name; a variable inside of a C function has the function's prefix. */
function symbolOf({ name, linkageName }: StaticSymbolName): string {
  return linkageName ?? name.replaceAll("::", ".");
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
