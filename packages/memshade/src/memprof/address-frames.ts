import type { SourceFrame } from "../formats/memprof/index.ts";
import { type LoadedObject, ObjectFinder } from "../load/objects.ts";
import { loadSymbolizer } from "../load/symbolizer.ts";

/** The inline chain at an address of a file, innermost first; empty where no function is known. */
export type AddressFrames = (address: number) => readonly SourceFrame[];

/**
 * Looks addresses up in debug information alone: symbol tables may name functions otherwise, and compilers that use a
 * profile only know the names of debug information.
 *
 * @param finder looks for separate debug information, where the file itself has none
 */
export function loadAddressFrames(loaded: LoadedObject, finder: ObjectFinder | undefined): AddressFrames {
  const { frames } = loadSymbolizer(loaded, {
    finder: finder ?? new ObjectFinder({ debugDirectories: [] }),
    useSymbolTable: false,
  });
  return (address) => {
    const found = frames(address);
    return found[0]?.linkageName === undefined ? [] : found;
  };
}
