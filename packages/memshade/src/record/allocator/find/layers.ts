import { functionType, I32, type WasmModule } from "../../../code/wasm/index.ts";
import { type BodySummary, type FollowedMemory, summarizeBody } from "./body-summary.ts";
import { type CallGraph, calleesOf, callersOf, Trait } from "./call-graph.ts";
import { ANY_PARAM, CONSTANT, dependsOnParam, type Origin, TRACKED } from "./origin.ts";
import type { AllocatorPlan } from "./plan.ts";

/*
 * Layers between a program and its allocator: functions whose result is always the block that a callee allocated, with
 * whatever they add to it (a header, statistics, a pool, a copy of a text), of a size that their caller decides. Who asked for such a block
 * is further out. A function that asks for a size of its own is who asked.
 */

/** Whoever does more than that does something with the block. */
const MOST_INSTRUCTIONS = 200;
const INDIRECT = -1;
const CALL_RESULTS = 0b111111_111111 << 12;

/** The layers of a module, by index, ascending; calls through tables are taken to lead to the allocator, which a stack will show. */
export function findLayers(
  module: WasmModule,
  graph: CallGraph,
  plan: Pick<AllocatorPlan, "functions" | "internals" | "wrappers">,
  memory: FollowedMemory,
): number[] {
  /** Parameters that decide a block's size, by function. */
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

/** The parameters that decide the size of a layer's block; undefined for what is none. */
function layerParams(
  module: WasmModule,
  graph: CallGraph,
  index: number,
  sizes: ReadonlyMap<number, readonly number[]>,
  memory: FollowedMemory,
): readonly number[] | undefined {
  const known = [...calleesOf(graph, index)].filter((callee) => sizes.has(callee));
  if (known.length >= TRACKED) return undefined;
  const { stackPointer } = memory;
  const tracked = [...known, INDIRECT];
  const summary = summarizeBody(module, index, tracked, { stackPointer });
  if (summary === undefined || !isBlock(summary.result)) return undefined;
  const asked = sizesAsked(summary, sizes).reduce((all, size) => all | (size & ANY_PARAM), 0);
  // A copy of a text is as long as that is, and nothing else decides it.
  const decides = asked || lengthsAsked(summarizeBody(module, index, tracked, memory), sizes);
  const params = [...functionType(module, index).params.keys()].filter((param) =>
    dependsOnParam(decides, param),
  );
  return params.length === 0 ? undefined : params;
}

/** The operands that decide the sizes of the blocks which a function asks for. */
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
  const asked = summary === undefined ? [] : sizesAsked(summary, sizes);
  const isOfParams = asked.every((size) => (size & ~(ANY_PARAM | CONSTANT)) === 0);
  return isOfParams ? asked.reduce((all, size) => all | (size & ANY_PARAM), 0) : 0;
}

/** A callee's result, moved or not; null, what a pool has, and what the caller brought may stand in for it. */
function isBlock(result: Origin): boolean {
  return (result & CALL_RESULTS) !== 0 && (result & ~(CALL_RESULTS | CONSTANT | ANY_PARAM)) === 0;
}

function returnsAddress(module: WasmModule, index: number): boolean {
  const { results } = functionType(module, index);
  return results.length === 1 && results[0] === I32;
}
