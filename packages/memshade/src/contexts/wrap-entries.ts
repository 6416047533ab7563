import type { HookedCalls } from "../allocator/hooked-calls.ts";
import type { AppendedFunctions } from "../rewrite/write/appended-functions.ts";
import type { RewrittenBodies } from "../rewrite/write/rewritten-bodies.ts";
import { type FuncType, functionType, functionTypeIndex, type WasmModule } from "../wasm/index.ts";
import type { EntryPoints } from "./entry-points.ts";
import { EntryWrappers, type FollowedCalls } from "./entry-wrappers.ts";

export interface EntrySurroundings {
  module: WasmModule;
  appended: AppendedFunctions;
  bodies: RewrittenBodies;
  calls: HookedCalls;
  /** The allocator's own functions: nobody enters them from outside but through hooks. */
  internals: ReadonlySet<number>;
}

/** Gives the functions that can be entered from outside their wrappers, one for all that follow calls. */
export function wrapEntries(
  { module, appended, bodies, calls, internals }: EntrySurroundings,
  followed: readonly (FollowedCalls & { entries: EntryPoints })[],
): void {
  const points = followed.map(({ entries }) => entries);
  const catchesHostExceptions = module.imports.some(
    ({ kind, module: from }) => kind === "function" && !from.startsWith("wasi_"),
  );
  const resultsType = ({ results }: FuncType) => appended.typeIndex([], results);
  const around = { followed, catchesHostExceptions, resultsType };
  const exported = new EntryWrappers({ ...around, byReference: false });
  const referenced = new EntryWrappers({ ...around, byReference: true });
  for (const index of new Set(points.flatMap(({ entered }) => [...entered]))) {
    const hook = bodies.replacementOf(index);
    if (hook === undefined && internals.has(index)) continue;
    const moved =
      hook === undefined
        ? appended.addWritten(functionTypeIndex(module, index), (to) => bodies.rewrite(index, to), index)
        : appended.add(functionTypeIndex(module, index), hook, index);
    calls.move(index, moved);
    const type = functionType(module, index);
    if (type.results.length > 1) resultsType(type);
    const wrappers = points[0].isReferenced(index) ? referenced : exported;
    bodies.replace(index, () => wrappers.body(moved, type));
  }
  for (const index of new Set(points.flatMap(({ exportedApart }) => [...exportedApart]))) {
    const type = functionType(module, index);
    if (type.results.length > 1) resultsType(type);
    const body = () => exported.body(index, type);
    bodies.exportedInstead.set(index, appended.add(functionTypeIndex(module, index), body, index));
  }
}
