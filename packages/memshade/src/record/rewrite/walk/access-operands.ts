import { F32, F64, I32, I64, OPCODES, opcodeId, V128, type ValType } from "../../../code/wasm/index.ts";

const TYPES: Readonly<Record<string, ValType>> = { i32: I32, i64: I64, f32: F32, f64: F64, v128: V128 };

const ABOVE = new Map<number, readonly ValType[]>();
for (const [, name, , signature] of OPCODES) {
  const [address, ...rest] = signature.split("->")[0].trim().split(" ");
  if (address === "addr")
    ABOVE.set(
      opcodeId(name),
      rest.map((type) => TYPES[type]),
    );
}

/** Returns the types of an access instruction's operands above its address, lowest first. */
export function operandsAbove(access: number): readonly ValType[] {
  return ABOVE.get(access) ?? [];
}
