import { gzip } from "pako";
import {
  Line,
  Location,
  Mapping,
  Function as PprofFunction,
  Profile,
  Sample,
  StringTable,
  ValueType,
} from "pprof-format";
import { framesOfSampleStack, type SampleProfile, sumByStack } from "../../model/sample-profile.ts";
import { exactAmount } from "../amounts.ts";

export interface PprofOptions {
  /**
   * Mean distance between samples, in bytes of memory, or in the unit of the first value type if none is in bytes. 1 if
   * everything was recorded.
   */
  period?: number;
  /** Index of the value type that readers show first; the last one by default. */
  shown?: number;
}

/** Writes the file of a pprof profile: compressed, without a timestamp. See {@link writePprof}. */
export function pprofFile(profile: SampleProfile, options: PprofOptions = {}): Uint8Array {
  return gzip(writePprof(profile, options));
}

/**
 * Writes an uncompressed pprof profile (`profile.proto`); files must be compressed. Samples of equal stacks are summed.
 * Frames that share an address become one location with several lines, innermost first.
 *
 * @throws UserError if a sum is negative or above 2^53
 */
export function writePprof(profile: SampleProfile, { period = 1, shown }: PprofOptions = {}): Uint8Array {
  const stringTable = new StringTable();
  const text = (value: string): number => stringTable.dedup(value);
  const tables = new LocationTables(profile, text);
  const sample = sumByStack(profile).map(
    ({ stack, values }) =>
      new Sample({
        locationId: tables.locationsOf(stack),
        value: values.map((value, column) => exactAmount(value, profile.valueTypes[column]!.type)),
      }),
  );
  const valueTypes = profile.valueTypes.map(
    ({ type, unit }) => new ValueType({ type: text(type), unit: text(unit) }),
  );
  const isOfMemory = profile.valueTypes.some(({ unit }) => unit === "bytes");
  return new Profile({
    sampleType: valueTypes,
    sample,
    mapping: profile.modules.map((module, index) => {
      const frames = profile.frames.filter((frame) => frame.module === index);
      return new Mapping({
        id: index + 1,
        memoryStart: module.start,
        memoryLimit: module.end,
        filename: text(module.path ?? module.name),
        buildId: text(module.buildId ?? ""),
        // Readers look for symbols themselves unless these flags are set.
        hasFunctions: true,
        hasFilenames: frames.some(({ file }) => file !== undefined),
        hasLineNumbers: frames.some(({ line }) => line !== undefined),
        hasInlineFrames: frames.some(({ inlined }) => inlined === true),
      });
    }),
    location: tables.locations,
    function: tables.functions,
    periodType: isOfMemory ? new ValueType({ type: text("space"), unit: text("bytes") }) : valueTypes[0]!,
    period,
    comment: commentsOf(profile).map(text),
    ...(shown === undefined ? {} : { defaultSampleType: text(profile.valueTypes[shown]!.type) }),
    stringTable,
  }).encode();
}

/** Returns the comments, which readers print line by line above their tables. */
function commentsOf({ name, notes, valueTypes }: SampleProfile): string[] {
  const descriptions = valueTypes.flatMap(({ type, says }) => (says === undefined ? [] : `${type}: ${says}`));
  return [`profile: ${name}`, ...(descriptions.length === 0 ? [] : [descriptions.join("; ")]), ...notes];
}

class LocationTables {
  readonly #profile: SampleProfile;
  readonly #text: (value: string) => number;
  readonly locations: Location[] = [];
  readonly functions: PprofFunction[] = [];
  readonly #locationIds = new Map<string, number>();
  readonly #functionIds = new Map<string, number>();

  constructor(profile: SampleProfile, text: (value: string) => number) {
    this.#profile = profile;
    this.#text = text;
  }

  locationsOf(stack: number): number[] {
    const ids: number[] = [];
    let inlined: number[] = [];
    for (const frame of framesOfSampleStack(this.#profile, stack)) {
      inlined.push(frame);
      // An inlined frame shares the location of its enclosing function, which ends the group.
      if (this.#profile.frames[frame]!.inlined === true) continue;
      ids.push(this.#location(inlined));
      inlined = [];
    }
    if (inlined.length > 0) ids.push(this.#location(inlined));
    return ids;
  }

  #location(frames: readonly number[]): number {
    const key = frames.join();
    const existing = this.#locationIds.get(key);
    if (existing !== undefined) return existing;
    const { module, address } = this.#profile.frames[frames.at(-1)!]!;
    const id = this.locations.length + 1;
    this.locations.push(
      new Location({
        id,
        mappingId: module === undefined ? 0 : module + 1,
        address: address ?? 0,
        line: frames.map((index) => {
          const frame = this.#profile.frames[index]!;
          return new Line({
            functionId: this.#function(index),
            line: frame.line ?? 0,
            column: frame.column ?? 0,
          });
        }),
      }),
    );
    this.#locationIds.set(key, id);
    return id;
  }

  #function(index: number): number {
    const { function: name, linkageName = name, file = "", startLine = 0 } = this.#profile.frames[index]!;
    const key = JSON.stringify([name, linkageName, file, startLine]);
    const existing = this.#functionIds.get(key);
    if (existing !== undefined) return existing;
    const id = this.functions.length + 1;
    const text = this.#text;
    this.functions.push(
      new PprofFunction({
        id,
        name: text(name),
        systemName: text(linkageName),
        filename: text(file),
        startLine,
      }),
    );
    this.#functionIds.set(key, id);
    return id;
  }
}
