import { Dwarf, type DwarfFrame, type SplitLoader } from "../dwarf/index.ts";
import type { ObjectFile, ObjectSymbol, SymbolTable } from "../objects/index.ts";
import type { Demangle } from "./demangle.ts";

/** A function around an address, or one that was inlined there. */
export interface Frame {
  /** The linker's name. */
  readonly linkageName?: string | undefined;
  /** The name for people; undefined where no name is known. */
  readonly function?: string | undefined;
  readonly file?: string | undefined;
  /** 0 where it is not known, as the column, the discriminator and the start line. */
  readonly line: number;
  readonly column: number;
  readonly discriminator: number;
  /** Line of the function's declaration. */
  readonly startLine: number;
  readonly startFile?: string | undefined;
  readonly startAddress?: number | undefined;
  /** The function was inlined into the next outer frame. */
  readonly inlined: boolean;
}

export interface SymbolizerOptions {
  /** The file with the debug information, where it is not in the object itself. */
  readonly debug?: ObjectFile | undefined;
  readonly demangle?: Demangle | undefined;
  /** Finds the files of split units. */
  readonly loadSplit?: SplitLoader | undefined;
  /** Further symbols, such as those of mini debug information. */
  readonly symbols?: SymbolTable | undefined;
}

/** From addresses of one object to functions, files and lines. No member throws, whatever the object's bytes are. */
export class Symbolizer {
  readonly dwarf: Dwarf;
  readonly #object: ObjectFile;
  readonly #options: SymbolizerOptions;
  #symbols: SymbolTable | undefined;

  constructor(object: ObjectFile, options: SymbolizerOptions = {}) {
    this.#object = object;
    this.#options = options;
    this.dwarf = new Dwarf(options.debug ?? object, options.loadSplit);
  }

  /**
   * Frames at `address`, an address of the object itself (in wasm the offset in the code section), innermost first and
   * the real function last; at least one. The real function is named by the symbol table, which knows aliases and
   * code without debug information, if it has a symbol there; wasm's names of functions that are not exported are used
   * where debug information has none, for they are demangled in part.
   */
  frames(address: number): Frame[] {
    const found = this.dwarf.frames(address);
    const frames = (found.length === 0 ? [NOTHING] : found).map((frame) => this.#frame(frame));
    const symbol = this.#symbolAt(address);
    const last = frames.length - 1;
    if (symbol !== undefined && (frames[last]!.linkageName === undefined || this.#isLinkageName(symbol))) {
      const { name, address: startAddress } = symbol;
      frames[last] = { ...frames[last]!, linkageName: name, function: this.#readable(name), startAddress };
    }
    return frames;
  }

  #frame({ name, linkageName = name, ...place }: DwarfFrame): Frame {
    return {
      ...place,
      linkageName,
      function: linkageName === undefined ? undefined : this.#readable(linkageName),
    };
  }

  #readable(name: string): string {
    return this.#options.demangle?.(name) ?? name;
  }

  #isLinkageName({ binding }: ObjectSymbol): boolean {
    return this.#object.kind !== "wasm" || binding === "global";
  }

  #symbolAt(address: number): ObjectSymbol | undefined {
    if (this.#symbols === undefined) {
      const { symbols, debug } = this.#options;
      const own = symbols ?? this.#object.symbols();
      this.#symbols = own.length > 0 || debug === undefined ? own : debug.symbols();
    }
    return this.#symbols.find(address);
  }
}

const NOTHING: DwarfFrame = { line: 0, column: 0, discriminator: 0, startLine: 0, inlined: false };
