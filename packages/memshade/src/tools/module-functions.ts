import { partitionPoint } from "../bytes/partition-point.ts";
import type { RunFunction } from "../model/run.ts";
import { decodeModule, functionName, type ModuleNames, readNames, type WasmModule } from "../wasm/index.ts";

/** Finds the function of a code offset in a module as it was before instrumentation. */
export class ModuleFunctions {
  readonly #module: WasmModule;
  readonly #names: ModuleNames;

  constructor(bytes: Uint8Array) {
    this.#module = decodeModule(bytes);
    this.#names = readNames(this.#module);
  }

  /** The functions that hold at least one of the offsets, by index. */
  containing(offsets: Iterable<number>): RunFunction[] {
    const found = new Map<number, RunFunction>();
    for (const offset of offsets) {
      const defined = this.#definedAt(offset + this.#module.codePayloadStart);
      if (defined < 0 || found.has(defined)) continue;
      found.set(defined, this.#describe(defined));
    }
    return [...found.values()].sort((a, b) => a.index - b.index);
  }

  /** Those of the functions that the module has itself, by index. */
  at(indices: Iterable<number>): RunFunction[] {
    const { importedFunctionCount, bodies } = this.#module;
    const defined = [...new Set(indices)].map((index) => index - importedFunctionCount);
    return defined
      .filter((number) => number >= 0 && number < bodies.length)
      .map((number) => this.#describe(number));
  }

  #describe(defined: number): RunFunction {
    const { importedFunctionCount, bodies, codePayloadStart } = this.#module;
    const index = importedFunctionCount + defined;
    const name = functionName(this.#module, this.#names, index);
    const { start, end } = bodies[defined];
    return {
      index,
      ...(name === undefined ? {} : { name }),
      offset: start - codePayloadStart,
      end: end - codePayloadStart,
    };
  }

  /** Number of the body that holds a byte offset of the file, −1 if none does. */
  #definedAt(position: number): number {
    const { bodies } = this.#module;
    const body = partitionPoint(0, bodies.length, (index) => bodies[index].end <= position);
    return body < bodies.length && bodies[body].start <= position ? body : -1;
  }
}
