import {
  ACCESS_KIND,
  AccessKind,
  IMMEDIATE_KIND,
  ImmediateKind,
  opcodeIdAt,
  skipImmediates,
  skipOpcode,
  type WasmModule,
} from "../../../code/wasm/index.ts";
import * as Op from "../../../code/wasm/op.generated.ts";
import { FormatError } from "../../../ground/bytes/errors.ts";
import { readU32Leb } from "../../../ground/bytes/leb128.ts";
import { ByteWriter } from "../../../ground/bytes/writer.ts";

const HAS_MEMORY_INDEX = 0x40;

/** Where relocated code lies in the instrumented module. */
export interface CodeSurroundings {
  /** Memory index of the shadow memory in the instrumented module. */
  shadowMemory: number;
  /** Index the runtime's first own global gets. */
  firstGlobal: number;
}

/** What stands for the runtime's functions and imported globals, by the index they have in the runtime. */
export interface RuntimePlaces {
  /** New indices of functions, but for those with an instruction that takes a call's place. */
  indices: readonly number[];
  intrinsics: readonly (Uint8Array | undefined)[];
  /** Values of imported globals, or code that pushes them. */
  constants: readonly (number | Uint8Array)[];
  /** Index of the global that holds the value of an imported one, −1 if none does. */
  constantGlobal(global: number): number;
  /** A call of the function is written. */
  use(callee: number): void;
}

/** A body of the runtime as it stands in the instrumented module. */
export function relocateBody(
  runtime: WasmModule,
  body: number,
  places: RuntimePlaces,
  around: CodeSurroundings,
): Uint8Array {
  const { start, codeStart, end } = runtime.bodies[body];
  const writer = new ByteWriter((end - start) * 2).range(runtime.bytes, start, codeStart);
  writeCode(writer, runtime, body, places, around);
  return writer.finish();
}

/**
 * Writes a body's instructions, the last `end` included. With a `firstLocal`, for a block: it returns by leaving it, and
 * leaves the one around it instead of calling.
 */
export function writeCode(
  writer: ByteWriter,
  runtime: WasmModule,
  body: number,
  { indices, intrinsics, constants, constantGlobal, use }: RuntimePlaces,
  around: CodeSurroundings,
  firstLocal?: number,
): void {
  const { bytes } = runtime;
  const { codeStart, end } = runtime.bodies[body];
  let depth = 0;
  for (let pos = codeStart; pos < end; ) {
    const op = opcodeIdAt(bytes, pos);
    const immediates = skipOpcode(bytes, pos);
    const next = skipImmediates(bytes, immediates, IMMEDIATE_KIND[op]);
    if (IMMEDIATE_KIND[op] === ImmediateKind.BlockType) depth++;
    else if (op === Op.END) depth--;
    if (firstLocal !== undefined && op === Op.RETURN) writer.u8(Op.BR).u32Leb(depth);
    else if (firstLocal !== undefined && (op === Op.LOCAL_GET || op === Op.LOCAL_SET || op === Op.LOCAL_TEE))
      writer.u8(op).u32Leb(firstLocal + readU32Leb(bytes, immediates));
    else if (firstLocal !== undefined && op === Op.CALL) writer.u8(Op.BR).u32Leb(depth + 1);
    else if (op === Op.CALL) {
      const callee = readU32Leb(bytes, immediates);
      const intrinsic = intrinsics[callee];
      if (intrinsic === undefined) {
        use(callee);
        writer.u8(op).u32Leb(indices[callee]);
      } else writer.bytes(intrinsic);
    } else if (op === Op.GLOBAL_GET || op === Op.GLOBAL_SET) {
      const global = readU32Leb(bytes, immediates);
      const shared = firstLocal === undefined ? constantGlobal(global) : -1;
      const constant = constants[global];
      if (shared >= 0) writer.u8(op).u32Leb(shared);
      else if (typeof constant === "number") writer.u8(Op.I32_CONST).s32Leb(constant | 0);
      else if (constant !== undefined) writer.bytes(constant);
      else writer.u8(op).u32Leb(around.firstGlobal + global - constants.length);
    } else if (ACCESS_KIND[op] !== AccessKind.None) {
      writer.range(bytes, pos, immediates);
      writer.u8(bytes[immediates] | HAS_MEMORY_INDEX).u32Leb(around.shadowMemory);
      writer.range(bytes, immediates + 1, next);
    } else {
      switch (IMMEDIATE_KIND[op]) {
        case ImmediateKind.Memory:
          writer.range(bytes, pos, immediates).u32Leb(around.shadowMemory);
          break;
        case ImmediateKind.TwoMemories:
          writer.range(bytes, pos, immediates).u32Leb(around.shadowMemory).u32Leb(around.shadowMemory);
          break;
        case ImmediateKind.BlockType:
          if (bytes[immediates] < 0x40)
            throw new FormatError(
              "unsupported",
              pos,
              "shadow runtime",
              "a block type refers to the type section",
            );
          writer.range(bytes, pos, next);
          break;
        default:
          writer.range(bytes, pos, next);
      }
    }
    pos = next;
  }
}
