import { entryOf } from "../ground/bytes/entries.ts";
import type { HeapProfile, TypeHoles } from "../profile/model/heap-profile.ts";
import { type IndexIntoContextTable, type IndexIntoModuleTable, NONE } from "../profile/model/indices.ts";
import { framesOfContext } from "../profile/model/stacks.ts";
import { LIKELY_RULES } from "../profile/model/waste.ts";
import type { TypeAt } from "../record/tools/session.ts";
import { savedByOrder } from "../record/tools/waste/read/blocks-of-paths.ts";

/** Least part of all allocated bytes that a call of the allocator has for its type to be searched. */
const LEAST_PART = 0.05;
/** Calls outwards from the allocator's that may have the type: `malloc` is often called for a caller. */
const CALLS = 3;

export interface HolePlaces {
  /** Returns the function for a module's block types; undefined without debug information. */
  typesOf(module: IndexIntoModuleTable): TypeAt | undefined;
  /** Returns the holes that were found at the end of the run. */
  storedAt(module: IndexIntoModuleTable, address: number): TypeHoles | undefined;
  store(module: IndexIntoModuleTable, address: number, holes: TypeHoles): void;
}

/** Returns the holes in the types of a program's blocks, by context; undefined if none are known. */
export function holesOfContexts(
  profile: HeapProfile,
  places: HolePlaces,
): (TypeHoles | undefined)[] | undefined {
  const { contexts } = profile;
  const all = Array.from(contexts.mibs.totalSize, Number).reduce((sum, bytes) => sum + bytes, 0);
  const types = new Map<IndexIntoModuleTable, TypeAt | undefined>();
  const found: (TypeHoles | undefined)[] = [];
  for (const { rows, path } of callsOf(profile)) {
    const bytes = rows.reduce((sum, row) => sum + Number(contexts.mibs.totalSize[row]), 0);
    if (bytes < LEAST_PART * all) continue;
    const sizes = {
      smallest: rows.reduce(
        (least, row) => Math.min(least, contexts.mibs.minSize[row]!),
        Number.POSITIVE_INFINITY,
      ),
      largest: rows.reduce((most, row) => Math.max(most, contexts.mibs.maxSize[row]!), 0),
    };
    const holes = holesAt(path, sizes, places, (module) =>
      entryOf(types, module, () => places.typesOf(module)),
    );
    if (holes !== undefined) for (const row of rows) found[row] = holes;
  }
  return found.length === 0 ? undefined : found;
}

interface Call {
  readonly module: IndexIntoModuleTable;
  readonly address: number;
}

/** Groups contexts by the calls nearest to the allocator. */
function callsOf(profile: HeapProfile): Iterable<{ rows: IndexIntoContextTable[]; path: Call[] }> {
  const { frames, functions } = profile;
  const calls = new Map<string, { rows: IndexIntoContextTable[]; path: Call[] }>();
  for (let row = 0 as IndexIntoContextTable; row < profile.contexts.length; row++) {
    const path: Call[] = [];
    for (const frame of framesOfContext(profile, row)) {
      const module = functions.module[frames.function[frame]!]!;
      if (module === NONE || path.length === CALLS) break;
      // Inlined functions share the address of the function around them.
      if (frames.inlined[frame] === 0) path.push({ module, address: frames.offset[frame]! });
    }
    const key = path.map(({ module, address }) => `${module} ${address}`).join();
    entryOf(calls, key, () => ({ rows: [], path })).rows.push(row);
  }
  return calls.values();
}

function holesAt(
  path: readonly Call[],
  sizes: { smallest: number; largest: number },
  places: HolePlaces,
  typesOfModule: (module: IndexIntoModuleTable) => TypeAt | undefined,
): TypeHoles | undefined {
  for (const { module, address } of path) {
    const stored = places.storedAt(module, address);
    if (stored !== undefined) return stored;
    const type = typesOfModule(module)?.(address, sizes.smallest, sizes.largest);
    if (type === undefined) continue;
    const saved = LIKELY_RULES.has(type.by) ? 0 : savedByOrder(type);
    if (saved === 0) return undefined;
    const holes = { type: type.name, size: type.size, needed: type.size - saved };
    places.store(module, address, holes);
    return holes;
  }
  return undefined;
}
