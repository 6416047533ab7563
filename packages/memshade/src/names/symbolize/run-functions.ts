import { partitionPoint } from "../../ground/bytes/columns.ts";
import type { ProfileModule, ResolvedFrame, Symbolizer } from "../../profile/model/heap-profile.ts";
import type { IndexIntoModuleTable } from "../../profile/model/indices.ts";
import type { Run, RunFunction } from "../../profile/model/run.ts";
import type { Demangle } from "./demangle.ts";

/**
 * Creates a symbolizer that finds the module and function of a PC.
 *
 * `modules` are the profile's modules with their address ranges. If a run is given, the functions that it lists for
 * the module with the same start address name the frames.
 */
export function createRunSymbolizer(
  modules: readonly ProfileModule[],
  run: Run | undefined,
  demangle: Demangle,
): Symbolizer {
  const places = modules
    .map((module, index) => ({
      module: index as IndexIntoModuleTable,
      start: module.start,
      end: module.end,
      address: module.objectAddress ?? 0,
      functions: (run?.modules.find(({ start }) => BigInt(start) === module.start)?.functions ?? []).toSorted(
        (a, b) => a.offset - b.offset,
      ),
    }))
    .sort((a, b) => (a.start < b.start ? -1 : a.start > b.start ? 1 : 0));

  return (pc) => {
    const place = lastAtOrBefore(places, (candidate) => candidate.start <= pc);
    if (place === undefined || pc > place.end) return [{ offset: Number(pc) }];
    const offset = Number(pc - place.start) + place.address;
    const found = lastAtOrBefore(place.functions, (candidate) => candidate.offset <= offset);
    if (found === undefined || offset >= found.end) return [{ module: place.module, offset }];
    return [frameIn(found, place.module, offset, demangle)];
  };
}

function frameIn(
  { index, name }: RunFunction,
  module: IndexIntoModuleTable,
  offset: number,
  demangle: Demangle,
): ResolvedFrame {
  return {
    module,
    wasmIndex: index,
    offset,
    ...(name === undefined ? {} : { name: demangle(name) }),
  };
}

function lastAtOrBefore<T>(items: readonly T[], holds: (item: T) => boolean): T | undefined {
  return items[partitionPoint(0, items.length, (index) => holds(items[index]!)) - 1];
}
