import type { StaticVariable } from "../../model/statics/named-statics.ts";
import type { StaticsOfModule } from "../../model/statics/statics.ts";

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
}

/** Less space between variables is there for their alignment. */
const LEAST_SPACE = 16;
const LITERAL = "string literal";

/**
 * What lies in a module's static data, by address: variables that debug information knows, then symbols of the module, and in
 * what is left of the data the space between them, named by its segment.
 */
export function placeVariables(
  module: StaticsOfModule,
  variables: readonly StaticVariable[] = [],
): PlacedData[] {
  const named = withoutOverlaps(module, [
    ...variables.map(describe),
    ...module.symbols.map(({ name, address, bytes }) => ({
      kind: "variable" as const,
      name,
      line: 0,
      address,
      bytes,
    })),
  ]);
  return withSpaces(module, named);
}

interface Candidate extends Omit<PlacedData, "start" | "end"> {
  readonly address: number;
  readonly bytes: number | undefined;
}

function describe({ name, ...variable }: StaticVariable): Candidate {
  return { ...variable, kind: name === undefined ? "literal" : "variable", name: name ?? LITERAL };
}

/** Of several at one address the first with a size stays; one without a size ends where the next begins. */
function withoutOverlaps(module: StaticsOfModule, all: readonly Candidate[]): PlacedData[] {
  const isIn = ({ address, bytes }: Candidate): boolean =>
    address >= module.start && address < module.end && bytes !== 0;
  // The sort is stable.
  const sorted = all
    .filter(isIn)
    .sort((a, b) => a.address - b.address || Number(a.bytes === undefined) - Number(b.bytes === undefined));
  const placed: PlacedData[] = [];
  let next = 0;
  for (const { address, bytes, ...candidate } of sorted) {
    while (next < sorted.length && sorted[next].address <= address) next++;
    if (address < (placed.at(-1)?.end ?? 0)) continue;
    const behind = sorted[next]?.address ?? endOfData(module);
    const end = Math.min(module.end, bytes === undefined ? behind : address + bytes);
    if (end > address) placed.push({ ...candidate, start: address, end });
  }
  return placed;
}

/** Behind the last segment. */
function endOfData({ segments, start }: StaticsOfModule): number {
  return Math.max(start, ...segments.map((segment) => segment.start + segment.bytes));
}

/** Adds what lies between, in whole cells: what fills one up is taken for the padding of what is before or behind it. */
function withSpaces(module: StaticsOfModule, named: readonly PlacedData[]): PlacedData[] {
  const { cellBytes } = module;
  const end = Math.min(module.end, endOfData(module));
  const nameAt = segmentNames(module);
  const all: PlacedData[] = [];
  let at = module.start;
  const space = (to: number): void => {
    if (to - at >= LEAST_SPACE) all.push({ kind: "unnamed", name: nameAt(at), line: 0, start: at, end: to });
  };
  for (const data of named) {
    space(Math.min(Math.floor(data.start / cellBytes) * cellBytes, end));
    all.push(data);
    at = Math.max(at, Math.ceil(data.end / cellBytes) * cellBytes);
  }
  space(end);
  return all;
}

/** Names an address by the segment that begins at or before it: `.rodata+0x40`. Between segments lie zeros. */
function segmentNames({ segments }: StaticsOfModule): (address: number) => string {
  const sorted = [...segments].sort((a, b) => a.start - b.start);
  return (address) => {
    const segment = sorted.findLast(({ start }) => start <= address);
    if (segment === undefined) return `0x${address.toString(16)}`;
    const { name = `segment ${segment.index}`, start } = segment;
    return `${name}+0x${(address - start).toString(16)}`;
  };
}
