import { partitionPoint } from "../../../ground/bytes/partition-point.ts";
import type { StaticVariable } from "../../../profile/model/statics/named-statics.ts";
import type { StaticSegment, StaticsOfModule } from "../../../profile/model/statics/statics.ts";

/** Something that has a part of a module's static data: nothing overlaps another. */
export interface PlacedData {
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
export function placeVariables(
  module: StaticsOfModule,
  variables: readonly StaticVariable[] = [],
): PlacedData[] {
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
export function placeName({ name, start, behind }: PlacedData): string {
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
