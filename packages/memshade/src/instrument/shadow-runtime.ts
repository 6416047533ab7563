import { FormatError } from "../bytes/errors.ts";
import { readU32Leb } from "../bytes/leb128.ts";
import { ByteWriter } from "../bytes/writer.ts";
import {
  ACCESS_KIND,
  AccessKind,
  bytesOf,
  decodeLocals,
  decodeModule,
  encodeConstantExpression,
  funcTypeAt,
  functionTypeIndex,
  I32,
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
  /** Whether constants with long encodings become globals, except in code that takes the place of a call. */
  constantGlobals?: boolean;
  /** Functions of the instrumented module that stand for imported ones, by name. Calls of others are left out. */
  hosts: Record<string, number>;
  /** Memory of the program, for the loads that runtimes import from `program`. */
  programMemory?: number;
}

export interface MergedRuntime {
  functions: RuntimeFunctions;
  /** The runtime's own globals: type byte and initial expression; mutable unless it says otherwise. */
  globals: { type: ValType; initial: Uint8Array; mutable?: boolean }[];
  inlined: InlineFunction;
}

/** Indices in the instrumented module of the runtime's functions, by exported name. What nobody asks for stays out. */
export interface RuntimeFunctions {
  get(name: string): number | undefined;
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
  const used = new UsedFunctions(runtime);
  const constants = importsOf(runtime, "global").map(({ field }) => around.constants[field]);
  const long = constants.flatMap((value, global) =>
    around.constantGlobals === true && typeof value === "number" && Math.abs(value | 0) >= LONG_CONSTANT
      ? [global]
      : [],
  );
  const firstConstant = around.firstGlobal + runtime.globals.length;
  const places: RuntimePlaces = {
    indices,
    intrinsics,
    constants,
    constantGlobal: (global) => (long.includes(global) ? firstConstant + long.indexOf(global) : -1),
    use: (callee) => used.add(callee),
  };
  runtime.bodies.forEach((_, i) => {
    const type = funcTypeAt(runtime, functionTypeIndex(runtime, imported + i));
    indices.push(
      around.appended.addLate(around.appended.typeIndexOf(type), () =>
        used.has(imported + i) ? relocateBody(runtime, i, places, around) : TRAP,
      ),
    );
  });
  const exported = new Map(
    runtime.exports.filter(({ kind }) => kind === "function").map(({ name, index }) => [name, index]),
  );
  return {
    functions: {
      get: (name) => {
        const index = exported.get(name);
        if (index === undefined) return undefined;
        used.add(index);
        return indices[index];
      },
    },
    globals: [
      ...runtime.globals.map(({ type, initial }) => ({ type, initial: bytesOf(runtime, initial) })),
      ...long.map((global) => ({
        type: I32,
        initial: encodeConstantExpression(I32, (constants[global] as number) | 0),
        mutable: false,
      })),
    ],
    inlined: (name, firstLocal) => {
      const index = exported.get(name) as number;
      const body = index - imported;
      const { params } = funcTypeAt(runtime, functionTypeIndex(runtime, index));
      const locals = [...params];
      for (const { count, type } of decodeLocals(runtime, runtime.bodies[body]))
        for (let i = 0; i < count; i++) locals.push(type);
      const writer = new ByteWriter(1024);
      for (let i = params.length - 1; i >= 0; i--) writer.u8(LOCAL_SET).u32Leb(firstLocal + i);
      writer.u8(BLOCK).u8(EMPTY_BLOCK);
      writeCode(writer, runtime, body, places, around, firstLocal);
      return { locals, code: writer.finish() };
    },
  };
}

/** Constants from here on take four bytes and more, so a global takes less. */
const LONG_CONSTANT = 2 ** 20;
/** Body of a function that nobody calls: no locals, `unreachable`, `end`. */
const TRAP = new Uint8Array([0, 0x00, END]);

/** What stands for the runtime's functions and imported globals, by the index they have in the runtime. */
interface RuntimePlaces {
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

/** Functions of the runtime that are called, and all that they call. */
class UsedFunctions {
  readonly #runtime: WasmModule;
  readonly #used = new Set<number>();

  constructor(runtime: WasmModule) {
    this.#runtime = runtime;
  }

  has(index: number): boolean {
    return this.#used.has(index);
  }

  add(index: number): void {
    if (this.#used.has(index)) return;
    this.#used.add(index);
    const { bytes, bodies, importedFunctionCount } = this.#runtime;
    if (index < importedFunctionCount) return;
    const { codeStart, end } = bodies[index - importedFunctionCount];
    for (let pos = codeStart; pos < end; ) {
      const op = opcodeIdAt(bytes, pos);
      const immediates = skipOpcode(bytes, pos);
      if (op === CALL) this.add(readU32Leb(bytes, immediates));
      pos = skipImmediates(bytes, immediates, IMMEDIATE_KIND[op]);
    }
  }
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
  places: RuntimePlaces,
  around: RuntimeSurroundings,
): Uint8Array {
  const { start, codeStart, end } = runtime.bodies[body];
  const writer = new ByteWriter((end - start) * 2).range(runtime.bytes, start, codeStart);
  writeCode(writer, runtime, body, places, around);
  return writer.finish();
}

/** Writes a body's instructions, the last `end` included. With a `firstLocal`, for a block: it returns by leaving it. */
function writeCode(
  writer: ByteWriter,
  runtime: WasmModule,
  body: number,
  { indices, intrinsics, constants, constantGlobal, use }: RuntimePlaces,
  around: RuntimeSurroundings,
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
    else if (op === END) depth--;
    if (firstLocal !== undefined && op === RETURN) writer.u8(BR).u32Leb(depth);
    else if (firstLocal !== undefined && (op === LOCAL_GET || op === LOCAL_SET || op === LOCAL_TEE))
      writer.u8(op).u32Leb(firstLocal + readU32Leb(bytes, immediates));
    else if (op === CALL) {
      const callee = readU32Leb(bytes, immediates);
      const intrinsic = intrinsics[callee];
      if (intrinsic === undefined) {
        use(callee);
        writer.u8(op).u32Leb(indices[callee]);
      } else writer.bytes(intrinsic);
    } else if (op === GLOBAL_GET || op === GLOBAL_SET) {
      const global = readU32Leb(bytes, immediates);
      const shared = firstLocal === undefined ? constantGlobal(global) : -1;
      const constant = constants[global];
      if (shared >= 0) writer.u8(op).u32Leb(shared);
      else if (typeof constant === "number") writer.u8(I32_CONST).s32Leb(constant | 0);
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
