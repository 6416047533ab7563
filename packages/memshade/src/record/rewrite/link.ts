import {
  ACCESS_KIND,
  AccessKind,
  bytesOf,
  decodeLocals,
  decodeModule,
  encodeConstantExpression,
  type FuncType,
  funcTypeAt,
  functionTypeIndex,
  I32,
  IMMEDIATE_KIND,
  ImmediateKind,
  importsOf,
  opcodeIdAt,
  skipImmediates,
  skipOpcode,
  type ValType,
  type WasmModule,
  writeOpcode,
} from "../../code/wasm/index.ts";
import * as Op from "../../code/wasm/op.generated.ts";
import { FormatError } from "../../ground/bytes/errors.ts";
import { readU32Leb } from "../../ground/bytes/leb128.ts";
import { ByteWriter } from "../../ground/bytes/writer.ts";
import type { AppendedFunctions } from "./write/appended-functions.ts";
import { BodyBuilder } from "./write/body-builder.ts";

interface RuntimeSurroundings extends CodeSurroundings {
  appended: AppendedFunctions;
  /** Values of the imported constants by name, or code that pushes them. */
  constants: Record<string, number | Uint8Array>;
  /** Module with the functions that may be inlined instead of called. */
  commonPath?: Uint8Array | undefined;
  /** True if constants with long encodings become globals, except in inlined code. */
  constantGlobals?: boolean;
  /** Functions of the instrumented module that replace imported ones, by name. Calls of other imports are left out. */
  hosts: Record<string, number>;
  /** Memory of the program, for loads that runtimes import from `program`. */
  programMemory?: number;
  /** True if the program's memory has i64 addresses. The runtime's addresses are i32 in any case. */
  programMemory64?: boolean;
  /** Global of the program's stack pointer, an i32, for runtimes that import `stack`; −1 or absent if unknown. */
  stackPointer?: number;
  /**
   * Memory of the shadow stack and global of its newest frame, for runtimes that import `frames`; absent if there is
   * none.
   */
  frames?: { memory: number; global: number } | undefined;
  /** Memories of tables, by the module name of their imports. All other tables lie in the shadow memory. */
  tables?: Readonly<Record<string, number>>;
}

export interface MergedRuntime {
  functions: RuntimeFunctions;
  /** Globals of the runtime: type byte and initial expression. They are mutable by default. */
  globals: { type: ValType; initial: Uint8Array; mutable?: boolean }[];
  inlined: InlineFunction | undefined;
}

/**
 * Indices of the runtime's functions in the instrumented module, by exported name. Functions that are never requested
 * get no body.
 */
export interface RuntimeFunctions {
  get(name: string): number | undefined;
}

/**
 * Appends the compiled runtime's functions to the module. The runtime's memory becomes the shadow memory, its imported
 * constants become constants, and its imported functions become those of `hosts`.
 */
export function mergeRuntime(runtimeBytes: Uint8Array, surroundings: RuntimeSurroundings): MergedRuntime {
  const runtime = decodeModule(runtimeBytes);
  const constants = importsOf(runtime, "global").map(({ field }) => surroundings.constants[field]);
  const imports = importsOf(runtime, "function");
  const imported = imports.length;
  const exported = new Map(
    runtime.exports.filter(({ kind }) => kind === "function").map(({ name, index }) => [name, index]),
  );
  const inlined = surroundings.commonPath && inlineFunctions(surroundings.commonPath, surroundings);
  const used = new UsedFunctions(
    runtime,
    imports.map((entry) => (entry.module === "hook" ? (exported.get(`${entry.field}Rarely`) as number) : -1)),
  );
  const indices: number[] = imports.map(({ field }, index) => {
    const rarely = used.instead[index];
    if (rarely < 0) return surroundings.hosts[field];
    const type = funcTypeAt(runtime, functionTypeIndex(runtime, index));
    return surroundings.appended.addLate(surroundings.appended.typeIndexOf(type), () =>
      used.has(index) ? hookFunction(field, type, indices[rarely], inlined) : TRAP,
    );
  });
  const intrinsics = imports.map((entry, index) =>
    MEMORIES.has(entry.module)
      ? INTRINSICS[entry.field](
          entry.module === "program"
            ? (surroundings.programMemory ?? 0)
            : (surroundings.tables?.[entry.module] ?? surroundings.shadowMemory),
          entry.module === "program" && surroundings.programMemory64 === true,
        )
      : entry.module === "stack"
        ? stackAccess(entry.field === "set", surroundings.stackPointer ?? -1)
        : entry.module === "frames"
          ? frameAccess(entry.field === "newest", surroundings.frames)
          : indices[index] === undefined
            ? NOTHING
            : undefined,
  );
  const long = constants.flatMap((value, global) =>
    surroundings.constantGlobals === true && typeof value === "number" && Math.abs(value | 0) >= LONG_CONSTANT
      ? [global]
      : [],
  );
  const firstConstant = surroundings.firstGlobal + runtime.globals.length;
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
      surroundings.appended.addLate(surroundings.appended.typeIndexOf(type), () =>
        used.has(imported + i) ? relocateBody(runtime, i, places, surroundings) : TRAP,
      ),
    );
  });
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
    inlined,
  };
}

