import { partitionPoint } from "../../ground/bytes/partition-point.ts";
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
 * How static data was used:
 *
 * - `hot`: one of the fewest that have 99 % of all accesses to static data;
 * - `cold`: accessed less than those;
 * - `unread`: written, never read;
 * - `untouched`: neither read nor written;
 * - `uncounted`: code knows it whose accesses are not counted, such as the allocator's.
 */
type StaticUse = "hot" | "cold" | "unread" | "untouched" | "uncounted";

/** What static data is called, and where it is declared. */
interface StaticSymbolName {
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
const HOT_PART = 0.99;
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
  const told = objects.reduce((sum, object) => sum + object.accesses, 0);
  const bytes = placed.reduce((sum, { start, end }) => sum + end - start, 0);
  return { objects, bytes, elsewhere: cells.accesses - told };
}

type Use = Pick<StaticObject, "accesses" | "use" | "untouchedBytes" | "unreadBytes">;

/** A stretch of memory, `end` exclusive. */
interface Stretch {
  readonly start: number;
  readonly end: number;
}

/** Without a name, what is accessed and what is not are told apart from so many bytes on. */
const LEAST_CUT = 64;

/** The cells of a module that were accessed. */
class CellTable {
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

/** Something that has a part of a module's static data: nothing overlaps another. */
interface PlacedData {
  readonly kind: "variable" | "literal" | "unnamed";
  readonly name: string;
  readonly linkageName?: string | undefined;
  readonly file?: string | undefined;
  /** 0 where it is not known. */
  readonly line: number;
  readonly start: number;
  /** Behind its last byte. */
  readonly end: number;
  /** Of data without a name: the last address before it that has one, but no size. */
  readonly behind?: Label | undefined;
}

/** A name for an address, which may be of one byte or of many. */
interface Label {
  readonly name: string;
  readonly address: number;
}

/** Less space between variables is there for their alignment. */
const LEAST_SPACE = 16;
const LITERAL = "string literal";

/**
 * What lies in a module's static data, by address: variables that debug information knows, then symbols of the module, and in
 * what is left of the data the space between them, named by its segment. A name has what its size tells: without one, nobody knows where it
 * ends, and it only says where data without a name begins.
 */
function placeVariables(module: StaticsOfModule, variables: readonly StaticVariable[] = []): PlacedData[] {
  const all = [
    ...variables.map(describe),
    ...module.symbols.map((symbol) => ({ ...symbol, kind: "variable" as const, line: 0 })),
  ].sort((a, b) => a.address - b.address);
  return withSpaces(
    module,
    withoutOverlaps(module, all),
    all.filter(({ bytes }) => bytes === undefined),
  );
}

/** What data without a name is called: `.rodata+0x40`, and by which name that has no size it lies. */
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

/** Of several at one address the first stays. */
function withoutOverlaps(module: StaticsOfModule, sorted: readonly Candidate[]): PlacedData[] {
  const placed: PlacedData[] = [];
  for (const { address, bytes = 0, ...candidate } of sorted) {
    if (address < Math.max(module.start, placed.at(-1)?.end ?? 0)) continue;
    const end = Math.min(module.end, address + bytes);
    if (end > address) placed.push({ ...candidate, start: address, end });
  }
  return placed;
}

/** Behind the last segment. */
function endOfData({ segments, start }: StaticsOfModule): number {
  return Math.max(start, ...segments.map((segment) => segment.start + segment.bytes));
}

/** Adds what lies between, in whole cells: what fills one up is taken for the padding of what is before or behind it. Labels part it. */
function withSpaces(
  module: StaticsOfModule,
  named: readonly PlacedData[],
  labels: readonly Label[],
): PlacedData[] {
  const { cellBytes } = module;
  const end = Math.min(module.end, endOfData(module));
  const segmentAt = segmentsBefore(module);
  // Nothing is said of what lies in another segment than a name.
  const endAround = (address: number): number => {
    const { start = address, bytes = 0 } = segmentAt(address) ?? {};
    return address < start + bytes ? start + bytes : end;
  };
  const all: PlacedData[] = [];
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
        all.push({ kind: "unnamed", name: nameIn(segmentAt(start), start), line: 0, start, end, behind });
      start = end;
    }
  };
  for (const data of named) {
    space(Math.min(cellOf(data.start), end));
    all.push(data);
    at = Math.max(at, Math.ceil(data.end / cellBytes) * cellBytes);
  }
  space(end);
  return all;
}

/** The segment that begins at or before an address. Between segments lie zeros; some programs have tens of thousands. */
function segmentsBefore({ segments }: StaticsOfModule): (address: number) => StaticSegment | undefined {
  const sorted = [...segments].sort((a, b) => a.start - b.start);
  return (address) => sorted[partitionPoint(0, sorted.length, (row) => sorted[row].start <= address) - 1];
}

/** Names an address by that: `.rodata+0x40`. */
function nameIn(segment: StaticSegment | undefined, address: number): string {
  if (segment === undefined) return `0x${address.toString(16)}`;
  const { name = `segment ${segment.index}`, start } = segment;
  return `${name}+0x${(address - start).toString(16)}`;
}

/** Of one symbol, in all runs together. */
export interface SymbolUse {
  readonly accesses: number;
  /** Nobody read or wrote it in any run. */
  readonly isUntouched: boolean;
  readonly places: readonly SymbolPlace[];
}

interface SymbolPlace {
  readonly file: string;
  readonly line: number;
}

/**
 * LLVM's data access profile of runs. The compiler takes every symbol with a record for hot, so there are records of those alone that
 * have 99 % of all accesses; known to be cold are those that no run touched. What shares 8 bytes counts as accessed as often as the
 * others there.
 */
export function dataAccessProfile(reports: readonly StaticsReport[]): DataAccessProfile {
  return profileOfSymbols(reports.flatMap((report) => [...symbolUses(report)]));
}

/** What a run says of its symbols, by the names that the compiler has for them. */
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

/** As {@link dataAccessProfile}, of the symbols of all runs. */
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

/** Each symbol once. */
function together(uses: Iterable<readonly [string, SymbolUse]>): Map<string, SymbolUse> {
  const symbols = new Map<string, SymbolUse>();
  for (const [name, use] of uses) {
    const known = symbols.get(name);
    symbols.set(
      name,
      known === undefined
        ? use
        : {
            accesses: known.accesses + use.accesses,
            isUntouched: known.isUntouched && use.isUntouched,
            places: distinct([...known.places, ...use.places]),
          },
    );
  }
  return symbols;
}

function distinct(places: readonly SymbolPlace[]): SymbolPlace[] {
  return [...new Map(places.map((place) => [`${place.line} ${place.file}`, place])).values()];
}

/** As the compiler names it; a variable inside of a C function is that function's. */
function symbolOf({ name, linkageName }: StaticSymbolName): string {
  return linkageName ?? name.replaceAll("::", ".");
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
