import { entryOf } from "../../ground/bytes/entries.ts";
import { FormatError } from "../../ground/bytes/errors.ts";
import { readS64Leb, skipLeb64 } from "../../ground/bytes/leb128.ts";
import { decodeModule } from "../wasm/decode.ts";
import { functionType, memoryCount, memoryType } from "../wasm/lookups.ts";
import { functionName, readNames, segmentAddress } from "../wasm/names.ts";
import { type FuncType, I64, V128, type WasmModule } from "../wasm/types.ts";
import {
  type AssembledCode,
  Assembler,
  GENERAL,
  type Label,
  place,
  R15,
  RBP,
  RSP,
  relative,
} from "../x64/index.ts";
import { assignRegisters } from "./allocate.ts";
import { type Address, constant, type FunctionCode, isConstant, NONE, type Source } from "./code.ts";
import {
  ARGUMENTS,
  CALLER_SAVED,
  maskOf,
  STACK_ARGUMENTS_FROM,
  SYSTEM_ARGUMENTS,
  SYSTEM_KILLS,
} from "./convention.ts";
import {
  C_FUNCTION,
  emitFunction,
  MEMORY_SLOT,
  type StackRow,
  type WrittenFunction,
} from "./emit/function.ts";
import { BodyLowering, type Entry, type Rule } from "./lower/body.ts";
import { CONTROL_RULES } from "./lower/control.ts";
import { INTEGER_RULES } from "./lower/integers.ts";
import { MEMORY_RULES, store, VECTOR_RULES } from "./lower/vectors.ts";
import { type CompileOptions, ModuleContext } from "./module-context.ts";

const NATIVE_MODULE = "native";

/** Functions that read the caller's frame, and addresses in the image. */
const FRAME_WORDS = ["returnAddress", "stackPointer", "framePointer"];
const IMAGE_ADDRESSES: Readonly<Record<string, string>> = {
  text: "text",
  scratch: "scratch",
  memorySlot: "memory",
};

function nativeCall(body: BodyLowering, name: string, type: FuncType): void {
  if (name === "load128" || name === "store128") {
    accessVector(body, name, type);
    return;
  }
  if (type.results.length > 1 || [...type.params, ...type.results].includes(V128))
    throw body.unsupported("such a type is not possible here");
  const access = /^(load|store)(8|16|32|64)$/.exec(name);
  const { stack, builder } = body;
  if (access !== null) accessProcess(body, access[1], Number(access[2]) / 8, type);
  else if (/^syscall[0-6]$/.test(name)) systemCall(body, type);
  else if (name === "tlsLoad" || name === "tlsStore") accessThread(body, name, type);
  else if (name === "jump") {
    expectShape(body, type, 2, 0);
    if (!builder.code.exported) throw body.unsupported("only exported functions can be left so");
    builder.add("jump out", NONE, stack.popArguments(2));
  } else if (FRAME_WORDS.includes(name)) {
    if (!builder.code.exported) throw body.unsupported("only exported functions have such a frame");
    stack.push(builder.make("frame", [], { name, wide: true }));
  } else if (IMAGE_ADDRESSES[name] !== undefined)
    stack.push(builder.make("image address", [], { name: IMAGE_ADDRESSES[name], wide: true }));
  else {
    const from = stack.popArguments(type.params.length);
    if (from.length > 6) throw body.unsupported("a C function with more than six arguments");
    result(body, "call C", from, type, { name, kills: CALLER_SAVED, killsVectors: true });
  }
}

function accessProcess(body: BodyLowering, kind: string, bytes: number, type: FuncType): void {
  const { stack, builder, options } = body;
  expectShape(body, type, kind === "load" ? 1 : 2, kind === "load" ? 1 : 0);
  if (kind === "load") {
    const effect = options.keepTraps === true;
    const wide = type.results[0] === I64;
    stack.push(builder.make("load", [processPlace(body, stack.pop())], { bytes, wide, effect }));
    return;
  }
  const value = stack.popPlain();
  store(builder, processPlace(body, stack.pop()), value, bytes, stack.locals);
}

