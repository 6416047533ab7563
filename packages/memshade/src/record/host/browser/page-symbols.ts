import { dwpCandidates, openObject } from "../../../code/objects/index.ts";
import { nodeDecompressors } from "../../../names/load/objects.ts";
import { readSourceMap } from "../../../names/load/source-map.ts";
import { askedAgain, complaintOf } from "../../../names/load/symbolizer.ts";
import { Symbolizer } from "../../../names/symbolize/symbolizer.ts";
import type { LinesOf, TypesOf } from "../../tools/session.ts";
import { linesBy, moduleLines } from "../module/module-lines.ts";
import { moduleTypes, typesBy } from "../module/module-types.ts";
import type { LoadedFrom, PageTexts } from "./page-texts.ts";

/** A module of a page, and from where it names other files. */
export interface PageModule {
  original: Uint8Array;
  name: string;
  /** Its own address, or that of the script that has compiled it. */
  base: string | undefined;
}

/** What a module's debug information elsewhere tells. */
interface Symbols {
  lines: ReturnType<LinesOf>;
  /** The file that it is in; undefined for a source map, which knows no types. */
  debug: Uint8Array | undefined;
}

/** Debug information that the modules of pages have in other files, loaded while the page is there. */
export class PageSymbols {
  readonly #texts: PageTexts;
  readonly #note: (sentence: string) => void;
  readonly #symbols = new WeakMap<Uint8Array, Symbols>();

  /** @param note is told of what a module names and nobody has */
  constructor(texts: PageTexts, note: (sentence: string) => void) {
    this.#texts = texts;
    this.#note = note;
  }

  readonly linesOf: LinesOf = (original) => {
    const symbols = this.#symbols.get(original);
    return symbols === undefined ? moduleLines(original) : symbols.lines;
  };

  readonly typesOf: TypesOf = (original) => {
    const debug = this.#symbols.get(original)?.debug;
    return debug === undefined ? moduleTypes(original) : typesBy(original, debug);
  };

  /** Loads what a module names. */
  load(module: PageModule, from: LoadedFrom): void {
    this.#texts.awaits(this.#load(module, from));
  }

  async #load({ original, name, base }: PageModule, from: LoadedFrom): Promise<void> {
    const symbolizer = new Symbolizer(openObject(original), {
      decompressors: nodeDecompressors,
      readSourceMap,
    });
    let debug: Uint8Array | undefined;
    let place = base;
    for (const request of symbolizer.needs()) {
      if (request.kind !== "external-debug-info" && request.kind !== "source-map") continue;
      const url = addressOf(request.name, base);
      const file = url === undefined ? undefined : await this.#texts.debugFile(url, from);
      if (file === undefined) {
        for (const end of complaintOf(request)) this.#note(`${name} ${end}: places may lack source lines.`);
      } else if (request.kind === "external-debug-info") {
        debug = file;
        place = url;
      }
      symbolizer.provide(request, file);
    }
    if (!symbolizer.hasDebugInfo) return;
    const dwp = symbolizer.isSplit ? await this.#loadPackage(name, place, from) : undefined;
    const asked = askedAgain(symbolizer, ({ kind }) => (kind === "dwp" ? dwp : undefined));
    this.#symbols.set(original, {
      lines: linesBy(asked((offset: number) => symbolizer.frames(offset))),
      debug,
    });
  }

  /** Most of split debug information is in a file beside the one that has the rest. */
  async #loadPackage(
    name: string,
    place: string | undefined,
    from: LoadedFrom,
  ): Promise<Uint8Array | undefined> {
    const [url] = place === undefined ? [] : dwpCandidates(withoutQuery(place));
    const file = url === undefined ? undefined : await this.#texts.debugFile(url, from);
    if (file === undefined)
      this.#note(
        `${name} has split debug information, and ${url ?? "the package with it (.dwp)"} was not found: inlined functions are unknown.`,
      );
    return file;
  }
}

/** What a module names, from where it is; undefined where that is no address. */
function addressOf(name: string, base: string | undefined): string | undefined {
  return URL.canParse(name, base) ? new URL(name, base).href : undefined;
}

function withoutQuery(address: string): string {
  return address.replace(/[?#].*$/s, "");
}
