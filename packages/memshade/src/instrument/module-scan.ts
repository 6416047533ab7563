import { readU32Leb, skipLeb32 } from "../bytes/leb128.ts";
import {
  ACCESS_KIND,
  AccessKind,
  IMMEDIATE_KIND,
  ImmediateKind,
  opcodeId,
  opcodeIdAt,
  skipImmediates,
  skipOpcode,
  type WasmModule,
} from "../wasm/index.ts";
import { grown } from "./operand-stack.ts";

export const FunctionFact = {
  HasLoop: 1,
  /** Loads, stores, atomics or bulk memory instructions. */
  HasAccess: 2,
  HasCall: 4,
  HasIndirectCall: 8,
  HasIndirectTailCall: 16,
} as const;

/** What one pass over the code section tells of every defined function. */
export interface ModuleScan {
  /** `FunctionFact` bits per defined function. */
  facts: Uint8Array;
  /** Direct calls of defined function `i` are `callees[firstCallee[i] … firstCallee[i + 1]]`, repeats included. */
  callees: Int32Array;
  firstCallee: Int32Array;
  /** Per global: functions that begin by moving it down, as a prologue moves the stack pointer. */
  prologues: Map<number, number>;
  /** Functions of which instructions make references. */
  references: Set<number>;
}

const LOOP = opcodeId("loop");
const CALL = opcodeId("call");
const RETURN_CALL = opcodeId("return_call");
const INDIRECT = new Set(
  (["call_indirect", "return_call_indirect", "call_ref", "return_call_ref"] as const).map(opcodeId),
);
const BULK = new Set((["memory.copy", "memory.fill", "memory.init"] as const).map(opcodeId));
const REF_FUNC = opcodeId("ref.func");
const GLOBAL_GET = opcodeId("global.get");
const I32_CONST = opcodeId("i32.const");
const I64_CONST = opcodeId("i64.const");
const I32_SUB = opcodeId("i32.sub");
const I64_SUB = opcodeId("i64.sub");

const FACT_OF = new Uint8Array(IMMEDIATE_KIND.length);
for (let id = 0; id < FACT_OF.length; id++) {
  if (ACCESS_KIND[id] !== AccessKind.None && ACCESS_KIND[id] !== AccessKind.Notify)
    FACT_OF[id] = FunctionFact.HasAccess;
  if (BULK.has(id)) FACT_OF[id] = FunctionFact.HasAccess;
  if (INDIRECT.has(id)) FACT_OF[id] = FunctionFact.HasCall | FunctionFact.HasIndirectCall;
}
for (const name of ["return_call_indirect", "return_call_ref"] as const)
  FACT_OF[opcodeId(name)] |= FunctionFact.HasIndirectTailCall;
FACT_OF[LOOP] = FunctionFact.HasLoop;
FACT_OF[CALL] = FunctionFact.HasCall;
FACT_OF[RETURN_CALL] = FunctionFact.HasCall;

export function scanModule(module: WasmModule): ModuleScan {
  const { bytes, bodies } = module;
  const facts = new Uint8Array(bodies.length);
  const firstCallee = new Int32Array(bodies.length + 1);
  let callees = new Int32Array(4096);
  let count = 0;
  const prologues = new Map<number, number>();
  const references = new Set<number>();
  for (let i = 0; i < bodies.length; i++) {
    const { codeStart, end } = bodies[i];
    let bits = 0;
    let pos = codeStart;
    const global = prologueGlobal(bytes, codeStart, end);
    if (global >= 0) prologues.set(global, (prologues.get(global) ?? 0) + 1);
    while (pos < end) {
      let op = bytes[pos];
      if (op >= 0xfb || IMMEDIATE_KIND[op] === 0xff) {
        op = opcodeIdAt(bytes, pos);
        pos = skipOpcode(bytes, pos);
      } else pos++;
      bits |= FACT_OF[op];
      if (op === CALL || op === RETURN_CALL) {
        if (count === callees.length) callees = grown(callees, count * 2);
        callees[count++] = readU32Leb(bytes, pos);
        pos = skipLeb32(bytes, pos);
      } else if (op === REF_FUNC) {
        references.add(readU32Leb(bytes, pos));
        pos = skipLeb32(bytes, pos);
      } else {
        const kind = IMMEDIATE_KIND[op];
        // One byte of an index is by far the most common immediate.
        if (kind === ImmediateKind.None) continue;
        if (kind === ImmediateKind.Local && bytes[pos] < 128) pos++;
        else pos = skipImmediates(bytes, pos, kind);
      }
    }
    facts[i] = bits;
    firstCallee[i + 1] = count;
  }
  return { facts, callees: callees.subarray(0, count), firstCallee, prologues, references };
}

/** The global of `global.get g; const n; sub` at the start of a body, −1 if it starts differently. */
function prologueGlobal(bytes: Uint8Array, codeStart: number, end: number): number {
  if (bytes[codeStart] !== GLOBAL_GET) return -1;
  const constant = skipLeb32(bytes, codeStart + 1);
  if (bytes[constant] !== I32_CONST && bytes[constant] !== I64_CONST) return -1;
  const sub = skipImmediates(bytes, constant + 1, IMMEDIATE_KIND[bytes[constant]]);
  if (sub >= end || (bytes[sub] !== I32_SUB && bytes[sub] !== I64_SUB)) return -1;
  return readU32Leb(bytes, codeStart + 1);
}
