import { readU32Leb } from "../../bytes/leb128.ts";
import {
  functionCount,
  IMMEDIATE_KIND,
  ImmediateKind,
  opcodeId,
  opcodeIdAt,
  skipImmediates,
  skipOpcode,
  type WasmModule,
} from "../../wasm/index.ts";

const CALL = opcodeId("call");
const RETURN_CALL = opcodeId("return_call");
const REF_FUNC = opcodeId("ref.func");
const LOOP = opcodeId("loop");
const CALL_INDIRECT = opcodeId("call_indirect");
const MEMORY_GROW = opcodeId("memory.grow");
const MEMORY_COPY = opcodeId("memory.copy");
const MEMORY_FILL = opcodeId("memory.fill");
const { None, Local, Label, I32, Memarg, Func, Zero } = ImmediateKind;
const FIRST_PREFIX = 0xfb;
const MEMARG_HAS_MEMORY = 0x40;

/** Properties of a function, as bits of `CallGraph.traits`. */
export const Trait = {
  /** contains `memory.grow` */
  Grows: 1,
  /** contains `loop` */
  Loops: 2,
  /** contains `call_indirect` */
  CallsIndirectly: 4,
  /** contains `memory.copy` or `memory.fill` */
  Copies: 8,
  /** can be entered otherwise than by a direct call: exported, start function, in a table, `ref.func` */
  Escapes: 16,
} as const;

/** Who calls whom directly, and how big each function is. All arrays are indexed by function index. */
export interface CallGraph {
  /** imported and defined functions */
  count: number;
  imported: number;
  /** number of instructions; 0 for imports */
  instructions: Uint32Array;
  traits: Uint8Array;
  /** distinct callees of each function, ascending by first call: `callees.subarray(from, to)` of these bounds */
  calleeBounds: Uint32Array;
  callees: Uint32Array;
  callerBounds: Uint32Array;
  callers: Uint32Array;
}

/** The functions that `index` calls directly, each once. */
export function calleesOf(graph: CallGraph, index: number): Uint32Array {
  return graph.callees.subarray(graph.calleeBounds[index], graph.calleeBounds[index + 1]);
}

/** The functions that call `index` directly, each once. */
export function callersOf(graph: CallGraph, index: number): Uint32Array {
  return graph.callers.subarray(graph.callerBounds[index], graph.callerBounds[index + 1]);
}

/** One pass over the code section. Throws `FormatError` where it cannot be read. */
export function buildCallGraph(module: WasmModule): CallGraph {
  const { bytes, bodies, importedFunctionCount: imported } = module;
  const kinds = IMMEDIATE_KIND;
  const count = Math.max(functionCount(module), imported + bodies.length);
  const instructions = new Uint32Array(count);
  const traits = new Uint8Array(count);
  const calleeBounds = new Uint32Array(count + 1);
  const lastCaller = new Uint32Array(count).fill(0xffffffff);
  const callerCounts = new Uint32Array(count);
  let callees = new Uint32Array(Math.max(1024, bodies.length * 4));
  let calleeCount = 0;

  for (let defined = 0; defined < bodies.length; defined++) {
    const caller = imported + defined;
    const { codeStart, end } = bodies[defined];
    let position = codeStart;
    let instructionCount = 0;
    let trait = 0;
    while (position < end) {
      instructionCount++;
      const start = position;
      let id = bytes[position++];
      let kind = kinds[id];
      if (kind === None) continue;
      // Nine of ten instructions end here; the general steps below take twice the time.
      if (kind === Local || kind === I32 || kind === Label) {
        while (bytes[position++] >= 0x80);
        continue;
      }
      if (kind === Memarg && bytes[position] < MEMARG_HAS_MEMORY) {
        position++;
        while (bytes[position++] >= 0x80);
        continue;
      }
      if (id >= FIRST_PREFIX || kind > Zero) {
        id = opcodeIdAt(bytes, start);
        kind = kinds[id];
        position = skipOpcode(bytes, start);
        if (id === MEMORY_COPY || id === MEMORY_FILL) trait |= Trait.Copies;
      } else if (kind === Func) {
        const callee = readU32Leb(bytes, position);
        if (callee >= count) {
          // The rewriter reports broken modules; here an unknown function is just not an edge.
        } else if (id === REF_FUNC) {
          traits[callee] |= Trait.Escapes;
        } else if ((id === CALL || id === RETURN_CALL) && lastCaller[callee] !== caller) {
          lastCaller[callee] = caller;
          callerCounts[callee]++;
          if (calleeCount === callees.length) callees = grown(callees);
          callees[calleeCount++] = callee;
        }
      } else if (id === LOOP) trait |= Trait.Loops;
      else if (id === CALL_INDIRECT) trait |= Trait.CallsIndirectly;
      else if (id === MEMORY_GROW) trait |= Trait.Grows;
      position = skipImmediates(bytes, position, kind);
    }
    instructions[caller] = instructionCount;
    traits[caller] |= trait;
    calleeBounds[caller + 1] = calleeCount;
  }
  for (let index = 0; index < count; index++) {
    if (calleeBounds[index + 1] < calleeBounds[index]) calleeBounds[index + 1] = calleeBounds[index];
  }
  markEscapes(module, traits);
  const edges = callees.slice(0, calleeCount);
  return {
    count,
    imported,
    instructions,
    traits,
    calleeBounds,
    callees: edges,
    ...invert(count, calleeBounds, edges, callerCounts),
  };
}

function grown(array: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(array.length * 2);
  larger.set(array);
  return larger;
}

function invert(count: number, calleeBounds: Uint32Array, callees: Uint32Array, callerCounts: Uint32Array) {
  const callerBounds = new Uint32Array(count + 1);
  for (let index = 0; index < count; index++)
    callerBounds[index + 1] = callerBounds[index] + callerCounts[index];
  const next = callerBounds.slice();
  const callers = new Uint32Array(callees.length);
  for (let caller = 0; caller < count; caller++) {
    for (let i = calleeBounds[caller]; i < calleeBounds[caller + 1]; i++)
      callers[next[callees[i]]++] = caller;
  }
  return { callerBounds, callers };
}

function markEscapes(module: WasmModule, traits: Uint8Array): void {
  const mark = (index: number) => {
    if (index < traits.length) traits[index] |= Trait.Escapes;
  };
  for (const { kind, index } of module.exports) if (kind === "function") mark(index);
  if (module.start !== undefined) mark(module.start);
  for (const { items } of module.elements) {
    if (items.kind === "functions") for (const index of items.indices) mark(index);
    else for (const { start, end } of items.expressions) markReferences(module.bytes, start, end, mark);
  }
  for (const { initial } of module.globals) markReferences(module.bytes, initial.start, initial.end, mark);
  for (const { initial } of module.tables) {
    if (initial !== undefined) markReferences(module.bytes, initial.start, initial.end, mark);
  }
}

/** Calls `mark` for each `ref.func` of a constant expression. */
function markReferences(bytes: Uint8Array, start: number, end: number, mark: (index: number) => void): void {
  for (let position = start; position < end; ) {
    const id = opcodeIdAt(bytes, position);
    const immediates = skipOpcode(bytes, position);
    if (id === REF_FUNC) mark(readU32Leb(bytes, immediates));
    position = skipImmediates(bytes, immediates, IMMEDIATE_KIND[id]);
  }
}