function accessVector(body: BodyLowering, name: string, type: FuncType): void {
  const { stack, builder, options } = body;
  if (name === "load128") {
    expectShape(body, type, 1, 1);
    const effect = options.keepTraps === true;
    stack.push(builder.make("vector load", [processPlace(body, stack.pop())], { bytes: 16, effect }, true));
    return;
  }
  expectShape(body, type, 2, 0);
  const value = stack.popValue();
  builder.add("vector store", NONE, [processPlace(body, stack.pop()), value], { bytes: 16 });
}

/** Returns the place in the process that an entry addresses. The 64 bits wrap as those of the machine do. */
function processPlace({ stack }: BodyLowering, entry: Entry): Address {
  if (typeof entry === "object" && entry.kind === "sum" && entry.wide) return entry.address;
  return { kind: "address", base: stack.value(entry), index: NONE, scale: 1, displacement: 0, linear: false };
}

function systemCall(body: BodyLowering, type: FuncType): void {
  const [number, ...from] = body.stack.popArguments(type.params.length);
  // The argument registers are filled before the number of the call.
  if (number === undefined || !isConstant(number))
    throw body.unsupported("the number of a system call is a constant");
  const kills = SYSTEM_KILLS | maskOf(SYSTEM_ARGUMENTS.slice(0, from.length));
  result(body, "system call", from, type, { number: Number(number.value), kills });
}

function accessThread(body: BodyLowering, name: string, type: FuncType): void {
  const { stack, builder } = body;
  if (name === "tlsLoad") {
    expectShape(body, type, 1, 1);
    const wide = type.results[0] === I64;
    stack.push(builder.make("thread load", [stack.popPlain()], { wide }));
    return;
  }
  expectShape(body, type, 2, 0);
  const value = stack.popPlain();
  builder.add("thread store", NONE, [stack.popPlain(), value], { wide: type.params[1] === I64 });
}

function result(
  body: BodyLowering,
  op: "call C" | "system call",
  from: readonly Source[],
  type: FuncType,
  details: { name?: string; number?: number; kills: number; killsVectors?: boolean },
): void {
  const properties = { ...details, effect: true };
  if (type.results.length === 0) body.builder.add(op, NONE, from, properties);
  else body.stack.push(body.builder.make(op, from, { ...properties, wide: type.results[0] === I64 }));
}

function expectShape(body: BodyLowering, type: FuncType, params: number, results: number): void {
  if (type.params.length === params && type.results.length === results) return;
  throw body.unsupported(`it takes ${params} and returns ${results}`);
}

/**
 * Four bytes of code at `offset` that get the distance from there to the target, plus `addend`.
 * - `c`: the GOT entry of the C function `name`
 * - `thread`: the GOT entry with the offset of the image's thread-local storage
 * - `memory`: the word with the address of linear memory
 * - `text` and `scratch`: the areas of the image with these names
 */
export interface CodeRelocation {
  kind: "c" | "thread" | "memory" | "text" | "scratch";
  name: string;
  offset: number;
  addend: number;
}

/** Canonical frame address from `offset` on: `cfa` bytes above the stack pointer. */
export interface FrameRow {
  offset: number;
  cfa: number;
}

export interface CodeFunction {
  name: string;
  start: number;
  end: number;
  rows: FrameRow[];
  /**
   * Registers saved `at` bytes below the canonical frame address, valid from `offset` on. Numbers are those of the
   * instruction set.
   */
  saved: { register: number; offset: number; at: number }[];
  /** Range in which the canonical frame address is 16 bytes above rbp instead. */
  framePointer?: { from: number; to: number };
}

export interface NativeCode {
  /** instructions, followed from `literals` on by constants and tables; aligned to 16 bytes in memory */
  code: Uint8Array;
  literals: number;
  entries: Map<string, number>;
  relocations: CodeRelocation[];
  functions: CodeFunction[];
  /** Initial values of mutable globals: bytes at a negative distance from the start of linear memory. */
  globals: { at: number; bytes: Uint8Array }[];
  data: { address: number; bytes: Uint8Array }[];
}

