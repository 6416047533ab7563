import type { NativeFile } from "../native-file.ts";
import { DebugNamer, type OpenSymbolizer } from "./debug-namer.ts";
import { type PreferSymbol, type SourceFrame, symbolAt, withoutVersion } from "./name-frames.ts";

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
