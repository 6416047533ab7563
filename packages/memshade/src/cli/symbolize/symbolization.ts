import { existsSync } from "node:fs";
import { UserError } from "../../ground/bytes/errors.ts";
import { readRegular } from "../../names/load/file.ts";
import { type LoadedObject, ObjectFinder } from "../../names/load/objects.ts";
import {
  type FileSymbolizer,
  type FileSymbolizerOptions,
  loadSymbolizer,
} from "../../names/load/symbolizer.ts";
import type { Frame } from "../../names/symbolize/frame.ts";
import { STALE } from "../../names/symbolize/stale.ts";
import { type InputLine, parseInputLine } from "./requests.ts";
import {
  formatData,
  formatError,
  formatFrames,
  formatSymbol,
  formatVariables,
  hex,
  type OutputOptions,
  type Request,
} from "./styles.ts";

export interface SymbolizationOptions {
  /** The object; without it each line of input names one. */
  readonly binary: string | undefined;
  /** The build id by which the object is to be found; `binary` is what it is called then. */
  readonly buildId?: string | undefined;
  /** What addresses are too large by. */
  readonly adjustment: number;
  /** In wasm modules, addresses are offsets in the file. */
  readonly fileOffsets: boolean;
  readonly symbolizer: FileSymbolizerOptions;
  readonly output: Omit<OutputOptions, "sourceOf" | "unknownStart">;
}

/** Answers lines of input as llvm-symbolizer does. */
export class Symbolization {
  readonly #options: SymbolizationOptions;
  readonly #output: OutputOptions;
  /** By name of the module; a sentence where there is none. */
  readonly #symbolizers = new Map<string, FileSymbolizer | string>();
  /** Files of which it has been answered that they cannot be read. */
  readonly #blamed = new Set<string>();
  readonly #complaints: string[] = [];
  readonly #stale = new Set<string>();
  /** addr2line names the innermost function where only one is wanted, llvm-symbolizer the outermost. */
  readonly #innermostOnly: boolean;

  /** @throws UserError if the binary cannot be read */
  constructor(options: SymbolizationOptions) {
    this.#innermostOnly = options.output.style === "GNU" && options.symbolizer.inlines === false;
    this.#options = this.#innermostOnly
      ? { ...options, symbolizer: { ...options.symbolizer, inlines: true } }
      : options;
    const unknownStart = this.#options.symbolizer.inlines === false ? "<invalid>" : "";
    this.#output = { ...options.output, sourceOf: createSourceReader(), unknownStart };
    const { binary, buildId } = options;
    if (binary !== undefined) {
      const object = buildId === undefined ? binary : findByBuildId(buildId, options.symbolizer.finder);
      this.#symbolizers.set(binary, loadSymbolizer(object, this.#options.symbolizer));
    }
  }

