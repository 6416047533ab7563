import {
  decodeModule,
  type FuncType,
  functionType,
  memoryType,
  type WasmModule,
} from "../../src/code/wasm/index.ts";
import type { Engine } from "./engine.ts";
import type { Action, Command, Definition, Script, SuiteModule, Value } from "./script.ts";
import { Values } from "./values.ts";

export interface Outcome {
  line: number | "end";
  type: Command["type"];
  /** Outcome in a form that can be compared between two runs. */
  text: string;
  /** True if code ran: false for modules that the engine rejects, and for commands on them. */
  ran: boolean;
  asserted: boolean;
}

export type Form = "bytes" | "withAllocator";

/** Runs all commands of a script. The last outcomes are the final state of memories, tables and globals. */
export function runScript(script: Script, engine: Engine, form: Form): Outcome[] {
  const run = new ScriptRun(script, engine, form);
  const outcomes = script.commands.map((command) => run.command(command));
  return [...outcomes, ...run.finalState()];
}

/** Bytes of a module in this form; in the plain form if no other is valid. */
function bytesOf(module: SuiteModule, form: Form): Uint8Array {
  const bytes = fromBase64(module.bytes);
  if (form === "bytes" || module.withAllocator === undefined) return bytes;
  const more = fromBase64(
    (has64BitMemory(bytes) ? module.withAllocator64 : undefined) ?? module.withAllocator,
  );
  return WebAssembly.validate(more as BufferSource) ? more : bytes;
}

function fromBase64(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, "base64"));
}

function has64BitMemory(bytes: Uint8Array): boolean {
  const module = decoded(bytes);
  if (module === undefined || module.importedMemoryCount + module.memories.length === 0) return false;
  return memoryType(module, 0).index64;
}

/** Undefined if the module cannot be decoded; a plain module's test does not fail for that. */
function decoded(bytes: Uint8Array): WasmModule | undefined {
  try {
    return decodeModule(bytes);
  } catch {
    return undefined;
  }
}

/** The engine has rejected the module of this name. */
class Absent extends Error {}

interface Compiled {
  module: WebAssembly.Module;
  types: ReadonlyMap<string, FuncType>;
}

interface Running extends Compiled {
  exports: WebAssembly.Exports;
}

class ScriptRun {
  readonly #script: Script;
  readonly #engine: Engine;
  readonly #form: Form;
  readonly #values: Values;
  readonly #imports: Record<string, WebAssembly.ModuleImports> = { spectest: spectest() };
  readonly #definitions = new Map<string | undefined, Compiled>();
  readonly #instances = new Map<string | undefined, Running>();
  readonly #all: Running[] = [];

  constructor(script: Script, engine: Engine, form: Form) {
    this.#script = script;
    this.#engine = engine;
    this.#form = form;
    this.#values = new Values(script, (value) => this.#nameOf(value));
  }

  command(command: Command): Outcome {
    const { line, type } = command;
    if (type === "static" || type === "unknown") return { line, type, text: "", ran: false, asserted: true };
    try {
      const text = this.#perform(command);
      const wanted = command.type === "assert_return" ? this.#wanted(command) : text;
      return { line, type, text, ran: true, asserted: isReturn(type) && (wanted ?? text) === text };
    } catch (thrown) {
      const text = describeThrown(thrown);
      if (thrown instanceof Absent || thrown instanceof WebAssembly.CompileError)
        return { line, type, text, ran: false, asserted: false };
      return { line, type, text, ran: true, asserted: isThrow(command, thrown) };
    }
  }

