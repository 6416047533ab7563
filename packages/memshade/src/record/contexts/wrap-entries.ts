import { type FuncType, functionType, functionTypeIndex, type WasmModule } from "../../code/wasm/index.ts";
import { entryOf } from "../../ground/bytes/entries.ts";
import type { HookedCalls } from "../allocator/hooked-calls.ts";
import type { AppendedFunctions } from "../rewrite/write/appended-functions.ts";
import type { RewrittenBodies } from "../rewrite/write/rewritten-bodies.ts";
import type { EntryPoints } from "./entry-points.ts";
import { EntryWrappers, type FollowedCalls, type WrapperSurroundings } from "./entry-wrappers.ts";
import type { LeavingFunctions } from "./leaving-functions.ts";

export interface EntrySurroundings {
  module: WasmModule;
  leaving: LeavingFunctions;
  appended: AppendedFunctions;
  bodies: RewrittenBodies;
  calls: HookedCalls;
  /** Functions of the allocator. Tools that follow calls observe entries to them only through hooks. */
  internals: ReadonlySet<number>;
  left: WrapperSurroundings["left"];
}

/** A word that functions pass from one to the next. */
export interface CarriedWord {
  /** Function types by function index, with a further i32 as last parameter and last result. */
  types: ReadonlyMap<number, number>;
  /** Global that holds the word while the host calls. */
  global: number;
}

export interface EntryListeners {
  functions: readonly number[];
  /** Returns the functions to call when the host calls a function of the module, by index. */
  functionsFor(index: number): readonly number[];
  entries: EntryPoints;
  /**
   * Global that is set before calls by reference inside the module; −1 if none leads to a wrapper or out of the module.
   */
  inside: number;
}

/**
 * Wraps the functions that can be entered from outside. A function gets one wrapper for all listeners and followed
 * calls.
 */
export function wrapEntries(
  { module, leaving, appended, bodies, calls, internals, left }: EntrySurroundings,
  followed: readonly (FollowedCalls & { entries: EntryPoints })[],
  listening: EntryListeners | undefined,
  carried: CarriedWord | undefined,
): void {
  const follows = new Set(followed.flatMap(({ entries }) => [...entries.entered]));
  const listens = listening?.entries.wrapped ?? new Set();
  const references = new Set([...followed, listening].flatMap((each) => each?.entries.referenced ?? []));
  const wrappers = new WrapperKinds({
    inside: listening?.inside ?? -1,
    left,
    catchesHostExceptions: module.imports.some(
      ({ kind, module: from }) => kind === "function" && !from.startsWith("wasi_"),
    ),
    resultsType: ({ results }: FuncType) => appended.typeIndex([], results),
  });
  for (const index of new Set([...follows, ...listens])) {
    const hook = bodies.replacementOf(index);
    const isFollowed = follows.has(index) && (hook !== undefined || !internals.has(index));
    if (!isFollowed && !listens.has(index)) continue;
    const type = carried?.types.get(index);
    const moved =
      hook === undefined
        ? appended.addWritten(
            type ?? functionTypeIndex(module, index),
            (to) => bodies.rewrite(index, to),
            index,
          )
        : appended.add(functionTypeIndex(module, index), hook, index);
    calls.move(index, moved);
    const kind = wrappers.wrappersOf({
      followed: isFollowed ? followed : [],
      listeners: listening?.functionsFor(index) ?? [],
      byReference: references.has(index),
      leaves: leaving.has(index),
      carried: type === undefined ? -1 : carried!.global,
    });
    const body = kind.body(moved, functionType(module, index));
    bodies.replace(index, () => body);
  }
}

/** Properties in which the wrappers of a module differ. */
type WrapperKind = Pick<WrapperSurroundings, "followed" | "listeners" | "byReference" | "leaves" | "carried">;

class WrapperKinds {
  readonly #surroundings: Omit<WrapperSurroundings, keyof WrapperKind>;
  readonly #kinds = new Map<string, EntryWrappers>();

  constructor(surroundings: Omit<WrapperSurroundings, keyof WrapperKind>) {
    this.#surroundings = surroundings;
  }

  wrappersOf(kind: WrapperKind): EntryWrappers {
    const { followed, listeners, byReference, leaves, carried } = kind;
    const key = `${followed.length} ${listeners} ${byReference} ${leaves} ${carried}`;
    return entryOf(this.#kinds, key, () => new EntryWrappers({ ...this.#surroundings, ...kind }));
  }
}
