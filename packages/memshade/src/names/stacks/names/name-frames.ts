import type { SymbolTable } from "../../../code/objects/index.ts";
import type { NativeFile } from "../native-file.ts";

/** A function at a place in the source, as far as it is known. */
export interface SourceFrame {
  /** Readable name; undefined where nothing names the address. */
  readonly function: string | undefined;
  /** The linker's name, where it differs. */
  readonly linkageName?: string | undefined;
  readonly file?: string | undefined;
  readonly line?: number | undefined;
  readonly column?: number | undefined;
  readonly startLine?: number | undefined;
  /** Was inlined into the next frame. */
  readonly inlined: boolean;
}

/** The symbol that an address belongs to. */
export interface SymbolAtAddress {
  /** The linker's name, with its version where the table has one: `memcpy@@GLIBC_2.14`. */
  readonly name: string;
  readonly address: number;
}

/** A symbol's name without its version. */
export function withoutVersion(name: string): string {
  return name.replace(/@(?!plt$).*/, "");
}

/** Decides between two symbols of one address: true for the second. */
export type PreferSymbol = (first: SymbolChoice, second: SymbolChoice) => boolean;

export interface SymbolChoice {
  readonly name: string;
  readonly size: number;
  readonly isWeak: boolean;
  readonly isLocal: boolean;
}

/** GDB's choice among names of one address: with a size, global or weak, then the last one in the order of their bytes. */
export const preferAsGdb: PreferSymbol = (first, second) => {
  if (first.size > 0 !== second.size > 0) return second.size > 0;
  return first.isLocal === second.isLocal ? second.name >= first.name : first.isLocal;
};

/** perf's choice: with a size, not weak, global, with fewer underscores in front, longer. */
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
 * The function symbol at an address of an object, from the best of its tables that has one. Stubs for calls of other objects
 * are called as GDB and perf call them: `puts@plt`.
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
    // What begins closer to the address knows better.
    const isBetter =
      best === undefined ||
      found.address > best.address ||
      (found.address === best.address && prefer(best.choice, found.choice));
    if (isBetter) best = found;
  }
  if (best === undefined) return undefined;
  // A symbol without a size may be the last one of its section, and not reach into the next.
  if (best.choice.size === 0 && file.sectionOf(best.address) !== file.sectionOf(address)) return undefined;
  return { name: best.choice.name, address: best.address };
}

interface FoundSymbol {
  readonly address: number;
  readonly choice: SymbolChoice;
}

/** How far to look back for a symbol that reaches to an address, past data and symbols that end before it. */
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
