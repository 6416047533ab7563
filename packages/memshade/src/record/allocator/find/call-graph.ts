import {
  functionCount,
  IMMEDIATE_KIND,
  opcodeIdAt,
  skipImmediates,
  skipOpcode,
  type WasmModule,
} from "../../../code/wasm/index.ts";
import * as Op from "../../../code/wasm/op.generated.ts";
import { readU32Leb } from "../../../ground/bytes/leb128.ts";
import { FunctionFact, type ModuleScan } from "../../rewrite/facts/module-scan.ts";

export const Trait = {
  Grows: 1,
  Loops: 2,
  CallsIndirectly: 4,
  Copies: 8,
  /** Can be entered other than by a direct call: exported, start function, in a table, `ref.func`. */
  Escapes: 16,
} as const;

/** Graph of direct calls, and sizes of functions. All arrays are indexed by function index. */
export interface CallGraph {
  scan: ModuleScan;
  count: number;
  imported: number;
  /** Number of instructions; 0 for imports. */
  instructions: Uint32Array;
  traits: Uint8Array;
  /**
   * Bounds of each function's distinct callees in `callees`, ascending by first call. `callerBounds`: the same for
   * callers.
   */
  calleeBounds: Uint32Array;
  callees: Uint32Array;
  callerBounds: Uint32Array;
  callers: Uint32Array;
}

export function calleesOf(graph: CallGraph, index: number): Uint32Array {
  return graph.callees.subarray(graph.calleeBounds[index], graph.calleeBounds[index + 1]);
}

export function callersOf(graph: CallGraph, index: number): Uint32Array {
  return graph.callers.subarray(graph.callerBounds[index], graph.callerBounds[index + 1]);
}

export function buildCallGraph(module: WasmModule, scan: ModuleScan): CallGraph {
  const imported = module.importedFunctionCount;
  const count = Math.max(functionCount(module), imported + module.bodies.length);
  const instructions = new Uint32Array(count);
  instructions.set(scan.instructions, imported);
  const traits = new Uint8Array(count);
  const calleeBounds = new Uint32Array(count + 1);
  const lastCaller = new Uint32Array(count).fill(0xffffffff);
  const callerCounts = new Uint32Array(count);
  const callees = new Uint32Array(scan.callees.length);
  let calleeCount = 0;
  for (let defined = 0; defined < module.bodies.length; defined++) {
    const caller = imported + defined;
    traits[caller] = traitsOf(scan.facts[defined]);
    for (let i = scan.firstCallee[defined]; i < scan.firstCallee[defined + 1]; i++) {
      const callee = scan.callees[i];
      // The rewriter reports broken modules; an unknown function is ignored here.
      if (callee >= count || lastCaller[callee] === caller) continue;
      lastCaller[callee] = caller;
      callerCounts[callee]++;
      callees[calleeCount++] = callee;
    }
    calleeBounds[caller + 1] = calleeCount;
  }
  for (let index = 0; index < count; index++)
    if (calleeBounds[index + 1] < calleeBounds[index]) calleeBounds[index + 1] = calleeBounds[index];
  for (const index of scan.references) if (index < count) traits[index] |= Trait.Escapes;
  markEscapes(module, traits);
  const edges = callees.slice(0, calleeCount);
  return {
    scan,
    count,
    imported,
    instructions,
    traits,
    calleeBounds,
    callees: edges,
    ...invert(count, calleeBounds, edges, callerCounts),
  };
}

function traitsOf(facts: number): number {
  let traits = 0;
  if (facts & FunctionFact.Grows) traits |= Trait.Grows;
  if (facts & FunctionFact.HasLoop) traits |= Trait.Loops;
  if (facts & FunctionFact.HasTableCall) traits |= Trait.CallsIndirectly;
  if (facts & FunctionFact.Copies) traits |= Trait.Copies;
  return traits;
}

function invert(count: number, calleeBounds: Uint32Array, callees: Uint32Array, callerCounts: Uint32Array) {
  const callerBounds = new Uint32Array(count + 1);
  for (let index = 0; index < count; index++)
    callerBounds[index + 1] = callerBounds[index] + callerCounts[index];
  const next = callerBounds.slice();
  const callers = new Uint32Array(callees.length);
  for (let caller = 0; caller < count; caller++)
    for (let i = calleeBounds[caller]; i < calleeBounds[caller + 1]; i++)
      callers[next[callees[i]]++] = caller;
  return { callerBounds, callers };
}

function markEscapes(module: WasmModule, traits: Uint8Array): void {
  const mark = (index: number) => {
    if (index < traits.length) traits[index] |= Trait.Escapes;
  };
  for (const { kind, index } of module.exports) if (kind === "function") mark(index);
  if (module.start !== undefined) mark(module.start);
  for (const { items } of module.elements)
    if (items.kind === "functions") for (const index of items.indices) mark(index);
    else for (const { start, end } of items.expressions) markReferences(module.bytes, start, end, mark);
  for (const { initial } of module.globals) markReferences(module.bytes, initial.start, initial.end, mark);
  for (const { initial } of module.tables)
    if (initial !== undefined) markReferences(module.bytes, initial.start, initial.end, mark);
}

function markReferences(bytes: Uint8Array, start: number, end: number, mark: (index: number) => void): void {
  for (let position = start; position < end; ) {
    const id = opcodeIdAt(bytes, position);
    const immediates = skipOpcode(bytes, position);
    if (id === Op.REF_FUNC) mark(readU32Leb(bytes, immediates));
    position = skipImmediates(bytes, immediates, IMMEDIATE_KIND[id]);
  }
}
