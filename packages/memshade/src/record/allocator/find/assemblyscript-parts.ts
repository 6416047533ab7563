import type { WasmModule } from "../../../code/wasm/index.ts";
import { type CallGraph, calleesOf, callersOf } from "./call-graph.ts";
import { definedType } from "./hooks.ts";

/** What `findParts` finds below `__new` and `__collect`. */
export interface AssemblyScriptParts {
  insertBlock: number | undefined;
  allocateBlock: number | undefined;
  isIncremental: boolean;
  sweepers: Set<number>;
  suppliers: Set<number>;
}

/** The longest way: `__new`, `__alloc`, `allocateBlock`, `growMemory`, `addMemory`, `insertBlock`; and one more for a wrapper. */
const DEPTH = 6;
/** Unoptimised builds have functions that only set a field. */
const SETTER_INSTRUCTIONS = 60;

/**
 * The parts below `__new` and `__collect`, by their names or by who calls them. Blocks come back to the free list by
 * `insertBlock`, which takes the allocator's root and a block, and calls `removeBlock` to merge free neighbours. The
 * collector calls it for garbage; `__new` has it called for memory that no block has held. The incremental collector's
 * `step` is called by both.
 */
export function findParts(
  module: WasmModule,
  graph: CallGraph,
  create: number,
  collect: number | undefined,
  runtime: ReadonlyMap<string, number>,
): AssemblyScriptParts {
  const hasShape = (index: number, params: number, results: number) => {
    const type = definedType(module, index);
    return type?.params.length === params && type.results.length === results;
  };
  const step = runtime.get("itcms/step");
  const steps = new Set(step === undefined ? [] : [step]);
  if (collect !== undefined) {
    const fromCreate = reachable(graph, [create], DEPTH);
    for (const index of reachable(graph, [collect], 2))
      if (hasShape(index, 0, 1) && fromCreate.has(index)) steps.add(index);
  }
  const isIncremental = steps.size > 0;
  if (collect !== undefined) steps.add(collect);
  const fromAllocation = reachable(graph, [create], DEPTH, steps);
  const fromSweep = reachable(graph, [...steps], DEPTH);
  const isInsertBlock = (index: number) =>
    fromSweep.has(index) &&
    hasShape(index, 2, 0) &&
    graph.instructions[index] > SETTER_INSTRUCTIONS &&
    calleesOf(graph, index).some((callee) => callee !== index && hasShape(callee, 2, 0));
  const insertBlock = runtime.get("tlsf/insertBlock") ?? sole([...fromAllocation].filter(isInsertBlock));
  const ways = insertBlock === undefined ? new Set<number>() : leadingTo(graph, insertBlock);
  const suppliers = new Set([...fromAllocation].filter((index) => index !== create && ways.has(index)));
  const allocateBlock =
    runtime.get("tlsf/allocateBlock") ?? sole([...suppliers].filter((index) => hasShape(index, 2, 1)));
  const sweepers = new Set([...fromSweep].filter((index) => !fromAllocation.has(index) && ways.has(index)));
  if (collect !== undefined) sweepers.add(collect);
  return { insertBlock, allocateBlock, isIncremental, sweepers, suppliers };
}

const sole = (found: readonly number[]) => (found.length === 1 ? found[0] : undefined);

/** Functions from which a few direct calls lead to `to`, without itself. */
export function leadingTo(graph: CallGraph, to: number): Set<number> {
  const found = spread([to], DEPTH, (index) => callersOf(graph, index));
  found.delete(to);
  return found;
}

/** Functions within `depth` direct calls of `from`, on paths that avoid `except`. */
function reachable(
  graph: CallGraph,
  from: readonly number[],
  depth: number,
  except: ReadonlySet<number> = new Set(),
): Set<number> {
  return spread(from, depth, (index) => calleesOf(graph, index).filter((callee) => !except.has(callee)));
}

function spread(
  from: readonly number[],
  depth: number,
  nextOf: (index: number) => Iterable<number>,
): Set<number> {
  const seen = new Set(from);
  let level = from;
  for (let i = 0; i < depth; i++) {
    const next: number[] = [];
    for (const index of level)
      for (const other of nextOf(index)) {
        if (seen.has(other)) continue;
        seen.add(other);
        next.push(other);
      }
    level = next;
  }
  return seen;
}
