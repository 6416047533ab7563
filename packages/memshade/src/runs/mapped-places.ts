import { loadBias } from "../code/objects/index.ts";
import { loadDemangler } from "../names/load/demangler.ts";
import { debuginfodCaches } from "../names/load/installed-objects.ts";
import { ObjectFinder } from "../names/load/objects.ts";
import { type FileSymbolizer, loadSymbolizer } from "../names/load/symbolizer.ts";
import type { ResolvedFrame } from "../profile/model/heap-profile.ts";
import type { MappedPart } from "../profile/model/imported-heap.ts";

/** Names the addresses in files of other tools, by the objects that the process had mapped. */
export class MappedPlaces {
  readonly #finder: ObjectFinder;
  readonly #symbolizers = new Map<string, FileSymbolizer | undefined>();
  readonly #unsure = new Set<string>();

  constructor(binaryPaths: readonly string[] = []) {
    this.#finder = new ObjectFinder({ binaryPaths, debuginfodCaches: debuginfodCaches() });
  }

  /** A sentence about objects of which it is not known whether they are those of the profile. */
  get sentences(): string[] {
    if (this.#unsure.size === 0) return [];
    const files = [...this.#unsure].join(", ");
    return [`The profile has no build ids: names are those of the files that are there now (${files}).`];
  }

  /** The frames at an address, innermost first; undefined where nothing there has a name. */
  framesAt(part: MappedPart, address: bigint): readonly ResolvedFrame[] | undefined {
    const symbolizer = this.#symbolizerOf(part);
    if (symbolizer === undefined) return undefined;
    const { object } = symbolizer.symbolizer;
    const bias = loadBias(object, Number(part.start), Number(part.fileOffset));
    if (bias === undefined) return undefined;
    const offset = Number(address) - bias;
    const frames = symbolizer.frames(offset);
    if (frames.at(-1)?.function === undefined) return undefined;
    if (part.buildId === "") this.#unsure.add(symbolizer.path);
    return frames.map(({ function: name, file, line, column, startLine, inlined }) => ({
      name,
      offset,
      file,
      line: line || undefined,
      column: column || undefined,
      startLine: startLine || undefined,
      inlined,
    }));
  }

  #symbolizerOf({ path, buildId }: MappedPart): FileSymbolizer | undefined {
    const key = `${path} ${buildId}`;
    if (!this.#symbolizers.has(key)) {
      const found = this.#finder.find({ path, buildId: buildId || undefined });
      const isThere = !("missing" in found) && found.object.kind === "elf";
      this.#symbolizers.set(
        key,
        isThere ? loadSymbolizer(found, { demangle: loadDemangler(), finder: this.#finder }) : undefined,
      );
    }
    return this.#symbolizers.get(key);
  }
}
