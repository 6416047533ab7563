import { functionType, type WasmModule } from "../../../code/wasm/index.ts";
import { entryOf } from "../../../ground/bytes/entries.ts";
import { type BodySummary, type Distance, summarizeBody } from "./body-summary.ts";
import { type CallGraph, calleesOf, callersOf, Trait } from "./call-graph.ts";
import type { Hooks } from "./hooks.ts";
import { computed, dependsOnParam, fromCall, OTHER, PRODUCT, soleParam } from "./origin.ts";
import { type AllocatorRole, type OperandPositions, ROLES } from "./plan.ts";
import { addressesOf, countShared } from "./state-addresses.ts";

/*
 * Search for calloc, realloc and memalign of dlmalloc, which are found once malloc and free are known. All of them call
 * that malloc, and differ in their use of its argument and result. They work on the same static structure, unlike
 * similar functions of the program on top of it.
 */

const MAXIMUM_INSTRUCTIONS = 1200;
const MINIMUM_SHARED = 3;
const EXACT_RESULT = 0;

/** Functions found for one pair. `inlinedRealloc`: functions of the program into which `realloc` was inlined. */
export interface FamilyFinding {
  added: number[];
  inlinedRealloc: number[];
}

/**
 * Finds calloc, realloc and memalign around `malloc` and `free` and adds them to `hooks`.
 *
 * - realloc: passes one parameter to free and another to malloc, unchanged
 * - memalign: asks malloc for more than its size parameter and returns (posix_memalign: stores) an address inside
 * - calloc: asks malloc for a product of two parameters, fills the block and returns it
 */
export function completeFamily(
  module: WasmModule,
  graph: CallGraph,
  malloc: number,
  free: number,
  hooks: Hooks,
): FamilyFinding {
  const releaseAddresses = addressesOf(module, graph.scan, free);
  const state = new Set(
    [...addressesOf(module, graph.scan, malloc)].filter((address) => releaseAddresses.has(address)),
  );
  const sharedOf = new Map<number, number>();
  const shares = (index: number): boolean => {
    const count = entryOf(sharedOf, index, () =>
      index < graph.imported ? 0 : countShared(module, graph.scan, index, state),
    );
    return count >= MINIMUM_SHARED;
  };
  /**
   * True for a part of the allocator such as `dispose_chunk`, which works on its structure. Parts never call malloc and
   * free, unlike a function of the program that calls realloc.
   */
  const isPart = (index: number) =>
    index !== malloc &&
    index !== free &&
    shares(index) &&
    !calleesOf(graph, index).some((callee) => callee === malloc || callee === free);
  const isInside = (index: number): boolean => shares(index) || calleesOf(graph, index).some(isPart);

  const finding: FamilyFinding = { added: [], inlinedRealloc: [] };
  const add = (index: number, role: AllocatorRole, found: Partial<OperandPositions>) => {
    hooks.add(index, role, { ...ROLES[role].operands, ...found });
    finding.added.push(index);
  };

  for (const index of callersOf(graph, malloc)) {
    if (hooks.has(index) || graph.instructions[index] > MAXIMUM_INSTRUCTIONS) continue;
    const type = functionType(module, index);
    if (type.params.length < 1 || type.params.length > 5 || type.results.length !== 1) continue;
    const summary = summarizeBody(module, index, [malloc]);
    if (summary === undefined) continue;
    const calloc = readCalloc(module, graph, summary, malloc);
    if (calloc !== undefined) {
      add(index, "calloc", calloc);
      continue;
    }
    if (!isInside(index)) continue;
    if (calleesOf(graph, index).includes(free)) {
      const pointer = soleOperand(summary, free);
      const size = soleOperand(summary, malloc);
      if (pointer >= 0 && size >= 0 && pointer !== size)
        add(index, "realloc", { pointerParam: pointer, sizeParam: size });
      else if (addInlinedRealloc(index, summary, malloc, free, hooks)) finding.added.push(index);
      else finding.inlinedRealloc.push(index);
    } else if (type.params.length <= 3) {
      const aligned = readAligned(summary, malloc, type.params.length);
      if (aligned !== undefined) add(index, aligned.role, aligned.operands);
    }
  }
  return finding;
}

