import {
  ACCESS_KIND,
  AccessKind,
  IMMEDIATE_KIND,
  ImmediateKind,
  type OpcodeName,
  opcodeId,
  POP_COUNT,
  PUSH_COUNT,
  UNKNOWN_OPCODE,
} from "../../../code/wasm/index.ts";
import * as Op from "../../../code/wasm/op.generated.ts";

/** What the walk does with an instruction; everything not named here only moves operands. */
export const Action = {
  Compute: 0,
  Access: 1,
  LocalGet: 2,
  Const: 3,
  LocalSet: 4,
  Arithmetic: 5,
  GlobalGet: 6,
  Plain: 7,
  Other: 8,
} as const;

/** The action of each opcode, by its id. */
export const ACTION = new Uint8Array(IMMEDIATE_KIND.length);
for (let id = 0; id < ACTION.length; id++) {
  const access = ACCESS_KIND[id];
  const computes = IMMEDIATE_KIND[id] === ImmediateKind.None && PUSH_COUNT[id] === 1;
  ACTION[id] = computes ? Action.Compute : Action.Plain;
  if (IMMEDIATE_KIND[id] === UNKNOWN_OPCODE) ACTION[id] = Action.Other;
  else if (access !== AccessKind.None && access !== AccessKind.Notify) ACTION[id] = Action.Access;
  else if (POP_COUNT[id] < 0 || PUSH_COUNT[id] < 0) ACTION[id] = Action.Other;
}
function act(action: number, ...names: OpcodeName[]): void {
  for (const name of names) ACTION[opcodeId(name)] = action;
}
act(Action.LocalGet, "local.get");
act(Action.LocalSet, "local.set", "local.tee");
act(Action.GlobalGet, "global.get");
act(Action.Const, "i32.const", "i64.const");
act(Action.Arithmetic, "i32.add", "i32.sub", "i32.and", "i32.shl", "i32.mul", "i64.add", "i64.sub");
act(Action.Other, "unreachable", "return", "throw", "rethrow", "throw_ref", "br", "br_if", "br_table");
act(Action.Other, "memory.copy", "memory.fill", "memory.init", "br_on_null", "br_on_non_null");
act(Action.Other, "global.set", "memory.grow");
act(Action.Other, "br_on_cast", "br_on_cast_fail");
for (let id: number = Op.STRUCT_NEW; id <= Op.ARRAY_INIT_ELEM; id++) ACTION[id] = Action.Other;
