import { functionType, functionTypeIndex, type WasmModule } from "../../code/wasm/index.ts";
import type { ModuleScan } from "../rewrite/facts/module-scan.ts";
import type { AppendedFunctions } from "../rewrite/write/appended-functions.ts";
import type { RewrittenBodies } from "../rewrite/write/rewritten-bodies.ts";
import { type BlockRecorder, hookBody } from "./allocation-hooks.ts";
import type { AllocationListeners } from "./allocation-listeners.ts";
import type { AllocatorFunction, AllocatorPlan } from "./find/plan.ts";
import type { HookedCalls } from "./hooked-calls.ts";

/** Roles of functions that usually handle every single block. */
const BUSY: ReadonlySet<AllocatorFunction["role"]> = new Set([
  "malloc",
  "free",
  "new",
  "delete",
  "rust_alloc",
  "rust_dealloc",
  "as_new",
  "as_free",
]);

/**
 * Returns the functions whose hooks get inline code for the runtime's common path, because a further call per block
 * would cost time. For each kind, this is the function with the most call sites. In other hooks, inline code would only
 * take space.
 */
export function busyHooks(module: WasmModule, scan: ModuleScan, allocator: AllocatorPlan): Set<number> {
  const inside = new Set([...allocator.internals, ...allocator.functions.map(({ index }) => index)]);
  const calls = new Map<number, number>();
  for (let defined = 0; defined < module.bodies.length; defined++) {
    if (inside.has(defined + module.importedFunctionCount)) continue;
    for (let i = scan.firstCallee[defined]; i < scan.firstCallee[defined + 1]; i++)
      calls.set(scan.callees[i], (calls.get(scan.callees[i]) ?? 0) + 1);
  }
  const busiest = new Map<AllocatorFunction["kind"], AllocatorFunction>();
  for (const candidate of allocator.functions) {
    if (!BUSY.has(candidate.role)) continue;
    const busiestSoFar = busiest.get(candidate.kind);
    const least = busiestSoFar === undefined ? -1 : (calls.get(busiestSoFar.index) ?? 0);
    if ((calls.get(candidate.index) ?? 0) > least) busiest.set(candidate.kind, candidate);
  }
  return new Set([...busiest.values()].map(({ index }) => index));
}

export interface AllocatorSurroundings {
  module: WasmModule;
  scan: ModuleScan;
  allocator: AllocatorPlan;
  appended: AppendedFunctions;
  bodies: RewrittenBodies;
  calls: HookedCalls;
  memory: number;
}

/**
 * Hooks the allocation functions. Calls of other code reach the hook; the allocator's own calls reach the original
 * body. The hook calls `recorder` first, then `listeners`.
 */
export function hookAllocator(
  { module, scan, allocator, appended, bodies, calls, memory }: AllocatorSurroundings,
  recorder: BlockRecorder | undefined,
  listeners: readonly AllocationListeners[],
): void {
  for (const helper of [...allocator.sharedHelpers, ...allocator.sharedWrappers])
    calls.keepOriginal(
      helper,
      appended.addWritten(
        functionTypeIndex(module, helper),
        (to) => calls.inTwin(() => bodies.rewrite(helper, to, "allocator")),
        helper,
      ),
    );
  const busy = busyHooks(module, scan, allocator);
  for (const hooked of allocator.functions) {
    const { index } = hooked;
    const type = functionTypeIndex(module, index);
    const original = appended.addWritten(type, (to) => bodies.rewrite(index, to, "allocator"), index);
    calls.keepOriginal(index, original);
    bodies.replace(index, () =>
      hookBody(hooked, functionType(module, index), {
        original,
        self: selfOf(module, index),
        memory,
        recorder,
        addTwin: busy.has(index) ? (twin) => appended.add(type, twin, index) : undefined,
        listeners,
      }),
    );
  }
  if (recorder === undefined) return;
  for (const hooked of allocator.renewing) {
    const { index } = hooked;
    const type = functionTypeIndex(module, index);
    const original = appended.addWritten(type, (to) => bodies.rewrite(index, to), index);
    const surroundings = {
      original,
      self: selfOf(module, index),
      memory,
      recorder,
      listeners: [],
      renews: true,
    };
    bodies.replace(index, () => hookBody(hooked, functionType(module, index), surroundings));
  }
}

function selfOf(module: WasmModule, index: number): number {
  return module.bodies[index - module.importedFunctionCount].codeStart - module.codePayloadStart;
}
