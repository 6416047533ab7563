import { type FuncType, functionType, functionTypeIndex, type WasmModule } from "../../code/wasm/index.ts";
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
  /** The allocator's own functions: nobody who follows calls sees them entered but through hooks. */
  internals: ReadonlySet<number>;
  left: WrapperSurroundings["left"];
}

/** A word that functions hand from one to the next. */
export interface CarriedWord {
  /** Functions of the module, by index, and their types with one more i32 as last parameter and as last result. */
  types: ReadonlyMap<number, number>;
  /** Global with the word where the host calls them. */
  global: number;
}

/** Who wants to know when the host comes in. */
export interface EntryListeners {
  /** Functions () → () to call then. */
  functions: readonly number[];
  /** Those of them to call when the host calls a function of the module, by index. */
  told(index: number): readonly number[];
  entries: EntryPoints;
  /** Global that calls by reference from inside set, −1: none lead to a wrapper or out of the module. */
  inside: number;
}

/** Gives the functions that can be entered from outside their wrappers, one for all who listen and who follow calls. */
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
    const kind = wrappers.of({
      followed: isFollowed ? followed : [],
      listeners: listening?.told(index) ?? [],
      byReference: references.has(index),
      leaves: leaving.has(index),
      carried: type === undefined ? -1 : carried!.global,
    });
    const body = kind.body(moved, functionType(module, index));
    bodies.replace(index, () => body);
  }
}

/** What wrappers of one module differ in. */
type WrapperKind = Pick<WrapperSurroundings, "followed" | "listeners" | "byReference" | "leaves" | "carried">;

/** The wrappers of a module, which differ in what they do. */
class WrapperKinds {
  readonly #around: Omit<WrapperSurroundings, keyof WrapperKind>;
  readonly #kinds = new Map<string, EntryWrappers>();

  constructor(around: Omit<WrapperSurroundings, keyof WrapperKind>) {
    this.#around = around;
  }

  of(kind: WrapperKind): EntryWrappers {
    const { followed, listeners, byReference, leaves, carried } = kind;
    const key = `${followed.length} ${listeners} ${byReference} ${leaves} ${carried}`;
    const known = this.#kinds.get(key);
    if (known !== undefined) return known;
    const wrappers = new EntryWrappers({ ...this.#around, ...kind });
    this.#kinds.set(key, wrappers);
    return wrappers;
  }
}
