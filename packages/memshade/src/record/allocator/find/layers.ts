import { functionType, I32, type WasmModule } from "../../../code/wasm/index.ts";
import { type BodySummary, type FollowedMemory, summarizeBody } from "./body-summary.ts";
import { type CallGraph, calleesOf, callersOf, Trait } from "./call-graph.ts";
import { ANY_PARAM, CONSTANT, dependsOnParam, type Origin, TRACKED } from "./origin.ts";
import type { AllocatorPlan } from "./plan.ts";

/*
 * Layers between a program and its allocator: functions that always return a block from a callee, of a size that their
 * caller decides. They may add a header, statistics, a pool, or a copy of a text. Such an allocation is attributed
 * further out. A function that chooses the size itself is no layer: the allocation is attributed to it.
 */

/** Size limit of a layer. A larger function uses the block itself. */
const MOST_INSTRUCTIONS = 200;
const INDIRECT = -1;
const CALL_RESULTS = 0b111111_111111 << 12;

/**
 * Returns the indices of a module's layers, ascending. Calls through tables are assumed to lead to the allocator;
 * actual stacks will show it.
 */
export function findLayers(
  module: WasmModule,
  graph: CallGraph,
  plan: Pick<AllocatorPlan, "functions" | "internals" | "wrappers">,
  memory: FollowedMemory,
): number[] {
  const sizes = new Map<number, readonly number[]>();
  for (const { index, kind, sizeParam, countParam } of plan.functions)
    if (kind !== "release") sizes.set(index, [sizeParam, countParam]);
  for (const index of plan.wrappers)
    if (returnsAddress(module, index)) sizes.set(index, [...functionType(module, index).params.keys()]);
  const isPart = new Set([...plan.functions.map(({ index }) => index), ...plan.internals, ...plan.wrappers]);
  const waiting = new Set<number>();
  const visit = (index: number): void => {
    const isShort = index >= graph.imported && graph.instructions[index] <= MOST_INSTRUCTIONS;
    if (isShort && !isPart.has(index) && !sizes.has(index) && returnsAddress(module, index))
      waiting.add(index);
  };
  for (const index of sizes.keys()) callersOf(graph, index).forEach(visit);
  for (let index = graph.imported; index < graph.count; index++)
    if ((graph.traits[index] & Trait.CallsIndirectly) !== 0) visit(index);
  const layers: number[] = [];
  for (const index of waiting) {
    waiting.delete(index);
    const params = layerParams(module, graph, index, sizes, memory);
    if (params === undefined) continue;
    sizes.set(index, params);
    layers.push(index);
    callersOf(graph, index).forEach(visit);
  }
  return layers.sort((a, b) => a - b);
}

/** Returns the parameters that decide the size of a layer's block; undefined if the function is no layer. */
function layerParams(
  module: WasmModule,
  graph: CallGraph,
  index: number,
  sizes: ReadonlyMap<number, readonly number[]>,
  memory: FollowedMemory,
): readonly number[] | undefined {
  const sizedCallees = [...calleesOf(graph, index)].filter((callee) => sizes.has(callee));
  if (sizedCallees.length >= TRACKED) return undefined;
  const { stackPointer } = memory;
  const tracked = [...sizedCallees, INDIRECT];
  const summary = summarizeBody(module, index, tracked, { stackPointer });
  if (summary === undefined || !isBlock(summary.result)) return undefined;
  const sizeOrigins = sizesAsked(summary, sizes).reduce((origins, size) => origins | (size & ANY_PARAM), 0);
  // The size of a copied text is its length alone.
  const decides = sizeOrigins || lengthsAsked(summarizeBody(module, index, tracked, memory), sizes);
  const params = [...functionType(module, index).params.keys()].filter((param) =>
    dependsOnParam(decides, param),
  );
  return params.length === 0 ? undefined : params;
}

/** Returns the operands that decide the sizes of a function's requests. */
function sizesAsked({ calls }: BodySummary, sizes: ReadonlyMap<number, readonly number[]>): Origin[] {
  return calls.flatMap(({ callee, operands }) => {
    const positions = callee === INDIRECT ? [...operands.keys()] : (sizes.get(callee) ?? []);
    return positions.map((position) => operands[position] ?? 0);
  });
}

function lengthsAsked(
  summary: BodySummary | undefined,
  sizes: ReadonlyMap<number, readonly number[]>,
): Origin {
  const sizeOperands = summary === undefined ? [] : sizesAsked(summary, sizes);
  const isOfParams = sizeOperands.every((size) => (size & ~(ANY_PARAM | CONSTANT)) === 0);
  return isOfParams ? sizeOperands.reduce((origins, size) => origins | (size & ANY_PARAM), 0) : 0;
}

/**
 * True if the result is a callee's result, moved or not. Null, a block of a pool, or a block from the caller may
 * replace it.
 */
function isBlock(result: Origin): boolean {
  return (result & CALL_RESULTS) !== 0 && (result & ~(CALL_RESULTS | CONSTANT | ANY_PARAM)) === 0;
}

function returnsAddress(module: WasmModule, index: number): boolean {
  const { results } = functionType(module, index);
  return results.length === 1 && results[0] === I32;
}