  /** Sentences about files that were not found, or are damaged. */
  complaints(): string[] {
    const ofFiles = [...this.#symbolizers.values()].flatMap((each) => {
      if (typeof each === "string") return [];
      const why =
        each.damage?.kind === "unsupported" ? "is not all understood" : "is damaged, not all is known";
      const damaged = each.damage === undefined ? [] : [`${why}: ${each.damage.message}`];
      return [...damaged, ...each.missing].map((end) => `${each.path} ${end}`);
    });
    const stale = [...this.#stale].map((path) => `${path}: ${STALE}`);
    return [...this.#complaints, ...new Set(ofFiles), ...stale];
  }

  /** Whether a line has neither an address nor a symbol of its file, which is there and can be read. */
  isUnknown(line: string): boolean {
    const { binary } = this.#options;
    const { file, buildId, address, symbol } = parseInputLine(line, binary !== undefined);
    if (address !== undefined) return false;
    const module = file ?? buildId?.toUpperCase() ?? binary ?? "";
    const symbolizer = this.#symbolizerOf(module, buildId);
    if (typeof symbolizer === "string") return false;
    const name = symbol ?? "";
    return name === "" || !hasSymbol(symbolizer, name);
  }

  /** The answer to one line; lines that ask for nothing known get `??`. */
  answer(line: string): string {
    const { binary } = this.#options;
    // llvm-symbolizer has no module for empty lines, but one for lines of blanks.
    if (line === "") return formatFrames({ module: "" }, [], this.#output);
    const input = parseInputLine(line, binary !== undefined);
    const { address, symbol, buildId } = input;
    const module = input.file ?? buildId?.toUpperCase() ?? binary ?? "";
    if (address === undefined && symbol === undefined) return formatFrames({ module }, [], this.#output);
    const request: Request =
      address === undefined
        ? { module, symbol: symbol! }
        : { module, address: input.exactAddress ?? hex(address) };
    const symbolizer = this.#symbolizerOf(module, buildId);
    if (typeof symbolizer === "string" && this.#output.style === "JSON" && !this.#blamed.has(module)) {
      // As llvm-symbolizer, which says it of a file once.
      if (buildId === undefined) this.#blamed.add(module);
      return formatError(request, symbolizer);
    }
    return this.#answerOf(input, request, typeof symbolizer === "string" ? undefined : symbolizer);
  }

  #answerOf(
    { command, address, symbol = "", offset, inFile = false }: InputLine,
    request: Request,
    symbolizer: FileSymbolizer | undefined,
  ): string {
    const place = address === undefined ? undefined : this.#placeOf(symbolizer, address, inFile);
    if (place !== undefined && symbolizer !== undefined) this.#noteStale(symbolizer, place);
    switch (command) {
      case "FRAME":
        return formatVariables(
          request,
          (place !== undefined && symbolizer?.variables(place)) || [],
          this.#output,
        );
      case "DATA": {
        if (place === undefined) return formatData(request, undefined, undefined, this.#output);
        const found = symbolizer?.symbolizer.symbolAt(place);
        const { demangle = (name: string) => name } = this.#options.symbolizer;
        const data = found && { ...found, name: demangle(found.name) };
        return formatData(request, data, symbolizer?.dataDeclaration(place), this.#output);
      }
      default: {
        if (place === undefined)
          return formatSymbol(
            request,
            symbolizer === undefined ? [] : placesOf(symbolizer, symbol, offset),
            this.#output,
          );
        const frames = symbolizer?.frames(place) ?? [];
        return formatFrames(request, this.#innermostOnly ? frames.slice(0, 1) : frames, this.#output);
      }
    }
  }

  /** A module's debug information is asked until it is known to be of other code. */
  #noteStale({ path, symbolizer }: FileSymbolizer, place: number): void {
    if (symbolizer.object.kind === "wasm" && !this.#stale.has(path) && symbolizer.isStaleAt(place))
      this.#stale.add(path);
  }

  #placeOf(symbolizer: FileSymbolizer | undefined, address: number, inFile: boolean): number {
    const { adjustment, fileOffsets } = this.#options;
    const origin = fileOffsets || inFile ? (symbolizer?.symbolizer.object.codeOffset ?? 0) : 0;
    const place = address - adjustment - origin;
    return place < 0 ? place + 2 ** 64 : place;
  }

  /** The symbolizer of a file, or of the object with a build id; or why there is none, as llvm-symbolizer says it. */
  #symbolizerOf(module: string, buildId?: string): FileSymbolizer | string {
    let symbolizer = this.#symbolizers.get(module);
    if (symbolizer === undefined) {
      try {
        symbolizer = loadSymbolizer(
          buildId === undefined ? module : findByBuildId(buildId, this.#options.symbolizer.finder),
          this.#options.symbolizer,
        );
      } catch (error) {
        if (!(error instanceof UserError)) throw error;
        this.#complaints.push(error.message);
        if (buildId !== undefined) symbolizer = "could not find build ID";
        else if (existsSync(module)) symbolizer = "The file was not recognized as a valid object file";
        else symbolizer = "No such file or directory";
      }
      this.#symbolizers.set(module, symbolizer);
    }
    return symbolizer;
  }
}

/** @throws UserError if none is found */
function findByBuildId(buildId: string, finder: ObjectFinder | undefined): LoadedObject {
  const found = (finder ?? new ObjectFinder()).findByBuildId(buildId);
  if (found === undefined) throw new UserError(`no object with the build id ${buildId} was found`);
  return found;
}

/**
 * Where the symbols of a name are, each with the place of its first instruction, or of one behind it that is still its
 * own. As in llvm-symbolizer, what no source file is known of is left out.
 */
function placesOf({ symbolizer }: FileSymbolizer, symbol: string, offset: number): Frame[] {
  const places: Frame[] = [];
  for (const { name, address, size } of symbolizer.object.symbols()) {
    if (name !== symbol) continue;
    const place = symbolizer.place(offset < size ? address + offset : address);
    if (place.file !== undefined) places.push(place);
  }
  return places;
}

function hasSymbol({ symbolizer }: FileSymbolizer, name: string): boolean {
  for (const symbol of symbolizer.object.symbols()) if (symbol.name === name) return true;
  return false;
}

/** Reads sources once each; those that are not there are no lines. */
function createSourceReader(): (file: string) => readonly string[] | undefined {
  const sources = new Map<string, readonly string[] | undefined>();
  return (file) => {
    if (!sources.has(file))
      try {
        sources.set(file, readRegular(file).toString().replace(/\n$/, "").split("\n"));
      } catch {
        sources.set(file, undefined);
      }
    return sources.get(file);
  };
}
