import type { ObjectFile } from "../../../code/objects/index.ts";
import type { Symbolizer } from "../../symbolize/symbolizer.ts";
import type { FoundObject, NativeFile } from "../native-file.ts";
import { type PreferSymbol, type SourceFrame, symbolAt, withoutVersion } from "./name-frames.ts";

/** A symbolizer, and how to get it the further files that it asks for. */
export interface CompletedSymbolizer {
  readonly symbolizer: Symbolizer;
  /** Answers what the symbolizer needs for an address. */
  readonly frames: (address: number) => unknown;
}

/** Makes a symbolizer for an object, whose debug information may have been moved to another one. */
export type OpenSymbolizer = (found: FoundObject, debug: ObjectFile | undefined) => CompletedSymbolizer;

/** Names addresses by the debug information of objects, or of the files that it was moved to. */
export class DebugNamer {
  readonly #symbolizers = new Map<NativeFile, CompletedSymbolizer | undefined>();
  readonly #demangle: (name: string) => string;
  readonly #open: OpenSymbolizer;

  constructor(demangle: (name: string) => string, open: OpenSymbolizer) {
    this.#demangle = demangle;
    this.#open = open;
  }

  /** The frames at an address of an object, innermost first; none where there is no debug information. */
  frames(file: NativeFile, address: number): SourceFrame[] {
    const completed = this.#symbolizerOf(file);
    if (completed === undefined) return [];
    const { symbolizer } = completed;
    let found = symbolizer.debugFrames(address);
    if (symbolizer.needs().length > 0) {
      completed.frames(address);
      found = symbolizer.debugFrames(address);
    }
    return found.map(({ linkageName, line, column, startLine, inlined, file: source }) => ({
      function: linkageName && this.#demangle(linkageName),
      linkageName,
      file: source,
      line: line || undefined,
      column: column || undefined,
      startLine: startLine || undefined,
      inlined,
    }));
  }

  #symbolizerOf(file: NativeFile): CompletedSymbolizer | undefined {
    if (!this.#symbolizers.has(file)) this.#symbolizers.set(file, this.#make(file));
    return this.#symbolizers.get(file);
  }

  #make({ found, debugFile }: NativeFile): CompletedSymbolizer | undefined {
    if (found === undefined) return undefined;
    if (found.object.section(".debug_info") !== undefined) return this.#open(found, undefined);
    const debug = debugFile?.object;
    return debug?.section(".debug_info") === undefined ? undefined : this.#open(found, debug);
  }
}

/** What a place is called: its functions, and the symbol it lies in. */
export interface NamedAddress {
  /** Innermost first, those inlined before the one they were inlined into. At least one. */
  readonly frames: readonly SourceFrame[];
  /** The linker's symbol, not demangled, and the distance from it. */
  readonly symbol: { readonly name: string; readonly offset: number } | undefined;
}

/** A function as one source names it; the linker's name is that of the source where no other is known. */
type FunctionNames = Pick<SourceFrame, "function" | "linkageName">;

/**
 * Whether the symbol table names a function better than debug information does. Code of assemblers has lines alone there;
 * and gcc gives functions that no other file can call the name of their declaration, without namespaces and classes.
 */
function knowsMore(symbol: FunctionNames, described: FunctionNames): boolean {
  if (described.function === undefined) return true;
  return described.function === described.linkageName && symbol.function !== symbol.linkageName;
}

/** Names addresses of objects, each once. */
export class FrameNamer {
  readonly #known = new Map<NativeFile, Map<number, NamedAddress>>();
  readonly #demangle: (name: string) => string;
  readonly #prefer: PreferSymbol;
  readonly #debugNamer: DebugNamer;

  constructor(demangle: (name: string) => string, prefer: PreferSymbol, open: OpenSymbolizer) {
    this.#demangle = demangle;
    this.#prefer = prefer;
    this.#debugNamer = new DebugNamer(demangle, open);
  }

  demangle(name: string): string {
    return name.endsWith("@plt") ? `${this.#demangle(name.slice(0, -4))}@plt` : this.#demangle(name);
  }

  /** @param address in the object */
  name(file: NativeFile, address: number): NamedAddress {
    let known = this.#known.get(file);
    if (known === undefined) {
      known = new Map();
      this.#known.set(file, known);
    }
    let named = known.get(address);
    if (named === undefined) {
      named = this.#nameAnew(file, address);
      known.set(address, named);
    }
    return named;
  }

  #nameAnew(file: NativeFile, address: number): NamedAddress {
    const versioned = symbolAt(file, address, this.#prefer);
    const found = versioned && { ...versioned, name: withoutVersion(versioned.name) };
    const symbol = found && { name: found.name, offset: address - found.address };
    const frames = this.#debugNamer.frames(file, address);
    const bySymbol = { function: found && this.demangle(found.name), linkageName: found?.name };
    const outermost = frames.at(-1);
    if (outermost === undefined) return { frames: [{ ...bySymbol, inlined: false }], symbol };
    if (knowsMore(bySymbol, outermost)) frames[frames.length - 1] = { ...outermost, ...bySymbol };
    return { frames, symbol };
  }
}
