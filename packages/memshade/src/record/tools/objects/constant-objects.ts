import {
  IMMEDIATE_KIND,
  opcodeIdAt,
  skipImmediates,
  skipOpcode,
  type WasmModule,
} from "../../../code/wasm/index.ts";
import * as Op from "../../../code/wasm/op.generated.ts";
import { readS32Leb, readU32Leb, skipLeb32 } from "../../../ground/bytes/leb128.ts";
import { allocates, hasLength } from "./instructions.ts";

export interface ConstantObject {
  readonly type: number;
  /** Number of elements, or the code that pushes it if it is not one constant. */
  readonly elements: number | Uint8Array;
}

/** A value of an expression: the start of its instructions, and its value if it is one constant. */
interface Value {
  readonly start: number;
  readonly constant: number | undefined;
}

/** Returns the objects that the expressions of globals, tables and elements make. */
export function constantObjects(module: WasmModule): ConstantObject[] {
  const expressions = [
    ...module.globals.map(({ initial }) => initial),
    ...module.tables.flatMap(({ initial }) => initial ?? []),
    ...module.elements.flatMap(({ items }) => (items.kind === "expressions" ? items.expressions : [])),
  ];
  return expressions.flatMap(({ start, end }) => objectsOf(module, start, end));
}

function objectsOf({ bytes, types }: WasmModule, from: number, end: number): ConstantObject[] {
  const found: ConstantObject[] = [];
  const stack: Value[] = [];
  for (let at = from; at < end; ) {
    const op = opcodeIdAt(bytes, at);
    const immediates = skipOpcode(bytes, at);
    if (op === Op.END) break;
    let operands = BINARY.has(op) ? 2 : UNARY.has(op) ? 1 : 0;
    if (allocates(op)) {
      const type = readU32Leb(bytes, immediates);
      const second = op === Op.ARRAY_NEW_FIXED ? readU32Leb(bytes, skipLeb32(bytes, immediates)) : 0;
      const definition = types[type];
      if (op === Op.STRUCT_NEW) operands = definition.kind === "struct" ? definition.fields.length : 0;
      else if (op === Op.ARRAY_NEW) operands = 2;
      else if (op === Op.ARRAY_NEW_DEFAULT) operands = 1;
      else operands = second;
      const length = hasLength(op) ? stack.at(-1) : undefined;
      const elements = length === undefined ? second : (length.constant ?? bytes.slice(length.start, at));
      found.push({ type, elements });
    }
    const [first] = operands === 0 ? [] : stack.splice(-operands);
    const constant = op === Op.I32_CONST ? readS32Leb(bytes, immediates) >>> 0 : undefined;
    stack.push({ start: first?.start ?? at, constant });
    at = skipImmediates(bytes, immediates, IMMEDIATE_KIND[op]);
  }
  return found;
}

const BINARY = new Set<number>([Op.I32_ADD, Op.I32_SUB, Op.I32_MUL, Op.I64_ADD, Op.I64_SUB, Op.I64_MUL]);
const UNARY = new Set<number>([Op.REF_I31, Op.ANY_CONVERT_EXTERN, Op.EXTERN_CONVERT_ANY]);