/**
 * Compiles a module's exported functions and everything that they call to machine code. The same module and options
 * give the same bytes.
 *
 * @throws UnsupportedCode for code outside the subset, with the function, the offset in the module and the
 * instruction
 * @throws FormatError if the module is not valid
 */
export function compile(bytes: Uint8Array, options: CompileOptions = {}): NativeCode {
  const wasm = decodeModule(bytes);
  if (!WebAssembly.validate(bytes as BufferSource))
    throw new FormatError("malformed", 0, "WebAssembly module", "it is not valid");
  refuse(wasm);
  const entries = exportedFunctions(wasm, options.exports);
  const context = new ModuleContext(wasm, options, new Set(entries.values()));
  const opening = entries.get(OPENER);
  const bare = new Set([OPENER, ...(options.withoutMemory ?? [])].map((name) => entries.get(name)));

  const asm = new Assembler();
  const labels = new Map<number, Label>();
  const functions = (index: number) => {
    const label = entryOf(labels, index, () => asm.label());
    return label;
  };
  const opener = opening === undefined ? undefined : asm.label();
  const written = new Map<number, WrittenFunction>();
  for (const index of context.wanted) {
    if (index < wasm.importedFunctionCount)
      throw new FormatError("unsupported", 0, "export", "it is an imported function");
    const code = lowerFunction(context, index);
    const assignment = assignRegisters(code, options.registers);
    const entry = { loadsBase: code.exported && !bare.has(index), opener };
    written.set(index, emitFunction(asm, code, assignment, entry, functions));
  }
  const opened = opener === undefined ? undefined : emitOpener(asm, opener, functions(opening as number));
  return nativeCode(asm.finish(), { context, entries, written, opener: opened });
}

function refuse(wasm: WasmModule): void {
  const fail = (construct: string) => {
    throw new FormatError("unsupported", 0, construct, "machine code is made of modules without it");
  };
  if (wasm.start !== undefined) fail("start function");
  if (memoryCount(wasm) > 1) fail("second memory");
  if (memoryCount(wasm) > 0 && memoryType(wasm, 0).index64) fail("64-bit memory");
  for (const segment of wasm.data)
    if (segmentAddress(wasm, segment) === undefined) fail("passive or placed segment");
}

function exportedFunctions(wasm: WasmModule, wanted: readonly string[] | undefined): Map<string, number> {
  const missing = wanted?.find(
    (exportName) => !wasm.exports.some(({ kind, name }) => kind === "function" && name === exportName),
  );
  if (missing !== undefined)
    throw new FormatError("malformed", 0, "export", `no function is exported as ${missing}`);
  const functions = wasm.exports.filter(
    ({ kind, name }) => kind === "function" && (wanted?.includes(name) ?? true),
  );
  return new Map(functions.map(({ name, index }) => [name, index]));
}

interface Parts {
  context: ModuleContext;
  entries: ReadonlyMap<string, number>;
  written: ReadonlyMap<number, WrittenFunction>;
  opener: WrittenFunction | undefined;
}

