import type { ObjectFile, SymbolTable } from "../../code/objects/index.ts";
import { entryOf } from "../../ground/bytes/entries.ts";
import { loadDemangler } from "../load/demangler.ts";
import type { ObjectFinder } from "../load/objects.ts";
import { loadSymbolizer } from "../load/symbolizer.ts";
import type { Symbolizer } from "../symbolize/symbolizer.ts";
import type { FoundObject, NativeFile } from "./native-file.ts";

interface SourceFrame {
  /** Readable name; undefined if the address has none. */
  readonly function: string | undefined;
  /** Linker name, if it differs. */
  readonly linkageName?: string | undefined;
  readonly file?: string | undefined;
  readonly line?: number | undefined;
  readonly column?: number | undefined;
  readonly startLine?: number | undefined;
  /** True if the function was inlined into the next frame. */
  readonly inlined: boolean;
}

interface SymbolAtAddress {
  /** Linker name, with its version if the table has one: `memcpy@@GLIBC_2.14`. */
  readonly name: string;
  readonly address: number;
}

function withoutVersion(name: string): string {
  return name.replace(/@(?!plt$).*/, "");
}

/** Decides between two symbols of one address: true for the second. */
type PreferSymbol = (first: SymbolChoice, second: SymbolChoice) => boolean;

interface SymbolChoice {
  readonly name: string;
  readonly size: number;
  readonly isWeak: boolean;
  readonly isLocal: boolean;
}

/** GDB's choice among symbols of one address: with a size, global or weak, then the last one by bytewise order. */
export const preferAsGdb: PreferSymbol = (first, second) => {
  if (first.size > 0 !== second.size > 0) return second.size > 0;
  return first.isLocal === second.isLocal ? second.name >= first.name : first.isLocal;
};

/** perf's choice: with a size, not weak, global, with fewer leading underscores, longer. */
export const preferAsPerf: PreferSymbol = (first, second) => {
  const ranks: ((symbol: SymbolChoice) => number)[] = [
    ({ size }) => (size > 0 ? 1 : 0),
    ({ isWeak }) => (isWeak ? 0 : 1),
    ({ isLocal }) => (isLocal ? 0 : 1),
    ({ name }) => -(/^_*/.exec(name)?.[0].length ?? 0),
    ({ name }) => name.length,
  ];
  for (const rank of ranks) if (rank(first) !== rank(second)) return rank(second) > rank(first);
  return false;
};

/**
 * Returns the function symbol at an address of an object, from its best table with such a symbol. Stubs for
 * calls of other objects are named as in GDB and perf: `puts@plt`.
 */
export function symbolAt(
  file: NativeFile,
  address: number,
  prefer: PreferSymbol,
): SymbolAtAddress | undefined {
  const stub = file.stubAt(address);
  if (stub !== undefined) return { name: `${stub.target}@plt`, address: stub.address };
  let best: FoundSymbol | undefined;
  for (const table of file.symbols) {
    const found = symbolIn(table, address, prefer);
    if (found === undefined) continue;
    // A symbol that begins closer to the address is more precise.
    const isBetter =
      best === undefined ||
      found.address > best.address ||
      (found.address === best.address && prefer(best.choice, found.choice));
    if (isBetter) best = found;
  }
  if (best === undefined) return undefined;
  // A symbol without a size may be the last one of its section, and does not reach into the next one.
  if (best.choice.size === 0 && file.sectionOf(best.address) !== file.sectionOf(address)) return undefined;
  return { name: best.choice.name, address: best.address };
}

interface FoundSymbol {
  readonly address: number;
  readonly choice: SymbolChoice;
}

/**
 * Number of symbols to skip backwards in search of one that reaches the address: data, and symbols that end before
 * it.
 */
const MOST_SKIPPED = 16;

function symbolIn(table: SymbolTable, address: number, prefer: PreferSymbol): FoundSymbol | undefined {
  let index = table.lastAtOrBefore(address);
  for (let skipped = 0; index >= 0 && skipped < MOST_SKIPPED; skipped++) {
    const start = table.addresses[index]!;
    let best: SymbolChoice | undefined;
    const last = index;
    while (index >= 0 && table.addresses[index] === start) index--;
    for (let row = index + 1; row <= last; row++) {
      const size = table.sizes[row]!;
      if (table.kind(row) === "data" || (size > 0 && address >= start + size)) continue;
      const name = table.name(row);
      const binding = table.binding(row);
      const choice = { name, size, isWeak: binding === "weak", isLocal: binding === "local" };
      if (best === undefined || prefer(best, choice)) best = choice;
    }
    if (best !== undefined) return { address: start, choice: best };
  }
  return undefined;
}

