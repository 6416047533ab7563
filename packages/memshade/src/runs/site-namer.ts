import { partitionPoint } from "../ground/bytes/columns.ts";
import { entryOf } from "../ground/bytes/entries.ts";
import type { ModuleSymbols } from "../names/symbolize/run-lines.ts";
import type { Run, RunModule } from "../profile/model/run.ts";
import type { SampleFrame } from "../profile/model/sample-profile.ts";
import { type OriginalPlaces, RunSymbols } from "./run-symbols.ts";

/** Names places in code by their numbers in a run. */
export class SiteNamer {
  readonly #symbols: RunSymbols;
  readonly #modules: readonly { start: number; module: RunModule; index: number }[];
  readonly #symbolsOfModule = new Map<number, ModuleSymbols | undefined>();
  readonly #framesOfSite = new Map<number, readonly SampleFrame[]>();

  constructor({ modules }: Run, places: OriginalPlaces) {
    this.#symbols = new RunSymbols(places, modules);
    this.#modules = modules
      .map((module, index) => ({ start: Number(module.start), module, index }))
      .sort((a, b) => a.start - b.start);
  }

  get missing(): readonly string[] {
    return this.#symbols.missing;
  }

  /** Returns the frames of a place, outermost first; several if functions were inlined. */
  frames(site: number): readonly SampleFrame[] {
    return entryOf(this.#framesOfSite, site, () => this.#name(site));
  }

  #name(site: number): readonly SampleFrame[] {
    const modules = this.#modules;
    const found = modules[partitionPoint(0, modules.length, (at) => modules[at]!.start <= site) - 1];
    if (found === undefined || site >= found.start + found.module.codeBytes)
      return [{ function: "[unknown code]" }];
    const { module, index, start } = found;
    const address = site - start + (module.object?.address ?? 0);
    if (!this.#symbolsOfModule.has(index)) this.#symbolsOfModule.set(index, this.#symbols.symbolsOf(module));
    const named = this.#symbolsOfModule.get(index)?.frames(address) ?? [];
    const place = { address, module: index };
    const isNamed =
      named.length > 0 && named.every(({ function: name, inlined }) => inlined || name !== undefined);
    const nameless = isNamed ? "" : this.#nameless(module, address);
    if (named.length === 0) return [{ function: nameless, ...place }];
    return named.toReversed().map(
      ({ function: name, linkageName, file, line, column, startLine, inlined }): SampleFrame => ({
        function: name ?? (inlined ? "(inlined)" : nameless),
        ...(linkageName === name ? {} : { linkageName }),
        ...(file === undefined || line === 0
          ? {}
          : { file, line, ...(column === 0 ? {} : { column }), ...(startLine === 0 ? {} : { startLine }) }),
        ...(inlined ? { inlined } : {}),
        ...place,
      }),
    );
  }

  /**
   * Returns a name for a function without one: its module and start. All code that was compiled at run time
   * has one name.
   */
  #nameless(module: RunModule, address: number): string {
    if (module.path === undefined || module.path === null) return module.name;
    const start = this.#symbols.functionStart(module, address) ?? address;
    return `[${module.name}]+0x${start.toString(16)}`;
  }
}