export function nativeCode(
  assembled: AssembledCode,
  { context, entries, written, opener }: Parts,
): NativeCode {
  const { wasm } = context;
  const { bytes: code, literals, offsetOf } = assembled;
  const names = readNames(wasm);
  const functions = [...written].map(([index, writtenFunction]) =>
    framesOf(functionName(wasm, names, index) ?? `function ${index}`, writtenFunction, offsetOf),
  );
  if (opener !== undefined) functions.push(openerFrames(opener, offsetOf));
  const start = (index: number) => offsetOf((written.get(index) as WrittenFunction).start);
  return {
    code,
    literals,
    functions,
    entries: new Map([...entries].map(([name, index]) => [name, start(index)])),
    relocations: assembled.relocations.map(({ symbol, offset, addend }) => {
      const isC = symbol.startsWith(C_FUNCTION);
      const kind = (isC ? "c" : symbol) as CodeRelocation["kind"];
      return { kind, name: isC ? symbol.slice(C_FUNCTION.length) : "", offset, addend };
    }),
    globals: wasm.globals.flatMap((_, i) => {
      const home = context.global(wasm.importedGlobalCount + i);
      return home?.kind === "variable" ? [{ at: home.place.displacement, bytes: home.initial }] : [];
    }),
    data: wasm.data.map((segment) => ({
      address: segmentAddress(wasm, segment) as number,
      bytes: wasm.bytes.slice(segment.start, segment.end),
    })),
  };
}

function framesOf(
  name: string,
  { start, end, rows }: WrittenFunction,
  offsetOf: AssembledCode["offsetOf"],
): CodeFunction {
  const frameRows: FrameRow[] = rows.map(({ at, cfa }) => ({ offset: offsetOf(at), cfa }));
  const saved = rows.flatMap(({ at, cfa, pushed }) =>
    pushed === undefined ? [] : [{ register: pushed, offset: offsetOf(at), at: cfa }],
  );
  return { name, start: offsetOf(start), end: offsetOf(end), rows: frameRows, saved };
}

function openerFrames(opener: WrittenFunction, offsetOf: AssembledCode["offsetOf"]): CodeFunction {
  const frames = framesOf("memory_open caller", opener, offsetOf);
  const [from, to] = [frames.rows[2].offset, frames.rows[3].offset];
  return { ...frames, framePointer: { from, to } };
}

const VARIABLE_RULES: Readonly<Record<string, Rule>> = {
  "local.get": ({ reader, stack }) => stack.push(reader.u32Leb()),
  "local.set": (body) => setLocal(body, body.reader.u32Leb()),
  "local.tee": (body) => {
    const local = body.reader.u32Leb();
    setLocal(body, local);
    body.stack.push(local);
  },
  "global.get": (body) => {
    const { stack, builder, module } = body;
    const global = module.global(body.reader.u32Leb());
    if (global === undefined) throw body.unsupported("the global has no value");
    if (global.kind === "constant") stack.push(constant(global.value));
    else if (global.type === V128)
      stack.push(builder.make("vector load", [global.place], { bytes: 16 }, true));
    else {
      const bytes = module.globalBytes(global);
      stack.push(builder.make("load", [global.place], { bytes, wide: bytes === 8 }));
    }
  },
  "global.set": (body) => {
    const { stack, builder, module } = body;
    const global = module.global(body.reader.u32Leb());
    if (global?.kind !== "variable") throw body.unsupported("the global has no place");
    const vector = global.type === V128;
    const value = stack.popPlain();
    const bytes = module.globalBytes(global);
    builder.add(vector ? "vector store" : "store", NONE, [global.place, value], { bytes });
  },
  "i32.const": ({ reader, stack }) => stack.push(constant(reader.s32Leb() >>> 0)),
  "i64.const": ({ reader, stack }) => {
    stack.push(constant(readS64Leb(reader.bytes, reader.position)));
    reader.position = skipLeb64(reader.bytes, reader.position);
  },
  drop: ({ stack }) => {
    stack.pop();
  },
  select: (body, { name }) => {
    const { stack, builder, reader } = body;
    if (name === "typed") for (let count = reader.u32Leb(); count > 0; count--) body.checkType(reader.u8());
    const condition = stack.pop();
    const otherwise = stack.popPlain();
    const chosen = stack.popPlain();
    if (typeof chosen === "number" && builder.code.vector[chosen]) {
      const past = builder.newLabel();
      const to = builder.make("move", [chosen], {}, true);
      const { from, ...comparison } = stack.condition(condition);
      builder.add("branch", NONE, from, { ...comparison, label: past });
      builder.add("move", to, [otherwise]);
      builder.add("label", NONE, [], { label: past });
      stack.push(to);
      return;
    }
    const { from, ...comparison } = stack.condition(condition);
    stack.push(builder.make("select", [...from, chosen, otherwise], comparison));
  },
};