/** Symbolizer that obtains the further files that it requests. */
interface CompletedSymbolizer {
  readonly symbolizer: Symbolizer;
  readonly frames: (address: number) => unknown;
}

type OpenSymbolizer = (found: FoundObject, debug: ObjectFile | undefined) => CompletedSymbolizer;

/** Names addresses by debug information, in the object or in a separate file. */
class DebugNamer {
  readonly #symbolizers = new Map<NativeFile, CompletedSymbolizer | undefined>();
  readonly #demangle: (name: string) => string;
  readonly #open: OpenSymbolizer;

  constructor(demangle: (name: string) => string, open: OpenSymbolizer) {
    this.#demangle = demangle;
    this.#open = open;
  }

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

export interface NamedAddress {
  /** Innermost first, inlined functions before the one they were inlined into. At least one. */
  readonly frames: readonly SourceFrame[];
  /** Linker symbol, not demangled, and the distance from it. */
  readonly symbol: { readonly name: string; readonly offset: number } | undefined;
}

/** Names of a function in one source; the linker name may be the only one. */
type FunctionNames = Pick<SourceFrame, "function" | "linkageName">;

/**
 * True if the symbol table names a function better than debug information. Assembler code has only lines there. gcc
 * gives functions that are local to a file the name of their declaration, without namespaces and classes.
 */
function hasBetterName(symbol: FunctionNames, described: FunctionNames): boolean {
  if (described.function === undefined) return true;
  return described.function === described.linkageName && symbol.function !== symbol.linkageName;
}

export class FrameNamer {
  readonly #cache = new Map<NativeFile, Map<number, NamedAddress>>();
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

  name(file: NativeFile, address: number): NamedAddress {
    const cached = entryOf(this.#cache, file, () => new Map());
    return entryOf(cached, address, () => this.#nameAnew(file, address));
  }

  #nameAnew(file: NativeFile, address: number): NamedAddress {
    const versioned = symbolAt(file, address, this.#prefer);
    const found = versioned && { ...versioned, name: withoutVersion(versioned.name) };
    const symbol = found && { name: found.name, offset: address - found.address };
    const frames = this.#debugNamer.frames(file, address);
    const bySymbol = { function: found && this.demangle(found.name), linkageName: found?.name };
    const outermost = frames.at(-1);
    if (outermost === undefined) return { frames: [{ ...bySymbol, inlined: false }], symbol };
    if (hasBetterName(bySymbol, outermost)) frames[frames.length - 1] = { ...outermost, ...bySymbol };
    return { frames, symbol };
  }
}

/**
 * Returns the name of a demangled C++ function without its parameters. `Bomb::~Bomb()` becomes `Bomb::~Bomb`;
 * `run(int)::'lambda'(int)::operator()(int) const` keeps the enclosing function's parameters.
 */
export function withoutParameters(whole: string): string {
  // Compilers append suffixes, as in `run() (.cold)`.
  const name = whole.replace(/(?: \(\.[^()]*\))+$/, "");
  if (name.endsWith("@plt")) return `${withoutParameters(name.slice(0, -4))}@plt`;
  const end = name.lastIndexOf(")");
  // Qualifiers and marks of compilers may follow the parameters.
  if (end < 0 || !/^(?: const| volatile| ?&{1,2})*$/.test(name.slice(end + 1))) return name;
  let depth = 0;
  for (let at = end; at >= 0; at--)
    if (name[at] === ")") depth++;
    else if (name[at] === "(" && --depth === 0) {
      const before = name.slice(0, at);
      return before.endsWith("operator") || before === "" ? name : before;
    }
  return name;
}

export function loadFrameNamer(prefer: PreferSymbol, finder?: ObjectFinder): FrameNamer {
  return new FrameNamer(loadDemangler(), prefer, (found, debug) =>
    loadSymbolizer(found, { ...(debug && { debug }), ...(finder && { finder }) }),
  );
}
