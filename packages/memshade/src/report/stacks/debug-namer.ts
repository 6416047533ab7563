import { Symbolizer } from "../../symbolize/symbolizer.ts";
import type { SourceFrame } from "./name-frames.ts";
import type { NativeFile } from "./native-file.ts";

/** Names addresses by the debug information of objects, or of the files that it was moved to. */
export class DebugNamer {
  readonly #symbolizers = new Map<NativeFile, Symbolizer | undefined>();
  readonly #demangle: (name: string) => string;

  constructor(demangle: (name: string) => string) {
    this.#demangle = demangle;
  }

  /** The frames at an address of an object, innermost first; none where there is no debug information. */
  frames(file: NativeFile, address: number): SourceFrame[] {
    const found = this.#symbolizerOf(file)?.debugFrames(address) ?? [];
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

  #symbolizerOf(file: NativeFile): Symbolizer | undefined {
    if (!this.#symbolizers.has(file)) this.#symbolizers.set(file, makeSymbolizer(file));
    return this.#symbolizers.get(file);
  }
}

function makeSymbolizer({ found, debugFile }: NativeFile): Symbolizer | undefined {
  if (found === undefined) return undefined;
  if (found.object.section(".debug_info") !== undefined) return new Symbolizer(found.object);
  const debug = debugFile?.object;
  return debug?.section(".debug_info") === undefined ? undefined : new Symbolizer(found.object, { debug });
}