  finalState(): Outcome[] {
    return this.#all.flatMap(({ exports }, i) =>
      Object.entries(exports).flatMap(([name, value]): Outcome[] => {
        if (name.startsWith("memshade.") || typeof value === "function") return [];
        const text = `${i} ${name}: ${describeState(value, (inner) => this.#values.describe(inner))}`;
        return [{ line: "end", type: "action", text, ran: true, asserted: true }];
      }),
    );
  }

  /** Name of the first export that is this function. */
  #nameOf(value: unknown): string | undefined {
    for (const [i, { exports }] of this.#all.entries())
      for (const name of Object.keys(exports)) if (exports[name] === value) return `function ${i} ${name}`;
    return undefined;
  }

  #perform(command: Command): string {
    switch (command.type) {
      case "module":
        this.#instantiate(this.#compile(command), command.name);
        return "instantiated";
      case "definition":
        this.#compile(command);
        return "compiled";
      case "instance":
        this.#instantiate(present(this.#definitions.get(command.of)), command.name);
        return "instantiated";
      case "register": {
        this.#imports[command.as] = present(this.#instances.get(command.name))
          .exports as WebAssembly.ModuleImports;
        return "registered";
      }
      case "static":
      case "unknown":
        return "nothing";
    }
    if (command.action !== undefined)
      return this.#act(command.action, command.type === "assert_return" ? command.expected : []);
    this.#engine.instantiate(this.#engine.compile(this.#bytes(command.of)), this.#imports);
    return "instantiated";
  }

  #bytes({ module }: Definition): Uint8Array {
    return bytesOf(this.#script.modules[module], this.#form);
  }

  #compile(definition: Definition): Compiled {
    const { name } = definition;
    forget(this.#definitions, name);
    forget(this.#instances, name);
    const bytes = this.#bytes(definition);
    const compiled = { module: this.#engine.compile(bytes), types: exportedTypes(bytes) };
    for (const key of [name, undefined]) this.#definitions.set(key, compiled);
    return compiled;
  }

  #instantiate(compiled: Compiled, name: string | undefined): void {
    forget(this.#instances, name);
    const exports = this.#engine.instantiate(compiled.module, this.#imports);
    const running = { ...compiled, exports };
    for (const key of [name, undefined]) this.#instances.set(key, running);
    this.#all.push(running);
  }

  #act({ kind, field, module, args = [] }: Action, expected: readonly Value[]): string {
    const { exports, types } = present(this.#instances.get(module));
    if (kind === "get") return this.#values.describe((exports[field] as WebAssembly.Global).value);
    return this.#values.call(exports[field], types.get(field) as FuncType, args, expected);
  }

  #wanted({ action, expected }: Command & { type: "assert_return" }): string | undefined {
    const type = this.#instances.get(action.module)?.types.get(action.field);
    return type === undefined ? undefined : this.#values.expected(expected, type);
  }
}

function forget(map: Map<string | undefined, unknown>, name: string | undefined): void {
  map.delete(name);
  map.delete(undefined);
}

function exportedTypes(bytes: Uint8Array): ReadonlyMap<string, FuncType> {
  const module = decoded(bytes);
  const functions = module?.exports.filter(({ kind }) => kind === "function") ?? [];
  return new Map(functions.map(({ name, index }) => [name, functionType(module as WasmModule, index)]));
}

function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Absent();
  return value;
}

function isReturn(type: Command["type"]): boolean {
  return !/trap|exhaustion|exception|unlinkable|uninstantiable/.test(type);
}

function isThrow({ type }: Command, thrown: unknown): boolean {
  if (type === "assert_exhaustion") return thrown instanceof RangeError;
  if (type === "assert_exception") return thrown instanceof WebAssembly.Exception;
  if (type === "assert_unlinkable") return thrown instanceof WebAssembly.LinkError;
  return /trap|uninstantiable/.test(type) && thrown instanceof WebAssembly.RuntimeError;
}

function describeThrown(thrown: unknown): string {
  if (thrown instanceof Absent) return "there is no such instance";
  if (thrown instanceof WebAssembly.Exception) return "exception";
  if (thrown instanceof Error) return `${thrown.name}: ${thrown.message}`;
  return `threw ${String(thrown)}`;
}

function describeState(value: unknown, describe: (value: unknown) => string): string {
  if (value instanceof WebAssembly.Memory) {
    const buffer = Buffer.from(value.buffer);
    let hash = 0;
    for (const [i, byte] of buffer.subarray(0, 4 * 65536).entries())
      if (byte !== 0) hash = (Math.imul(hash ^ byte, 0x01000193) + i) | 0;
    return `memory of ${buffer.length} bytes, ${hash}`;
  }
  if (value instanceof WebAssembly.Table) {
    const entries = Array.from({ length: Math.min(Number(value.length), 64) }, (_, i) => {
      try {
        return describe(value.get(i));
      } catch {
        // Addresses may be i64, and entries may be invisible to JavaScript.
        return "unseen";
      }
    });
    return `table of ${value.length}: ${entries.join()}`;
  }
  if (value instanceof WebAssembly.Global)
    try {
      return `global ${describe(value.value)}`;
    } catch {
      return "global that JavaScript cannot read";
    }
  return "tag";
}

function spectest(): WebAssembly.ModuleImports {
  const table = (address: "i32" | "i64") =>
    new WebAssembly.Table({
      address,
      ...(address === "i32" ? { initial: 10, maximum: 20 } : { initial: 10n, maximum: 20n }),
      element: "anyfunc",
    } as unknown as WebAssembly.TableDescriptor);
  const print = () => {};
  return {
    print,
    print_i32: print,
    print_i64: print,
    print_f32: print,
    print_f64: print,
    print_i32_f32: print,
    print_f64_f64: print,
    global_i32: new WebAssembly.Global({ value: "i32", mutable: false }, 666),
    global_i64: new WebAssembly.Global({ value: "i64", mutable: false }, 666n),
    global_f32: new WebAssembly.Global({ value: "f32", mutable: false }, 666.6),
    global_f64: new WebAssembly.Global({ value: "f64", mutable: false }, 666.6),
    table: table("i32"),
    table64: table("i64"),
    memory: new WebAssembly.Memory({ initial: 1, maximum: 2 }),
    shared_memory: new WebAssembly.Memory({ initial: 1, maximum: 2, shared: true }),
  };
}
