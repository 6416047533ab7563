import type { ModuleScan } from "../rewrite/facts/module-scan.ts";
import type { AppendedFunctions } from "../rewrite/write/appended-functions.ts";
import type { RewrittenBodies } from "../rewrite/write/rewritten-bodies.ts";
import { functionType, functionTypeIndex, type WasmModule } from "../wasm/index.ts";
import { type BlockRecorder, hookBody } from "./allocation-hooks.ts";
import type { AllocationListeners } from "./allocation-listeners.ts";
import { busyHooks } from "./busy-hooks.ts";
import type { AllocatorPlan } from "./find/plan.ts";
import type { HookedCalls } from "./hooked-calls.ts";

export interface AllocatorSurroundings {
  module: WasmModule;
  scan: ModuleScan;
  allocator: AllocatorPlan;
  appended: AppendedFunctions;
  bodies: RewrittenBodies;
  calls: HookedCalls;
  /** The program's memory. */
  memory: number;
}

/**
 * Hooks the allocation functions: who calls one gets the hook in its place; the allocator's own calls go past it, to the
 * original body. `recorder` is told first, then `listeners`.
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
    const body = module.bodies[index - module.importedFunctionCount];
    const self = body.codeStart - module.codePayloadStart;
    bodies.replace(index, () =>
      hookBody(hooked, functionType(module, index), {
        original,
        self,
        memory,
        recorder,
        addTwin: busy.has(index) ? (twin) => appended.add(type, twin, index) : undefined,
        listeners,
      }),
    );
  }
}
