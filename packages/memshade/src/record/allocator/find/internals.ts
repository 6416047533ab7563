import { functionType, type WasmModule } from "../../../code/wasm/index.ts";
import { type CallGraph, calleesOf, callersOf, Trait } from "./call-graph.ts";
import { isCopyOrFillName } from "./symbol-names.ts";

const MAXIMUM_HELPER_INSTRUCTIONS = 1000;

/**
 * Returns all functions of the allocator: the `certain` ones, `named` inner functions, and functions that only these
 * call. A function that other code can enter and that calls a hooked function is never included, because its
 * allocations would be missed.
 */
export function closeInternals(
  graph: CallGraph,
  certain: Iterable<number>,
  hooked: ReadonlySet<number>,
  wrappers: ReadonlySet<number>,
  named: Iterable<number>,
): Set<number> {
  const internals = new Set(certain);
  const callsHooked = (index: number) =>
    calleesOf(graph, index).some((callee) => hooked.has(callee) || wrappers.has(callee));
  for (const index of named)
    if (index >= graph.imported && !wrappers.has(index) && !callsHooked(index)) internals.add(index);
  const pending = [...internals];
  for (let index = pending.pop(); index !== undefined; index = pending.pop())
    for (const callee of calleesOf(graph, index)) {
      if (callee < graph.imported || internals.has(callee) || wrappers.has(callee)) continue;
      if ((graph.traits[callee] & Trait.Escapes) !== 0) continue;
      if (!callersOf(graph, callee).every((caller) => caller === callee || internals.has(caller))) continue;
      internals.add(callee);
      pending.push(callee);
    }
  return internals;
}

/**
 * Returns functions that the allocator calls, directly or through each other, and that call hooked functions again:
 * wrappers, and parts such as mimalloc's slow path, which calls `memalign` for large alignments. Other code calls them,
 * too. Their requests for the allocator are no requests of the program. Those of `counted` functions are: a collector
 * frees objects of the program even if an allocation runs one of its steps.
 */
export function findSharedWrappers(
  graph: CallGraph,
  internals: ReadonlySet<number>,
  wrappers: ReadonlySet<number>,
  hooked: ReadonlySet<number>,
  counted: ReadonlySet<number>,
): number[] {
  const found = new Set<number>();
  const returns = (index: number) =>
    index >= graph.imported &&
    !internals.has(index) &&
    calleesOf(graph, index).some((callee) => hooked.has(callee));
  const pending = [...internals];
  for (let index = pending.pop(); index !== undefined; index = pending.pop())
    for (const callee of calleesOf(graph, index)) {
      if (found.has(callee) || counted.has(callee) || !(wrappers.has(callee) || returns(callee))) continue;
      found.add(callee);
      pending.push(callee);
    }
  return [...found].sort((a, b) => a - b);
}

/** Returns copy and fill functions that the allocator calls but that do not belong to it. */
export function findSharedHelpers(
  module: WasmModule,
  graph: CallGraph,
  internals: ReadonlySet<number>,
  wrappers: ReadonlySet<number>,
  nameOf: (index: number) => string | undefined,
): number[] {
  const helpers = new Set<number>();
  for (const index of [...internals, ...wrappers])
    for (const callee of calleesOf(graph, index)) {
      if (callee < graph.imported || internals.has(callee) || wrappers.has(callee)) continue;
      if (isCopyOrFill(module, graph, callee, nameOf(callee))) helpers.add(callee);
    }
  return [...helpers].sort((a, b) => a - b);
}

/**
 * Recognizes the function by name, or by shape: three integers (target, source or value, length), a loop or bulk
 * instruction, no calls.
 */
function isCopyOrFill(
  module: WasmModule,
  graph: CallGraph,
  index: number,
  name: string | undefined,
): boolean {
  const { params, results } = functionType(module, index);
  if (params.length !== 3 || results.length > 1) return false;
  if (name !== undefined && isCopyOrFillName(name)) return true;
  return (
    (graph.traits[index] & (Trait.Loops | Trait.Copies)) !== 0 &&
    (graph.traits[index] & Trait.CallsIndirectly) === 0 &&
    graph.instructions[index] <= MAXIMUM_HELPER_INSTRUCTIONS &&
    calleesOf(graph, index).every((callee) => isLeafCopy(module, graph, callee))
  );
}

/** True for possible callees of a copy function: the host's `memcpy` for long ranges, or another small copy loop. */
function isLeafCopy(module: WasmModule, graph: CallGraph, index: number): boolean {
  return functionType(module, index).params.length === 3 && calleesOf(graph, index).length === 0;
}
