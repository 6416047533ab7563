import { FormatError } from "../bytes/errors.ts";
import { readU32Leb } from "../bytes/leb128.ts";
import { ByteWriter } from "../bytes/writer.ts";
import {
  ACCESS_KIND,
  AccessKind,
  bytesOf,
  decodeModule,
  funcTypeAt,
  functionTypeIndex,
  IMMEDIATE_KIND,
  ImmediateKind,
  importsOf,
  opcodeId,
  opcodeIdAt,
  skipImmediates,
  skipOpcode,
  type ValType,
  type WasmModule,
} from "../wasm/index.ts";
import type { AppendedFunctions } from "./appended-functions.ts";

const CALL = opcodeId("call");
const GLOBAL_GET = opcodeId("global.get");
const GLOBAL_SET = opcodeId("global.set");
const I32_CONST = opcodeId("i32.const");
const HAS_MEMORY_INDEX = 0x40;

export interface RuntimeSurroundings {
  appended: AppendedFunctions;
  /** Memory index of the shadow memory in the instrumented module. */
  shadowMemory: number;
  /** Index the runtime's first own global gets. */
  firstGlobal: number;
  /** Values of the imported constants, by name. */
  constants: Record<string, number>;
  /** Functions of the instrumented module that stand for imported ones, by name. */
  hosts: Record<string, number>;
}

export interface MergedRuntime {
  /** Function indices in the instrumented module by exported name. */
  functions: ReadonlyMap<string, number>;
  /** The runtime's own globals: type byte and initial expression. */
  globals: { type: ValType; initial: Uint8Array }[];
}

/**
 * Puts the compiled shadow runtime's functions behind the module's own. Its memory becomes the shadow memory, its
 * imported constants become constants, its imported functions those of `hosts`.
 */
export function mergeRuntime(runtimeBytes: Uint8Array, around: RuntimeSurroundings): MergedRuntime {
  const runtime = decodeModule(runtimeBytes);
  const indices: number[] = importsOf(runtime, "function").map(({ field }) => around.hosts[field]);
  const imported = runtime.importedFunctionCount;
  runtime.bodies.forEach((_, i) => {
    const type = funcTypeAt(runtime, functionTypeIndex(runtime, imported + i));
    indices.push(
      around.appended.add(around.appended.typeIndexOf(type), () => relocateBody(runtime, i, indices, around)),
    );
  });
  const functions = new Map<string, number>();
  for (const { name, kind, index } of runtime.exports)
    if (kind === "function") functions.set(name, indices[index]);
  return {
    functions,
    globals: runtime.globals.map(({ type, initial }) => ({ type, initial: bytesOf(runtime, initial) })),
  };
}

function relocateBody(
  runtime: WasmModule,
  body: number,
  functions: number[],
  around: RuntimeSurroundings,
): Uint8Array {
  const { bytes } = runtime;
  const constants = importsOf(runtime, "global").map(({ field }) => around.constants[field]);
  const { start, codeStart, end } = runtime.bodies[body];
  const writer = new ByteWriter((end - start) * 2).range(bytes, start, codeStart);
  for (let pos = codeStart; pos < end; ) {
    const op = opcodeIdAt(bytes, pos);
    const immediates = skipOpcode(bytes, pos);
    const next = skipImmediates(bytes, immediates, IMMEDIATE_KIND[op]);
    if (op === CALL) writer.u8(op).u32Leb(functions[readU32Leb(bytes, immediates)]);
    else if (op === GLOBAL_GET || op === GLOBAL_SET) {
      const global = readU32Leb(bytes, immediates);
      if (global < constants.length) writer.u8(I32_CONST).s32Leb(constants[global] | 0);
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
  return writer.finish();
}
