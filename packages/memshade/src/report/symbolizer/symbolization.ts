import { readFileSync } from "node:fs";
import { UserError } from "../../bytes/errors.ts";
import type { Frame } from "../../symbolize/frame.ts";
import { type FileSymbolizer, type FileSymbolizerOptions, loadSymbolizer } from "../load-symbolizer.ts";
import { type InputLine, parseInputLine } from "./requests.ts";
import {
  formatData,
  formatFrames,
  formatSymbol,
  formatVariables,
  hex,
  type OutputOptions,
} from "./styles.ts";

export interface SymbolizationOptions {
  /** The object; without it each line of input names one. */
  readonly binary: string | undefined;
  /** What addresses are too large by. */
  readonly adjustment: number;
  /** In wasm modules, addresses are offsets in the file. */
  readonly fileOffsets: boolean;
  readonly symbolizer: FileSymbolizerOptions;
  readonly output: Omit<OutputOptions, "sourceOf">;
}

/** Answers lines of input as llvm-symbolizer does. */
export class Symbolization {
  readonly #options: SymbolizationOptions;
  readonly #output: OutputOptions;
  readonly #symbolizers = new Map<string, FileSymbolizer | undefined>();
  readonly #complaints: string[] = [];
  /** addr2line names the innermost function where only one is wanted, llvm-symbolizer the outermost. */
  readonly #innermostOnly: boolean;

  /** @throws UserError if the binary cannot be read */
  constructor(options: SymbolizationOptions) {
    this.#innermostOnly = options.output.style === "GNU" && options.symbolizer.inlines === false;
    this.#options = this.#innermostOnly
      ? { ...options, symbolizer: { ...options.symbolizer, inlines: true } }
      : options;
    this.#output = { ...options.output, sourceOf: createSourceReader() };
    if (options.binary !== undefined) {
      this.#symbolizers.set(options.binary, loadSymbolizer(options.binary, this.#options.symbolizer));
    }
  }

  /** Sentences about files that were not found. */
  complaints(): string[] {
    const missing = [...this.#symbolizers.values()].flatMap((each) =>
      each === undefined ? [] : each.missing.map((end) => `${each.path} ${end}`),
    );
    return [...this.#complaints, ...new Set(missing)];
  }

  /** The answer to one line; lines that ask for nothing known get `??`. */
  answer(line: string): string {
    const { binary } = this.#options;
    const input = parseInputLine(line, binary !== undefined);
    // llvm-symbolizer has no module for empty lines, but one for lines of blanks.
    if (input === undefined)
      return formatFrames({ module: line === "" ? "" : (binary ?? "") }, [], this.#output);
    const module = input.file ?? binary ?? "";
    const symbolizer = this.#symbolizerOf(module);
    const { address, symbol } = input;
    if (input.isMalformed === true) return formatFrames({ module }, [], this.#output);
    if (address === undefined) {
      const places = symbolizer === undefined ? [] : placesOf(symbolizer, input);
      return formatSymbol({ module, ...(symbol === undefined ? {} : { symbol }) }, places, this.#output);
    }
    const request = { module, address: input.exactAddress ?? hex(address) };
    if (input.command === "FRAME") return formatVariables(request, this.#output);
    const place = this.#placeOf(symbolizer, address);
    if (input.command === "DATA") {
      return formatData(request, symbolizer?.symbolizer.symbolAt(place), this.#output);
    }
    const frames = symbolizer?.frames(place) ?? [];
    return formatFrames(request, this.#innermostOnly ? frames.slice(0, 1) : frames, this.#output);
  }

  #placeOf(symbolizer: FileSymbolizer | undefined, address: number): number {
    const { adjustment, fileOffsets } = this.#options;
    const origin = fileOffsets ? (symbolizer?.symbolizer.object.codeOffset ?? 0) : 0;
    const place = address - adjustment - origin;
    return place < 0 ? place + 2 ** 64 : place;
  }

  #symbolizerOf(file: string): FileSymbolizer | undefined {
    if (!this.#symbolizers.has(file)) {
      let symbolizer: FileSymbolizer | undefined;
      try {
        symbolizer = loadSymbolizer(file, this.#options.symbolizer);
      } catch (error) {
        if (!(error instanceof UserError)) throw error;
        this.#complaints.push(error.message);
      }
      this.#symbolizers.set(file, symbolizer);
    }
    return this.#symbolizers.get(file);
  }
}

/** Where the symbols of a name are: each with the place of its first instruction, or of one behind it. */
function placesOf({ symbolizer }: FileSymbolizer, { symbol, offset }: InputLine): Frame[] {
  const places: Frame[] = [];
  for (const { name, address } of symbolizer.object.symbols()) {
    if (name === symbol) places.push(symbolizer.place(address + offset));
  }
  return places;
}

/** Reads sources once each; those that are not there are no lines. */
function createSourceReader(): (file: string) => readonly string[] | undefined {
  const sources = new Map<string, readonly string[] | undefined>();
  return (file) => {
    if (!sources.has(file)) {
      try {
        sources.set(file, readFileSync(file, "utf8").replace(/\n$/, "").split("\n"));
      } catch {
        sources.set(file, undefined);
      }
    }
    return sources.get(file);
  };
}
