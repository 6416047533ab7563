import {
  decodeModule,
  functionName,
  type ModuleNames,
  readNames,
  type WasmModule,
} from "../../code/wasm/index.ts";
import { partitionPoint } from "../../ground/bytes/columns.ts";
import type { RunFunction } from "../../profile/model/run.ts";

/** Maps code offsets to functions of a module before instrumentation. */
export class ModuleFunctions {
  readonly #module: WasmModule;
  readonly #names: ModuleNames;
  readonly #described = new Map<number, RunFunction>();

  constructor(bytes: Uint8Array) {
    this.#module = decodeModule(bytes);
    this.#names = readNames(this.#module);
  }

  /** Returns the functions that contain at least one of the offsets, by index. */
  containing(offsets: Iterable<number>): RunFunction[] {
    const found = new Set<RunFunction>();
    for (const offset of offsets) {
      const holder = this.holding(offset);
      if (holder !== undefined) found.add(holder);
    }
    return [...found].sort((a, b) => a.index - b.index);
  }

  holding(offset: number): RunFunction | undefined {
    const defined = this.#definedAt(offset + this.#module.codePayloadStart);
    return defined < 0 ? undefined : this.#describe(defined);
  }

  /** Returns the functions with these indices, without imported ones, in the given order. */
  at(indices: Iterable<number>): RunFunction[] {
    const { importedFunctionCount, bodies } = this.#module;
    const defined = [...new Set(indices)].map((index) => index - importedFunctionCount);
    return defined
      .filter((number) => number >= 0 && number < bodies.length)
      .map((number) => this.#describe(number));
  }

  #describe(defined: number): RunFunction {
    const existing = this.#described.get(defined);
    if (existing !== undefined) return existing;
    const { importedFunctionCount, bodies, codePayloadStart } = this.#module;
    const index = importedFunctionCount + defined;
    const name = functionName(this.#module, this.#names, index);
    const { start, end } = bodies[defined];
    const described = {
      index,
      ...(name === undefined ? {} : { name }),
      offset: start - codePayloadStart,
      end: end - codePayloadStart,
    };
    this.#described.set(defined, described);
    return described;
  }

  /** Returns the number of the body that contains a byte offset of the file, −1 if none does. */
  #definedAt(position: number): number {
    const { bodies } = this.#module;
    const body = partitionPoint(0, bodies.length, (index) => bodies[index].end <= position);
    return body < bodies.length && bodies[body].start <= position ? body : -1;
  }
}