/** Returns the parameter that every call of `callee` gets unchanged as its first operand, or −1. */
function soleOperand(summary: BodySummary, callee: number): number {
  let result = -1;
  for (const { callee: called, operands } of summary.calls) {
    if (called !== callee) continue;
    const param = soleParam(operands[0]);
    if (param < 0 || (result >= 0 && result !== param)) return -1;
    result = param;
  }
  return result;
}

/** Returns the distance from a parameter that the first operand has in every call of `callee`. */
function soleDistance(summary: BodySummary, callee: number): Distance | undefined {
  let result: Distance | undefined;
  for (const { callee: called, distances } of summary.calls) {
    if (called !== callee) continue;
    const distance = distances[0];
    if (distance === undefined) return undefined;
    if (result !== undefined && (result.param !== distance.param || result.offset !== distance.offset))
      return undefined;
    result = distance;
  }
  return result;
}

/**
 * Adds functions like SQLite's `xRealloc`, which keep a header before their blocks. With `realloc` inlined they free
 * `pointer - header`, request `size + header`, and return the new block plus `header`.
 */
function addInlinedRealloc(
  index: number,
  summary: BodySummary,
  malloc: number,
  free: number,
  hooks: Hooks,
): boolean {
  const pointer = soleDistance(summary, free);
  const size = soleDistance(summary, malloc);
  if (pointer === undefined || size === undefined || pointer.param === size.param) return false;
  if (size.offset <= 0 || pointer.offset !== -size.offset) return false;
  const returnsBlock = (summary.result & fromCall(EXACT_RESULT)) !== 0;
  const returnsInside = (summary.result & computed(fromCall(EXACT_RESULT))) !== 0;
  if (returnsBlock || !returnsInside || (summary.result & OTHER) !== 0) return false;
  const operands = { ...ROLES.realloc.operands, pointerParam: pointer.param, sizeParam: size.param };
  hooks.add(index, "realloc", operands, { pointerOffset: pointer.offset, sizeOffset: size.offset });
  return true;
}

function readCalloc(
  module: WasmModule,
  graph: CallGraph,
  summary: BodySummary,
  malloc: number,
): Pick<OperandPositions, "countParam" | "sizeParam"> | undefined {
  if ((summary.result & fromCall(EXACT_RESULT)) === 0) return undefined;
  const requests = summary.calls.filter(({ callee }) => callee === malloc);
  if (requests.length !== 1) return undefined;
  const request = requests[0].operands[0];
  if ((request & PRODUCT) === 0 || !dependsOnParam(request, 0) || !dependsOnParam(request, 1))
    return undefined;
  const fills =
    summary.bulk ||
    summary.calls.some(
      ({ callee, operands }) =>
        callee !== malloc &&
        (operands[0] & fromCall(EXACT_RESULT)) !== 0 &&
        (callee < graph.imported || (graph.traits[callee] & (Trait.Loops | Trait.Copies)) !== 0) &&
        functionType(module, callee).params.length >= 2,
    );
  return fills ? { countParam: 0, sizeParam: 1 } : undefined;
}

/**
 * Recognizes functions of the memalign family. The size is the parameter that a plain call gets unchanged, else the
 * last parameter, as in all interfaces of these names. The preceding alignment may be missing if the compiler knows it.
 * `posix_memalign` stores the block's address.
 */
function readAligned(
  summary: BodySummary,
  malloc: number,
  parameterCount: number,
): { role: "memalign" | "posix_memalign"; operands: Partial<OperandPositions> } | undefined {
  const [plain, inside] = [fromCall(EXACT_RESULT), computed(fromCall(EXACT_RESULT))];
  const last = parameterCount - 1;
  let direct = -1;
  let padded = false;
  for (const { callee, operands } of summary.calls) {
    if (callee !== malloc) continue;
    const param = soleParam(operands[0]);
    if (param >= 0) direct = param;
    else if (dependsOnParam(operands[0], last)) padded = true;
  }
  if (!padded) return undefined;
  if ((summary.result & inside) !== 0) {
    const sizeParam = (summary.result & plain) !== 0 && direct >= 0 ? direct : last;
    return { role: "memalign", operands: { sizeParam } };
  }
  const stored = summary.stores.find(({ value }) => (value & inside) !== 0 && (value & OTHER) === 0);
  const outPointerParam = stored === undefined ? -1 : soleParam(stored.address);
  if (outPointerParam < 0 || outPointerParam === last) return undefined;
  return { role: "posix_memalign", operands: { outPointerParam, sizeParam: last } };
}
