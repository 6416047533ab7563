import type { ObjectSection } from "../types.ts";
import { SHT_NOBITS, SHT_REL, SHT_RELA } from "./constants.ts";
import type { ElfSectionHeader } from "./header.ts";
import { type Relocated, relocate } from "./relocations.ts";

/** The tables of a relocatable object. Both lists are in the order of the section header table. */
export interface RelocatableTables {
  readonly sections: readonly ObjectSection[];
  readonly headers: readonly ElfSectionHeader[];
  readonly is64: boolean;
  readonly machine: number;
}

/**
 * Sections of debug information of a relocatable object, with relocations applied. Sections of one name, as compilers
 * make them for types that several objects may have, are joined into one.
 */
export class RelocatedSections {
  readonly #tables: RelocatableTables;
  readonly #contentOf: (section: ObjectSection) => Uint8Array | undefined;
  /** By index of a relocated section: that of the section with its relocations. */
  readonly #relocations = new Map<number, number>();
  readonly #joined = new Map<string, Relocated | undefined>();
  #bases: ReadonlyMap<number, number> | undefined;

  constructor(tables: RelocatableTables, contentOf: (section: ObjectSection) => Uint8Array | undefined) {
    this.#tables = tables;
    this.#contentOf = contentOf;
    tables.headers.forEach(({ type, info }, index) => {
      if (type === SHT_RELA || type === SHT_REL) this.#relocations.set(info, index);
    });
  }

  section(name: string): Relocated | undefined {
    if (!this.#joined.has(name)) this.#joined.set(name, this.#join(name));
    return this.#joined.get(name);
  }

  #join(name: string): Relocated | undefined {
    const parts = this.#indicesOf(name).flatMap((index) => this.#relocatedPart(index) ?? []);
    if (parts.length < 2) return parts[0];
    const content = new Uint8Array(parts.reduce((sum, part) => sum + part.content.length, 0));
    const targets = new Map<number, number>();
    let base = 0;
    for (const part of parts) {
      content.set(part.content, base);
      for (const [offset, target] of part.targets) targets.set(base + offset, target);
      base += part.content.length;
    }
    return { content, targets };
  }

  #indicesOf(name: string): number[] {
    const { sections } = this.#tables;
    const old = `.z${name.slice(1)}`;
    return [...sections.keys()].filter((index) => {
      const section = sections[index];
      return (section.name === name || section.name === old) && section.type !== SHT_NOBITS;
    });
  }

  #relocatedPart(index: number): Relocated | undefined {
    const { sections, headers, is64, machine } = this.#tables;
    const content = this.#contentOf(sections[index]);
    if (content === undefined) return undefined;
    const at = this.#relocations.get(index);
    const entries = at === undefined ? undefined : this.#contentOf(sections[at]);
    const symbolSection = at === undefined ? undefined : sections[headers[at].link];
    const symbols = symbolSection && this.#contentOf(symbolSection);
    if (at === undefined || entries === undefined || symbols === undefined)
      return { content, targets: new Map() };
    const hasAddends = headers[at].type === SHT_RELA;
    return relocate(content, {
      entries,
      hasAddends,
      symbols,
      is64,
      machine,
      baseOf: (section) => this.#baseOf(section),
    });
  }

  /** Where a section starts in the one that all of its name were joined into. */
  #baseOf(index: number): number {
    this.#bases ??= this.#findBases();
    return this.#bases.get(index) ?? 0;
  }

  #findBases(): Map<number, number> {
    const ends = new Map<string, number>();
    const bases = new Map<number, number>();
    this.#tables.sections.forEach((section, index) => {
      if (!section.name.startsWith(".debug_") || section.type === SHT_NOBITS) return;
      const base = ends.get(section.name) ?? 0;
      if (base > 0) bases.set(index, base);
      ends.set(section.name, base + (this.#contentOf(section)?.length ?? 0));
    });
    return bases;
  }
}
