import { FormatError } from "../bytes/errors.ts";
import { readU32Leb } from "../bytes/leb128.ts";
import { ByteWriter } from "../bytes/writer.ts";
import {
  ACCESS_KIND,
  AccessKind,
  bytesOf,
  decodeLocals,
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

const BLOCK = opcodeId("block");
const BR = opcodeId("br");
const CALL = opcodeId("call");
const END = opcodeId("end");
const RETURN = opcodeId("return");
const LOCAL_GET = opcodeId("local.get");
const LOCAL_SET = opcodeId("local.set");
const LOCAL_TEE = opcodeId("local.tee");
const EMPTY_BLOCK = 0x40;
const GLOBAL_GET = opcodeId("global.get");
const GLOBAL_SET = opcodeId("global.set");
const I32_CONST = opcodeId("i32.const");
const I32_LOAD8_U = opcodeId("i32.load8_u");
const I64_LOAD = opcodeId("i64.load");
const MEMORY_SIZE = opcodeId("memory.size");
const HAS_MEMORY_INDEX = 0x40;

export interface RuntimeSurroundings {
  appended: AppendedFunctions;
  /** Memory index of the shadow memory in the instrumented module. */
  shadowMemory: number;
  /** Index the runtime's first own global gets. */
  firstGlobal: number;
  /** Values of the imported constants, by name, or code that pushes them. */
  constants: Record<string, number | Uint8Array>;
  /** Functions of the instrumented module that stand for imported ones, by name. Calls of others are left out. */
  hosts: Record<string, number>;
  /** Memory of the program, for the loads that runtimes import from `program`. */
  programMemory?: number;
}

export interface MergedRuntime {
  /** Function indices in the instrumented module by exported name. */
  functions: ReadonlyMap<string, number>;
  /** The runtime's own globals: type byte and initial expression. */
  globals: { type: ValType; initial: Uint8Array }[];
  inlined: InlineFunction;
}

/**
 * The code of an exported function to stand where a call of it would: its parameters and locals become the caller's,
 * from `firstLocal` on, zero at first; the arguments are on the stack. For functions without results.
 */
export type InlineFunction = (name: string, firstLocal: number) => { locals: ValType[]; code: Uint8Array };

/**
 * Puts the compiled shadow runtime's functions behind the module's own. Its memory becomes the shadow memory, its
 * imported constants become constants, its imported functions those of `hosts`.
 */
export function mergeRuntime(runtimeBytes: Uint8Array, around: RuntimeSurroundings): MergedRuntime {
  const runtime = decodeModule(runtimeBytes);
  const indices: number[] = importsOf(runtime, "function").map(({ field }) => around.hosts[field]);
  const intrinsics = importsOf(runtime, "function").map((entry) =>
    entry.module === "program"
      ? programIntrinsic(entry.field, around.programMemory ?? 0)
      : around.hosts[entry.field] === undefined
        ? NOTHING
        : undefined,
  );
  const imported = runtime.importedFunctionCount;
  runtime.bodies.forEach((_, i) => {
    const type = funcTypeAt(runtime, functionTypeIndex(runtime, imported + i));
    indices.push(
      around.appended.add(around.appended.typeIndexOf(type), () =>
        relocateBody(runtime, i, { functions: indices, intrinsics }, around),
      ),
    );
  });
  const functions = new Map<string, number>();
  for (const { name, kind, index } of runtime.exports)
    if (kind === "function") functions.set(name, indices[index]);
  return {
    functions,
    globals: runtime.globals.map(({ type, initial }) => ({ type, initial: bytesOf(runtime, initial) })),
    inlined: (name, firstLocal) => {
      const { index } = runtime.exports.find((entry) => entry.name === name) as { index: number };
      const body = index - imported;
      const { params } = funcTypeAt(runtime, functionTypeIndex(runtime, index));
      const locals = [...params];
      for (const { count, type } of decodeLocals(runtime, runtime.bodies[body]))
        for (let i = 0; i < count; i++) locals.push(type);
      const writer = new ByteWriter(1024);
      for (let i = params.length - 1; i >= 0; i--) writer.u8(LOCAL_SET).u32Leb(firstLocal + i);
      writer.u8(BLOCK).u8(EMPTY_BLOCK);
      writeCode(writer, runtime, body, { functions: indices, intrinsics }, around, firstLocal);
      return { locals, code: writer.finish() };
    },
  };
}

/** Functions by the index they have in the runtime: their new index, or the instruction that takes a call's place. */
interface RuntimeFunctions {
  functions: readonly number[];
  intrinsics: readonly (Uint8Array | undefined)[];
}

const NOTHING = new Uint8Array(0);

/** What a call of a function imported from `program` becomes: an instruction on the program's own memory. */
function programIntrinsic(name: string, memory: number): Uint8Array {
  const writer = new ByteWriter(8);
  if (name === "pages") return writer.u8(MEMORY_SIZE).u32Leb(memory).finish();
  writer.u8(name === "load64" ? I64_LOAD : I32_LOAD8_U);
  if (memory === 0) writer.u8(0);
  else writer.u8(HAS_MEMORY_INDEX).u32Leb(memory);
  return writer.u32Leb(0).finish();
}

function relocateBody(
  runtime: WasmModule,
  body: number,
  functions: RuntimeFunctions,
  around: RuntimeSurroundings,
): Uint8Array {
  const { start, codeStart, end } = runtime.bodies[body];
  const writer = new ByteWriter((end - start) * 2).range(runtime.bytes, start, codeStart);
  writeCode(writer, runtime, body, functions, around);
  return writer.finish();
}

/** Writes a body's instructions, the last `end` included. With a `firstLocal`, for a block: it returns by leaving it. */
function writeCode(
  writer: ByteWriter,
  runtime: WasmModule,
  body: number,
  { functions, intrinsics }: RuntimeFunctions,
  around: RuntimeSurroundings,
  firstLocal?: number,
): void {
  const { bytes } = runtime;
  const constants = importsOf(runtime, "global").map(({ field }) => around.constants[field]);
  const { codeStart, end } = runtime.bodies[body];
  let depth = 0;
  for (let pos = codeStart; pos < end; ) {
    const op = opcodeIdAt(bytes, pos);
    const immediates = skipOpcode(bytes, pos);
    const next = skipImmediates(bytes, immediates, IMMEDIATE_KIND[op]);
    if (IMMEDIATE_KIND[op] === ImmediateKind.BlockType) depth++;
    else if (op === END) depth--;
    if (firstLocal !== undefined && op === RETURN) writer.u8(BR).u32Leb(depth);
    else if (firstLocal !== undefined && (op === LOCAL_GET || op === LOCAL_SET || op === LOCAL_TEE))
      writer.u8(op).u32Leb(firstLocal + readU32Leb(bytes, immediates));
    else if (op === CALL) {
      const callee = readU32Leb(bytes, immediates);
      const intrinsic = intrinsics[callee];
      if (intrinsic === undefined) writer.u8(op).u32Leb(functions[callee]);
      else writer.bytes(intrinsic);
    } else if (op === GLOBAL_GET || op === GLOBAL_SET) {
      const global = readU32Leb(bytes, immediates);
      const constant = constants[global];
      if (typeof constant === "number") writer.u8(I32_CONST).s32Leb(constant | 0);
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