function setLocal({ stack, builder }: BodyLowering, local: number): void {
  const entry = stack.pop();
  const computed = stack.isResult(entry) ? builder.takeLast() : undefined;
  stack.keep(local);
  if (computed === undefined) stack.into(local, entry);
  else builder.code.instructions.push({ ...computed, to: local });
}

const CALL_RULES: Readonly<Record<string, Rule>> = {
  call: (body) => {
    const { module, stack, builder } = body;
    const callee = body.reader.u32Leb();
    const type = functionType(module.wasm, callee);
    for (const valueType of [...type.params, ...type.results]) body.checkType(valueType);
    if (callee < module.wasm.importedFunctionCount) {
      const entry = module.importedFunctions[callee];
      if (entry.module !== NATIVE_MODULE)
        throw body.unsupported(`${entry.module}.${entry.field} is imported`);
      body.instruction = `call of native.${entry.field}`;
      nativeCall(body, entry.field, type);
      return;
    }
    if (type.results.length > 1) throw body.unsupported("several results");
    const from = stack.popArguments(type.params.length);
    module.wanted.add(callee);
    const [vectors, general] = [true, false].map(
      (is) => type.params.filter((param) => (param === V128) === is).length,
    );
    if (vectors > VECTOR_ARGUMENTS) throw body.unsupported("it has too many vectors");
    const call = {
      label: callee,
      kills: CALLER_SAVED,
      killsVectors: true,
      effect: true,
      number: Math.max(0, general - STACK_ARGUMENTS_FROM),
    };
    if (type.results.length === 0) builder.add("call", NONE, from, call);
    else stack.push(builder.make("call", from, call, type.results[0] === V128));
  },
};

const VECTOR_ARGUMENTS = 8;

const RULES: Readonly<Record<string, Rule>> = {
  ...CONTROL_RULES,
  ...VARIABLE_RULES,
  ...INTEGER_RULES,
  ...MEMORY_RULES,
  ...CALL_RULES,
  ...VECTOR_RULES,
};

function lowerFunction(module: ModuleContext, index: number): FunctionCode {
  return new BodyLowering(module, index).run(RULES);
}

const SAVED_BYTES = 8 * ARGUMENTS.length + 16;

/**
 * Emits code that an exported function calls while linear memory is not mapped. It keeps the function's arguments,
 * calls the function that maps the memory, and leaves the address in r15.
 */
function emitOpener(asm: Assembler, start: Label, opening: Label): WrittenFunction {
  asm.bind(start);
  const rows: StackRow[] = [{ at: asm.here(), cfa: 8 }];
  asm.put("push", 8, RBP);
  rows.push({ at: asm.here(), cfa: 16, pushed: RBP.number });
  asm.put("mov", 8, RBP, RSP);
  rows.push({ at: asm.here(), cfa: 16 });
  asm.put("sub", 8, RSP, SAVED_BYTES);
  // The caller's frame may not be aligned.
  asm.put("and", 8, RSP, -16);
  ARGUMENTS.forEach((register, i) => {
    asm.put("mov", 8, place(RSP, 8 * i), GENERAL[register]);
  });
  asm.call(opening);
  ARGUMENTS.forEach((register, i) => {
    asm.put("mov", 8, GENERAL[register], place(RSP, 8 * i));
  });
  asm.put("mov", 8, R15, relative(MEMORY_SLOT));
  asm.put("mov", 8, RSP, RBP);
  asm.put("pop", 8, RBP);
  rows.push({ at: asm.here(), cfa: 8 });
  asm.put("ret", 8);
  return { start, end: asm.here(), rows };
}

/**
 * Exported function that maps linear memory. It runs without linear memory and stores the address in the image's
 * word for it.
 */
const OPENER = "memory_open";
