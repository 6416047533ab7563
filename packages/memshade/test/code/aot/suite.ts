// Assertions of the core test suite about integers and vectors, run as machine code.

import { compile, type NativeCode } from "../../../src/code/aot/compile.ts";
import { UnsupportedCode } from "../../../src/code/aot/lower/body.ts";
import type { CompileOptions } from "../../../src/code/aot/module-context.ts";
import {
  decodeModule,
  functionType,
  memoryCount,
  memoryType,
  type WasmModule,
} from "../../../src/code/wasm/index.ts";
import { FormatError } from "../../../src/ground/bytes/errors.ts";
import type {
  Action,
  Script,
  Command as ScriptCommand,
  SuiteModule,
  Value,
} from "../../core-suite/script.ts";
import { type Argument, type Command, type Reply, runNative } from "./native-host.ts";

export interface SuiteResult {
  equal: number;
  /** Assertions that fail, as `script:line` with the actual result. */
  different: Record<string, string>;
}

interface Instance {
  native: NativeCode;
  wasm: WasmModule;
  pages: number;
  /** True if a command was left out that may affect later ones. */
  isUnknown: boolean;
  commands: {
    command: Command;
    line: number;
    expected: readonly Value[] | "trap" | undefined;
    type: string;
  }[];
}

const CONSTANTS = new Map([
  ["spectest.global_i32", 666n],
  ["spectest.global_i64", 666n],
]);

export function runSuiteScript(script: Script, options: CompileOptions): SuiteResult {
  const instances = collect(script, { keepTraps: true, constants: CONSTANTS, ...options });
  const result: SuiteResult = { equal: 0, different: {} };
  for (const { native, pages, commands } of instances) {
    if (commands.length === 0) continue;
    const replies = runNative(
      native,
      pages,
      commands.map(({ command }) => command),
    );
    commands.forEach(({ line, expected, type }, i) => {
      if (expected === undefined) return;
      const got = describe(replies[i], type);
      const wanted = expected === "trap" ? "trap" : expected.map((value) => bits(script, value)).join();
      if (got === wanted) result.equal++;
      else result.different[`${script.file}:${line}`] = `${got} instead of ${wanted}`;
    });
  }
  return result;
}

/** Modules of a script that can be compiled, each with its commands. */
function collect(script: Script, options: CompileOptions): Instance[] {
  const instances: (Instance | undefined)[] = [];
  const names = new Map<string, Instance | undefined>();
  const definitions = new Map<string, number>();
  let newest: Instance | undefined;
  const add = (index: number, name: string | undefined) => {
    const module: SuiteModule | undefined = script.modules[index];
    newest = module && instanceOf(Buffer.from(module.bytes, "base64"), options);
    instances.push(newest);
    if (name !== undefined) names.set(name, newest);
  };
  for (const command of script.commands)
    if (command.type === "module") add(command.module, command.name);
    else if (command.type === "static" || command.type === "unknown") continue;
    else if (command.type === "definition") definitions.set(command.name ?? "", command.module);
    else if (command.type === "instance") add(definitions.get(command.of) as number, command.name);
    else if ("action" in command && command.action !== undefined) {
      const { action } = command;
      const instance = action.module === undefined ? newest : names.get(action.module);
      if (instance !== undefined) addAction(script, instance, command, action);
    }
  return instances.filter((one) => one !== undefined);
}

function instanceOf(bytes: Uint8Array, options: CompileOptions): Instance | undefined {
  let wasm: WasmModule;
  const able: string[] = [];
  try {
    wasm = decodeModule(bytes);
    for (const { kind, name } of wasm.exports)
      if (kind === "function" && compiles(bytes, name, options)) able.push(name);
    const native = compile(bytes, { ...options, exports: able });
    const memory = wasm.memories.length + wasm.importedMemoryCount > 0 ? memoryType(wasm, 0) : undefined;
    const pages = memory === undefined ? 0 : memory.minimum;
    // Memory content written by another module is missing.
    if (
      wasm.importedMemoryCount > 0 ||
      native.data.some((one) => one.address + one.bytes.length > pages * 0x1_0000)
    )
      return undefined;
    return { native, wasm, pages, isUnknown: false, commands: [] };
  } catch (error) {
    if (error instanceof FormatError) return undefined;
    throw error;
  }
}

/** Cached results by function and module; the registers make no difference. */
const compilable = new Map<string, boolean>();

function compiles(bytes: Uint8Array, name: string, options: CompileOptions): boolean {
  const key = `${name} ${Buffer.from(bytes).toString("latin1")}`;
  const known = compilable.get(key) ?? tryToCompile(bytes, name, options);
  compilable.set(key, known);
  return known;
}

function tryToCompile(bytes: Uint8Array, name: string, options: CompileOptions): boolean {
  try {
    compile(bytes, { ...options, exports: [name] });
    return true;
  } catch (error) {
    if (error instanceof UnsupportedCode || error instanceof FormatError) return false;
    throw error;
  }
}

function addAction(script: Script, instance: Instance, command: ScriptCommand, action: Action): void {
  const entry = action.kind === "invoke" ? instance.native.entries.get(action.field) : undefined;
  const hasState = memoryCount(instance.wasm) > 0 || instance.wasm.globals.some(({ mutable }) => mutable);
  if (entry === undefined) instance.isUnknown ||= hasState && action.kind === "invoke";
  if (entry === undefined || instance.isUnknown) return;
  const args = action.args ?? [];
  const args2 = args.map((arg) => argument(script, arg));
  const expected =
    command.type === "assert_return"
      ? command.expected
      : command.type.startsWith("assert_")
        ? "trap"
        : undefined;
  const { wasm } = instance;
  const exported = wasm.exports.find(({ name }) => name === action.field);
  const { results } = functionType(wasm, exported?.index as number);
  const type = { 127: "i32", 126: "i64", 123: "v128" }[results[0]] ?? "";
  instance.commands.push({
    command: { kind: "call", entry, args: args2 },
    line: command.line,
    expected,
    type,
  });
}

function argument({ literals }: Script, value: Value): Argument {
  if (value.type === "v128") {
    const bytes = Buffer.alloc(16);
    for (const [i, half] of [...literals[value.literal]].entries())
      bytes.writeBigUInt64LE(BigInt(half), 8 * i);
    return bytes;
  }
  if (value.type !== "i32" && value.type !== "i64") throw new Error(`an argument of type ${value.type}`);
  // The upper half of an i32 register is undefined.
  return value.type === "i64"
    ? BigInt(value.value)
    : BigInt.asUintN(32, BigInt(value.value)) | (0xdeadbeefn << 32n);
}

function describe(reply: Reply, type: string): string {
  if (reply.kind === "trap") return reply.why.startsWith("signal") ? reply.why : "trap";
  if (reply.kind === "bytes" || type === "") return "";
  if (type === "v128") return Buffer.from(reply.vector).toString("hex");
  return (type === "i32" ? BigInt.asIntN(32, reply.general) : BigInt.asIntN(64, reply.general)).toString();
}

function bits(script: Script, value: Value): string {
  if (value.type === "v128") return Buffer.from(argument(script, value) as Uint8Array).toString("hex");
  return value.type === "i32" || value.type === "i64" ? value.value : "";
}
