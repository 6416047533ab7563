import { grown } from "../../ground/bytes/grown.ts";
import { partitionPoint } from "../../ground/bytes/partition-point.ts";
import type { SourceMapLookup, SourcePlace } from "../symbolize/symbolizer.ts";
import { damaged, type PlainMap, sourceMapSections, tracing } from "./source-map-parts.ts";

/** AssemblyScript's compiler calls its own library so. */
function isCompilersLibrary({ file }: SourcePlace): boolean {
  return /(^|\/)~lib\//.test(file);
}

/**
 * Reads a source map, version 3, indexed ones too. Columns are offsets in the module's file, and everything is on the first line.
 *
 * @throws FormatError if it is none, or damaged
 */
export function readSourceMap(bytes: Uint8Array): SourceMapLookup {
  const places = new Places();
  for (const { line, column, map } of sourceMapSections(textOf(bytes)))
    if (line === 0) places.add(map, column);
  places.sort();
  const standIns = places.standInSources();
  const placeOf = (at: number): SourcePlace | undefined => {
    const place = places.at(at);
    return place === undefined || standIns.has(place.source) ? undefined : place.place;
  };
  return (fileOffset, from = fileOffset) => {
    const last = partitionPoint(0, places.length, (at) => places.offsetAt(at) <= fileOffset) - 1;
    if (last < 0) return undefined;
    const earlier = (isWanted: (place: SourcePlace) => boolean): SourcePlace | undefined => {
      for (let at = last - 1; at >= 0 && places.offsetAt(at) >= from; at--) {
        const place = placeOf(at);
        if (place !== undefined && isWanted(place)) return { ...place, approximate: true };
      }
      return undefined;
    };
    const place = placeOf(last) ?? earlier(() => true);
    if (place === undefined || !isCompilersLibrary(place)) return place;
    const outer = earlier((other) => !isCompilersLibrary(other));
    return outer === undefined ? place : { ...place, outer };
  };
}

function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder().decode(bytes);
  } catch {
    // Engines have a longest text.
    throw damaged("it is too large", "unsupported");
  }
}

/** What a source map says of the first line: the places of some columns, in columns of numbers, as maps have millions. */
class Places {
  length = 0;
  readonly #sources: (string | null)[] = [];
  readonly #ignored = new Set<number>();
  /** Four numbers a place: its offset, the source or −1, the line and the column there. */
  #numbers = new Int32Array(1 << 10);

  /** @throws FormatError where the mappings cannot be decoded */
  add(map: PlainMap, firstOffset: number): void {
    const firstSource = this.#sources.length;
    const { sources, sourceRoot } = map;
    const named = { version: 3, sources, sourceRoot, names: [], mappings: "" } as const;
    for (const source of new (tracing().TraceMap)(named as never).resolvedSources) this.#sources.push(source);
    for (const source of map.ignoreList) this.#ignored.add(firstSource + source);
    const fields = new Fields(map.mappings);
    let [offset, source, line, column] = [firstOffset, 0, 0, 0];
    while (fields.nextPlace()) {
      offset += fields.next();
      let known = -1;
      if (fields.hasMore) {
        source += fields.next();
        line += fields.next();
        column += fields.next();
        if (fields.hasMore) fields.next();
        // Places in sources that the map does not have are none.
        if (source >= 0 && source < sources.length && line >= 0 && column >= 0) known = firstSource + source;
      }
      this.#push(offset, known, line, column);
    }
  }

  #push(offset: number, source: number, line: number, column: number): void {
    const at = 4 * this.length++;
    if (at === this.#numbers.length) this.#numbers = grown(this.#numbers, 2 * at);
    const numbers = this.#numbers;
    numbers[at] = offset;
    numbers[at + 1] = source;
    numbers[at + 2] = line;
    numbers[at + 3] = column;
  }

  /** Puts the places in order: nearly all maps have them so. */
  sort(): void {
    let isSorted = true;
    for (let at = 1; at < this.length; at++) isSorted &&= this.offsetAt(at - 1) <= this.offsetAt(at);
    if (isSorted) return;
    const order = Uint32Array.from({ length: this.length }, (_, at) => at);
    order.sort((a, b) => this.offsetAt(a) - this.offsetAt(b) || a - b);
    const sorted = new Int32Array(4 * this.length);
    for (const [at, from] of order.entries())
      sorted.set(this.#numbers.subarray(4 * from, 4 * from + 4), 4 * at);
    this.#numbers = sorted;
  }

  offsetAt(at: number): number {
    return this.#numbers[4 * at]!;
  }

  at(at: number): { source: number; place: SourcePlace } | undefined {
    const [, source, line, column] = this.#numbers.subarray(4 * at, 4 * at + 4);
    const file = this.#sources[source!];
    return file === undefined || file === null
      ? undefined
      : { source: source!, place: { file, line: line! + 1, column: column! + 1 } };
  }

  /** Sources to be ignored of which nothing but the first line is ever named: Kotlin's compiler writes one for all code whose source it does not have. */
  standInSources(): ReadonlySet<number> {
    const standIns = new Set(this.#ignored);
    for (let at = 0; at < this.length && standIns.size > 0; at++)
      if (this.#numbers[4 * at + 2] !== 0) standIns.delete(this.#numbers[4 * at + 1]!);
    return standIns;
  }
}

const DIGITS = new Int8Array(128).fill(-1);
for (const [value, digit] of [
  ..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
].entries())
  DIGITS[digit.charCodeAt(0)] = value;

/** The numbers of the first line of mappings, in base 64. */
class Fields {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Goes to the next place of the line; false where there is none. */
  nextPlace(): boolean {
    while (this.#text[this.#at] === ",") this.#at++;
    return this.hasMore;
  }

  /** Whether the place has another number. */
  get hasMore(): boolean {
    const next = this.#text[this.#at];
    return next !== undefined && next !== "," && next !== ";";
  }

  /** @throws FormatError if there is none, or it is too large */
  next(): number {
    let value = 0;
    for (let shift = 0; ; shift += 5) {
      const digit = DIGITS[this.#text.charCodeAt(this.#at++)] ?? -1;
      if (!(digit >= 0) || shift > 30) throw damaged("its mappings cannot be read");
      value += (digit & 31) * 2 ** shift;
      if ((digit & 32) === 0) break;
    }
    return value % 2 === 1 ? -(value - 1) / 2 : value / 2;
  }
}
