import { NONE } from "../../profile/model/indices.ts";
import { framesOfSampleStack, type SampleProfile, sumByStack } from "../../profile/model/sample-profile.ts";
import { ownDepth } from "./frames/own-place.ts";

/** Line of the program's own code, with all samples taken there and in the libraries that it called. */
export interface HotPlace {
  /** Index of the frame; {@link NONE} for samples without a stack. */
  readonly frame: number;
  readonly value: number;
  /** Number of call paths to the line, and the one with the most samples: frames from the line outwards. */
  readonly paths: number;
  readonly path: readonly number[];
  /** Library function with most of the samples below the line; {@link NONE} if most samples are in the line itself. */
  readonly via: number;
}

/** Returns samples by the program's own innermost line, the hottest first. @param column value column to add up */
export function hotPlaces(profile: SampleProfile, column: number): HotPlace[] {
  const libraries = profile.frames.map(({ library }) => library);
  const places = new Map<
    string,
    { value: number; frame: number; paths: Map<string, Way>; vias: Map<number, number> }
  >();
  for (const { stack, values } of sumByStack(profile)) {
    const value = values[column]!;
    const frames = stack === NONE ? [] : framesOfSampleStack(profile, stack);
    const depth = Math.max(0, ownDepth(frames.map((frame) => libraries[frame])));
    const path = frames.slice(depth);
    const frame = path[0] ?? NONE;
    const key = placeKey(profile, frame);
    let place = places.get(key);
    if (place === undefined) {
      place = { value: 0, frame, paths: new Map(), vias: new Map() };
      places.set(key, place);
    }
    place.value += value;
    const via = frames[depth - 1] ?? NONE;
    place.vias.set(via, (place.vias.get(via) ?? 0) + value);
    const outer = path.slice(1).map((outerFrame) => placeKey(profile, outerFrame));
    const way = place.paths.get(outer.join("\n")) ?? { value: 0, path };
    place.paths.set(outer.join("\n"), { ...way, value: way.value + value });
  }
  return [...places.values()]
    .map(({ value, frame, paths, vias }) => ({
      frame,
      value,
      paths: paths.size,
      path: most([...paths.values()]).path,
      via: most([...vias].map(([via, viaValue]) => ({ value: viaValue, via }))).via,
    }))
    .sort((a, b) => b.value - a.value || a.frame - b.frame);
}

interface Way {
  readonly value: number;
  readonly path: readonly number[];
}

function most<T extends { readonly value: number }>(rows: readonly T[]): T {
  return rows.reduce((best, row) => (row.value > best.value ? row : best));
}

function placeKey({ frames }: SampleProfile, index: number): string {
  if (index === NONE) return "";
  const { function: name, file, line, module } = frames[index]!;
  return `${name}\n${file}\n${line}\n${module}`;
}

/** Returns samples by thread name, those with the most first. */
export function threadShares(
  { threads, samples }: SampleProfile,
  column: number,
): { name: string; threads: number; value: number }[] {
  const shares = new Map<string, { ids: Set<number>; value: number }>();
  for (let row = 0; row < samples.length; row++) {
    const { name, tid } = threads[samples.thread[row]!]!;
    const share = shares.get(name) ?? { ids: new Set(), value: 0 };
    share.ids.add(tid);
    share.value += samples.values[column]![row]!;
    shares.set(name, share);
  }
  return [...shares]
    .map(([name, { ids, value }]) => ({ name, threads: ids.size, value }))
    .sort((a, b) => b.value - a.value || (a.name < b.name ? -1 : 1));
}
