import type { ModuleScan } from "../rewrite/facts/module-scan.ts";
import type { WasmModule } from "../wasm/index.ts";
import type { AllocatorFunction, AllocatorPlan } from "./find/plan.ts";

/** Functions that blocks go through one by one, as a rule. */
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
 * The allocation functions whose hooks get the runtime's common path written into them, because a call more per block
 * would be felt: for each kind the one that the program calls at most places. In the others it would only be code.
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
    const known = busiest.get(candidate.kind);
    const least = known === undefined ? -1 : (calls.get(known.index) ?? 0);
    if ((calls.get(candidate.index) ?? 0) > least) busiest.set(candidate.kind, candidate);
  }
  return new Set([...busiest.values()].map(({ index }) => index));
}
