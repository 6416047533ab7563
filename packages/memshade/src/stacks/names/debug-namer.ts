import type { ObjectFile } from "../../objects/index.ts";
import type { Symbolizer } from "../../symbolize/symbolizer.ts";
import type { FoundObject, NativeFile } from "../native-file.ts";
import type { SourceFrame } from "./name-frames.ts";

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
