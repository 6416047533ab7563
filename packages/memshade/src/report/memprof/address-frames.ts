import type { SourceFrame } from "../../formats/memprof/index.ts";
import { Symbolizer } from "../../symbolize/index.ts";
import type { LoadedObject, ObjectFinder } from "../load-objects.ts";

/** The inline chain at an address of a file, innermost first; empty where no function is known. */
export type AddressFrames = (address: number) => readonly SourceFrame[];

/**
 * Looks addresses up in debug information alone: symbol tables may name functions otherwise, and compilers that use a
 * profile only know the names of debug information.
 *
 * @param finder looks for separate debug information, where the file itself has none
 */
export function loadAddressFrames(loaded: LoadedObject, finder: ObjectFinder | undefined): AddressFrames {
  const { object } = loaded;
  const hasOwn = object.sections.some(({ name }) => name === ".debug_info" || name === ".zdebug_info");
  const debug = hasOwn ? undefined : finder?.findDebugFile(loaded)?.object;
  const { dwarf } = new Symbolizer(object, { debug });
  return (address) =>
    dwarf.frames(address).map(({ linkageName, name, file, line, column, discriminator, startLine }) => ({
      linkageName: linkageName ?? name,
      file,
      line,
      column,
      discriminator,
      startLine,
    }));
}
