import { areAccessesCut } from "../../../../explain/analyses/granule-accesses.ts";
import { sumOf } from "../../../../explain/analyses/groups.ts";
import { marginOf } from "../../../../explain/analyses/host-stacks.ts";
import {
  formatBlocks,
  formatBytes,
  formatCount,
  formatLeastPercent,
  formatLifetime,
  formatMean,
  formatPercent,
} from "../../../../profile/model/format.ts";
import type { HeapProfile } from "../../../../profile/model/heap-profile.ts";
import type { IndexIntoContextTable } from "../../../../profile/model/indices.ts";
import { knowsField } from "../../../../profile/model/known-fields.ts";
import type { Screen } from "../common/screen.ts";
import { cutStart, displayWidth } from "../common/text.ts";
import { placeInWords, siteFrame } from "./site-names.ts";
import { marginText } from "./site-rows.ts";

type Contexts = readonly IndexIntoContextTable[];

/** Facts about a site, printed below its name. */
export class SiteFacts {
  readonly #screen: Screen;
  readonly #profile: HeapProfile;

  constructor(screen: Screen, profile: HeapProfile) {
    this.#screen = screen;
    this.#profile = profile;
  }

  /** Returns all facts, as many on a line as fit. */
  lines(contexts: Contexts, indent: number): string[] {
    const margin = " ".repeat(indent);
    const lines: string[] = [];
    for (const fact of this.#facts(contexts, indent)) {
      const longer = `${lines.at(-1)} · ${fact}`;
      if (lines.length > 0 && (this.#screen.isWide || displayWidth(longer) <= this.#screen.width))
        lines[lines.length - 1] = longer;
      else lines.push(margin + fact);
    }
    return lines;
  }

  /** Formats number, size and lifetime of blocks; ≈ marks a mean. */
  life(contexts: Contexts): string[] {
    const { mibs } = this.#profile.contexts;
    if (!knowsField(this.#profile, "allocCount")) return [];
    const blocks = sumOf(mibs.allocCount, contexts) || 1;
    const margin = marginText(marginOf(this.#profile, mibs.allocCount, contexts), formatCount);
    const count = margin === "" ? formatBlocks(blocks) : `${formatCount(blocks)}${margin} blocks`;
    const size = formatBytes(sumOf(mibs.totalSize, contexts) / blocks);
    const lifetime = formatLifetime(
      sumOf(mibs.totalLifetime, contexts) / blocks,
      this.#profile.description.clock,
    );
    const isMean = (least: Uint32Array, most: Uint32Array, field: "minSize" | "minLifetime") =>
      (blocks > 1 && !knowsField(this.#profile, field)) ||
      contexts.some((row) => least[row] !== least[contexts[0]!] || most[row] !== least[contexts[0]!]);
    return [
      `${count} of ${isMean(mibs.minSize, mibs.maxSize, "minSize") ? "≈" : ""}${size}`,
      ...(knowsField(this.#profile, "totalLifetime")
        ? [`lifetime ${isMean(mibs.minLifetime, mibs.maxLifetime, "minLifetime") ? "≈" : ""}${lifetime}`]
        : []),
    ];
  }

  #facts(contexts: Contexts, indent: number): string[] {
    const { totalSize, totalAccessCount } = this.#profile.contexts.mibs;
    const bytes = sumOf(totalSize, contexts);
    return [
      ...(knowsField(this.#profile, "totalSize")
        ? [
            `${formatBytes(bytes)}${marginText(marginOf(this.#profile, totalSize, contexts), formatBytes)} in all`,
          ]
        : []),
      ...this.life(contexts),
      ...(knowsField(this.#profile, "totalAccessCount")
        ? [
            `${formatMean(sumOf(totalAccessCount, contexts) / (bytes || 1))} accesses/B` +
              (areAccessesCut(this.#profile, contexts) ? " or more" : ""),
          ]
        : []),
      ...this.#readAndWritten(contexts),
      ...this.#touched(contexts),
      ...this.#place(contexts, indent),
    ];
  }

  /** Formats bytes read and written, for profiles that count them in place of accesses. */
  #readAndWritten(contexts: Contexts): string[] {
    const { readBytes, writtenBytes } = this.#profile.contexts.site ?? {};
    if (readBytes === undefined || writtenBytes === undefined) return [];
    return [
      `${formatBytes(sumOf(readBytes, contexts))} read`,
      `${formatBytes(sumOf(writtenBytes, contexts))} written`,
    ];
  }

  #touched(contexts: Contexts): string[] {
    const { site } = this.#profile.contexts;
    const touchedGranules = site === undefined ? 0 : sumOf(site.granulesTouched, contexts);
    if (site === undefined || touchedGranules === 0) return [];
    const granules = sumOf(site.granules, contexts);
    // Merged counters count an access at the granule of its base address only.
    const isAtLeast = this.#profile.description.counters === "merged" && touchedGranules < granules;
    const part = (isAtLeast ? formatLeastPercent : formatPercent)(touchedGranules, granules);
    return part === undefined ? [] : [`${part} touched`];
  }

  /** Returns the location if it has a source line, or if the screen is wide. */
  #place(contexts: Contexts, indent: number): string[] {
    const frame = siteFrame(this.#profile, contexts);
    if (frame === undefined || frame.calledByHost) return [];
    const isShown = frame.file !== undefined || (frame.index !== null && this.#screen.isWide);
    if (!isShown) return [];
    const place = placeInWords(this.#profile, frame);
    return [this.#screen.shorten(place, (columns) => cutStart(place, columns), this.#screen.width - indent)];
  }
}