/** Constants from here on take at least four bytes, more than a global. */
const LONG_CONSTANT = 2 ** 20;
/** Body of a function that is never called: no locals, `unreachable`, `end`. */
const TRAP = new Uint8Array([0, 0x00, Op.END]);

class UsedFunctions {
  readonly #runtime: WasmModule;
  readonly #used = new Set<number>();
  /**
   * Function called when the inlined path of an imported function does not apply, by index of the import; −1 for most.
   */
  readonly instead: readonly number[];

  constructor(runtime: WasmModule, instead: readonly number[]) {
    this.#runtime = runtime;
    this.instead = instead;
  }

  has(index: number): boolean {
    return this.#used.has(index);
  }

  add(index: number): void {
    if (this.#used.has(index)) return;
    this.#used.add(index);
    const { bytes, bodies, importedFunctionCount } = this.#runtime;
    if (index < importedFunctionCount) {
      if (this.instead[index] >= 0) this.add(this.instead[index]);
      return;
    }
    const { codeStart, end } = bodies[index - importedFunctionCount];
    for (let pos = codeStart; pos < end; ) {
      const op = opcodeIdAt(bytes, pos);
      const immediates = skipOpcode(bytes, pos);
      if (op === Op.CALL) this.add(readU32Leb(bytes, immediates));
      pos = skipImmediates(bytes, immediates, IMMEDIATE_KIND[op]);
    }
  }
}

const NOTHING = new Uint8Array(0);

/** Import modules whose functions are instructions on a memory. */
const MEMORIES: ReadonlySet<string> = new Set(["program", "shadow", "writers", "readers"]);

/** Instructions that replace calls of an imported function of this name. */
const INTRINSICS: Readonly<Record<string, (memory: number, is64: boolean) => Uint8Array>> = {
  pages: (memory, is64) => {
    const size = instruction(Op.MEMORY_SIZE).u32Leb(memory);
    return (is64 ? size.u8(Op.I32_WRAP_I64) : size).finish();
  },
  load8: (memory, is64) => access(Op.I32_LOAD8_U, memory, is64),
  load32: (memory, is64) => access(Op.I32_LOAD, memory, is64),
  // Touches the page by a write that changes nothing, without a prior load.
  claim: (memory, is64) => {
    const code = new ByteWriter(16);
    if (is64) code.u8(Op.I64_EXTEND_I32_U);
    code.u8(Op.I32_CONST).u8(0).u8(Op.I32_CONST).u8(0);
    writeOpcode(code, Op.I32_ATOMIC_RMW_CMPXCHG);
    return writeMemarg(code, 2, memory).u8(Op.DROP).finish();
  },
  load64: (memory, is64) => access(Op.I64_LOAD, memory, is64),
  load128: (memory) => access(Op.V128_LOAD, memory),
  store32: (memory) => access(Op.I32_STORE, memory),
  store128: (memory) => access(Op.V128_STORE, memory),
  copy: (memory) => instruction(Op.MEMORY_COPY).u32Leb(memory).u32Leb(memory).finish(),
  fill: (memory) => instruction(Op.MEMORY_FILL).u32Leb(memory).finish(),
};

function instruction(op: number): ByteWriter {
  const writer = new ByteWriter(16);
  writeOpcode(writer, op);
  return writer;
}

/** Returns code that reads or sets the program's stack pointer; 0 if it is unknown. */
function stackAccess(sets: boolean, global: number): Uint8Array {
  if (global >= 0)
    return instruction(sets ? Op.GLOBAL_SET : Op.GLOBAL_GET)
      .u32Leb(global)
      .finish();
  return sets ? instruction(Op.DROP).finish() : instruction(Op.I32_CONST).s32Leb(0).finish();
}

/**
 * Returns code that reads the shadow stack: the address of its newest frame, or a word of it; 0 without a shadow stack.
 */
function frameAccess(isNewest: boolean, frames: RuntimeSurroundings["frames"]): Uint8Array {
  if (frames === undefined) {
    const zero = instruction(Op.I32_CONST).s32Leb(0).finish();
    return isNewest ? zero : new Uint8Array([Op.DROP, ...zero]);
  }
  return isNewest
    ? instruction(Op.GLOBAL_GET).u32Leb(frames.global).finish()
    : access(Op.I32_LOAD, frames.memory);
}

/** Returns a load or store without displacement or alignment; `is64` for loads only. */
function access(op: number, memory: number, is64 = false): Uint8Array {
  const writer = is64 ? instruction(Op.I64_EXTEND_I32_U) : new ByteWriter(16);
  writeOpcode(writer, op);
  return writeMemarg(writer, 0, memory).finish();
}

function writeMemarg(writer: ByteWriter, align: number, memory: number): ByteWriter {
  if (memory === 0) writer.u8(align);
  else writer.u8(HAS_MEMORY_INDEX | align).u32Leb(memory);
  return writer.u32Leb(0);
}

const HAS_MEMORY_INDEX = 0x40;

interface CodeSurroundings {
  shadowMemory: number;
  firstGlobal: number;
}

/** Replacements of the runtime's functions and imported globals, by index in the runtime. */
interface RuntimePlaces {
  /** New indices of functions, except those that an instruction replaces. */
  indices: readonly number[];
  intrinsics: readonly (Uint8Array | undefined)[];
  constants: readonly (number | Uint8Array)[];
  /** Returns the index of the global that holds the value of an imported one; −1 if none does. */
  constantGlobal(global: number): number;
  /** Called for each written call of the function. */
  use(callee: number): void;
}

function relocateBody(
  runtime: WasmModule,
  body: number,
  places: RuntimePlaces,
  surroundings: CodeSurroundings,
): Uint8Array {
  const { start, codeStart, end } = runtime.bodies[body];
  const writer = new ByteWriter((end - start) * 2).range(runtime.bytes, start, codeStart);
  writeCode(writer, runtime, body, places, surroundings);
  return writer.finish();
}

/**
 * Writes a body's instructions, including the last `end`. With a `firstLocal`, the code is inlined as a block: a return
 * leaves the block, and a call leaves the enclosing block instead.
 */
function writeCode(
  writer: ByteWriter,
  runtime: WasmModule,
  body: number,
  { indices, intrinsics, constants, constantGlobal, use }: RuntimePlaces,
  surroundings: CodeSurroundings,
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
      else writer.u8(op).u32Leb(surroundings.firstGlobal + global - constants.length);
    } else if (ACCESS_KIND[op] !== AccessKind.None) {
      writer.range(bytes, pos, immediates);
      writer.u8(bytes[immediates] | HAS_MEMORY_INDEX).u32Leb(surroundings.shadowMemory);
      writer.range(bytes, immediates + 1, next);
    } else {
      switch (IMMEDIATE_KIND[op]) {
        case ImmediateKind.Memory:
          writer.range(bytes, pos, immediates).u32Leb(surroundings.shadowMemory);
          break;
        case ImmediateKind.TwoMemories:
          writer
            .range(bytes, pos, immediates)
            .u32Leb(surroundings.shadowMemory)
            .u32Leb(surroundings.shadowMemory);
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

const EMPTY_BLOCK = 0x40;

/**
 * Returns inline code of an exported function of the common path. Its parameters and locals become locals of the caller
 * from `firstLocal` on and must be zero at first; its arguments are on the stack. Only functions without results can be
 * inlined. A call of `otherwise` leaves the innermost enclosing block.
 */
export type InlineFunction = (name: string, firstLocal: number) => { locals: ValType[]; code: Uint8Array };

function inlineFunctions(
  bytes: Uint8Array,
  surroundings: CodeSurroundings & { constants: Record<string, number | Uint8Array> },
): InlineFunction {
  const module = decodeModule(bytes);
  const constants = importsOf(module, "global").map(({ field }) => surroundings.constants[field]);
  const imported = module.importedFunctionCount;
  // `otherwise` is the only imported function.
  const places: RuntimePlaces = {
    indices: [],
    intrinsics: [],
    constants,
    constantGlobal: () => -1,
    use: () => {},
  };
  return (name, firstLocal) => {
    const { index } = module.exports.find((entry) => entry.name === name) as { index: number };
    const body = index - imported;
    const { params } = funcTypeAt(module, functionTypeIndex(module, index));
    const locals = [...params];
    for (const { count, type } of decodeLocals(module, module.bodies[body]))
      for (let i = 0; i < count; i++) locals.push(type);
    const writer = new ByteWriter(1024);
    for (let i = params.length - 1; i >= 0; i--) writer.u8(Op.LOCAL_SET).u32Leb(firstLocal + i);
    writer.u8(Op.BLOCK).u8(EMPTY_BLOCK);
    writeCode(writer, module, body, places, surroundings, firstLocal);
    return { locals, code: writer.finish() };
  };
}

/** Returns the body of a function that runs a hook's inlined path, and calls `otherwise` for everything else. */
function hookFunction(
  name: string,
  { params }: FuncType,
  otherwise: number,
  inlined: InlineFunction | undefined,
): Uint8Array {
  const common = inlined?.(name, params.length);
  const body = new BodyBuilder(common?.locals);
  if (common !== undefined) {
    body.open("block");
    for (let i = 0; i < params.length - 1; i++) body.op("local.get", i);
    body.instructions(common.code).op("return").end();
  }
  for (let i = 0; i < params.length; i++) body.op("local.get", i);
  return body.op("return_call", otherwise).finish();
}
