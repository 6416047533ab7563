import { decodeLocals } from "./decode/code.ts";
import { ImmediateKind } from "./immediates.ts";
import { functionType } from "./lookups.ts";
import { functionName, type ModuleNames } from "./names.ts";
import * as Op from "./op.generated.ts";
import { opcodeId } from "./opcodes.ts";
import {
  type BlockType,
  type Immediates,
  iterateOperators,
  type Memarg,
  type Operator,
} from "./operators.ts";
import {
  formatHeapType,
  formatType,
  heapTypeOf,
  isNullable,
  type ValType,
  type WasmModule,
} from "./types.ts";

const DEEPEST_INDENTATION = 40;

const REF_TEST_NULL = opcodeId("ref.test null");
const REF_CAST_NULL = opcodeId("ref.cast null");

/**
 * A defined function as text, for people: a header line, then one instruction a line with its offset in the
 * code section (the address that DWARF uses), indented by block depth. Names are added where they are known.
 */
export function printFunction(module: WasmModule, functionIndex: number, names?: ModuleNames): string {
  const body = module.bodies[functionIndex - module.importedFunctionCount];
  if (body === undefined) return `func ${functionIndex} is not defined in this module`;
  const lines = [printHeader(module, functionIndex, names)];
  let depth = 1;
  for (const operator of iterateOperators(module, body)) {
    const { id } = operator;
    const closes = id === Op.END || id === Op.DELEGATE;
    const divides = id === Op.ELSE || id === Op.CATCH || id === Op.CATCH_ALL;
    if (closes || divides) depth--;
    const offset = (operator.offset - module.codePayloadStart).toString(16).padStart(6, "0");
    lines.push(`${offset}  ${indentation(depth)}${printOperator(operator, module, names)}`);
    if (divides || opensBlock(operator)) depth++;
  }
  return lines.join("\n");
}

/** Nesting is shown up to a bound: a body can nest as deep as it is long. */
function indentation(depth: number): string {
  return "  ".repeat(Math.min(Math.max(0, depth), DEEPEST_INDENTATION));
}

function printHeader(module: WasmModule, functionIndex: number, names?: ModuleNames): string {
  const body = module.bodies[functionIndex - module.importedFunctionCount];
  const { params, results } = functionType(module, functionIndex);
  const locals = decodeLocals(module, body).map(
    ({ count, type }) => ` (local ${count} × ${formatType(type)})`,
  );
  const name = nameOf(module, functionIndex, names);
  return `func ${functionIndex}${name}${printTypes("param", params)}${printTypes("result", results)}${locals.join("")}`;
}

function opensBlock(operator: Operator): boolean {
  const { kind } = operator.immediates;
  return kind === ImmediateKind.BlockType || kind === ImmediateKind.TryTable;
}

function printTypes(keyword: string, types: readonly ValType[]): string {
  return types.length === 0 ? "" : ` (${keyword} ${types.map(formatType).join(" ")})`;
}

function nameOf(module: WasmModule, functionIndex: number, names?: ModuleNames): string {
  const name = names && functionName(module, names, functionIndex);
  return name === undefined ? "" : ` $${name}`;
}

/** One instruction in the manner of the text format, without its offset. */
export function printOperator(operator: Operator, module?: WasmModule, names?: ModuleNames): string {
  const { id, name, immediates } = operator;
  if (immediates.kind === ImmediateKind.RefHeapType)
    return printReferenceOperator(id, name, immediates.heapType);
  const operands = printImmediates(immediates);
  const isFunction = immediates.kind === ImmediateKind.Func && module !== undefined;
  return `${name}${operands}${isFunction ? nameOf(module, immediates.index, names) : ""}`;
}

function printReferenceOperator(id: number, name: string, heapType: number): string {
  const target = formatHeapType(heapType);
  if (id === Op.REF_TEST || id === Op.REF_CAST) return `${name} (ref ${target})`;
  if (id === REF_TEST_NULL || id === REF_CAST_NULL)
    return `${name.replace(" null", "")} (ref null ${target})`;
  return `${name} ${target}`;
}

function printImmediates(immediates: Immediates): string {
  switch (immediates.kind) {
    case ImmediateKind.None:
    case ImmediateKind.Zero:
      return "";
    case ImmediateKind.BlockType:
      return printBlockType(immediates.blockType);
    case ImmediateKind.LabelTable:
      return ` ${[...immediates.labels, immediates.defaultLabel].join(" ")}`;
    case ImmediateKind.Memarg:
      return printMemarg(immediates.memarg);
    case ImmediateKind.MemargLane:
      return `${printMemarg(immediates.memarg)} ${immediates.lane}`;
    case ImmediateKind.Lane:
      return ` ${immediates.lane}`;
    case ImmediateKind.Shuffle:
      return ` ${immediates.lanes.join(" ")}`;
    case ImmediateKind.I32:
    case ImmediateKind.I64:
      return ` ${immediates.value}`;
    case ImmediateKind.F32:
      return ` ${printFloat(viewOf(immediates.bytes).getFloat32(0, true), immediates.bytes)}`;
    case ImmediateKind.F64:
      return ` ${printFloat(viewOf(immediates.bytes).getFloat64(0, true), immediates.bytes)}`;
    case ImmediateKind.V128:
      return ` i8x16 ${Array.from(immediates.bytes, (byte) => `0x${hexByte(byte)}`).join(" ")}`;
    case ImmediateKind.ValTypes:
      return printTypes("result", immediates.types);
    case ImmediateKind.RefHeapType:
      return ` ${formatHeapType(immediates.heapType)}`;
    case ImmediateKind.TryTable: {
      const clauses = immediates.catches.map((clause) => {
        const tag = "tag" in clause ? `${clause.tag} ` : "";
        return ` (${clause.kind} ${tag}${clause.label})`;
      });
      return printBlockType(immediates.blockType) + clauses.join("");
    }
    case ImmediateKind.BrOnCast:
      return ` ${immediates.label} ${printReference(immediates.source)} ${printReference(immediates.target)}`;
    case ImmediateKind.CallIndirect:
      return ` ${immediates.second} (type ${immediates.first})`;
    case ImmediateKind.DataMemory:
    case ImmediateKind.ElemTable:
      return ` ${immediates.second} ${immediates.first}`;
    default:
      return "index" in immediates ? ` ${immediates.index}` : ` ${immediates.first} ${immediates.second}`;
  }
}

function printBlockType(blockType: BlockType): string {
  if (blockType.kind === "empty") return "";
  return blockType.kind === "value"
    ? ` (result ${formatType(blockType.type)})`
    : ` (type ${blockType.index})`;
}

function printMemarg({ align, memory, offset }: Memarg): string {
  const parts = [memory === 0 ? "" : ` ${memory}`, offset === 0n ? "" : ` offset=${offset}`];
  return `${parts.join("")} align=${2 ** align}`;
}

function printReference(type: ValType): string {
  return `(ref ${isNullable(type) ? "null " : ""}${formatHeapType(heapTypeOf(type))})`;
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function printFloat(value: number, bytes: Uint8Array): string {
  if (Number.isNaN(value)) return `nan:0x${Array.from(bytes, hexByte).reverse().join("")}`;
  if (Object.is(value, -0)) return "-0";
  return String(value).replace("Infinity", "inf");
}

function hexByte(byte: number): string {
  return byte.toString(16).padStart(2, "0");
}
