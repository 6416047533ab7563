import { bytesOfBase64 } from "../../../../ground/bytes/base64.ts";
import { NODE_BYTES, Node } from "../../../contexts/layout.ts";
import { Control, Store } from "../layout.ts";
import { ShadowIds, SITE_COUNTERS_BYTES, SITE_EVENTS } from "../memory-plan.ts";
import type { SiteTable } from "../site-table.ts";
import { controlWord, has, readCount, type WasteTables } from "./tables.ts";

/** Where stores and loads are counted in their records. */
const COUNT = 0;

/** A site in one context, and where it is counted. */
export interface SiteInContext {
  key: number;
  site: number;
  /** Code offsets, innermost first. */
  path: number[];
  /** Address of its record. */
  at: number;
  /** How often it ran inline, besides what the record has, and how often it was silent there, or a load of unread bytes. */
  runs: number;
  events: number;
}

/** Key of a path in maps. */
export function pathKey(path: readonly number[]): string {
  return path.join();
}

/** Code offsets of the calls that lead to a node of the calling context tree, innermost first. */
export function callersOf({ view, description: { nodes } }: WasteTables, from: number): number[] {
  const path: number[] = [];
  for (let node = from; node !== 0; ) {
    const at = nodes + node * NODE_BYTES;
    path.push(view.getUint32(at + Node.place, true));
    node = view.getUint32(at + Node.parent, true);
  }
  return path;
}

/** Keys with their site and path, in the order of the sites; where no frames of contexts have them. */
export function readSitePaths(
  tables: WasteTables,
  sites: SiteTable,
): Record<"stores" | "loads", SiteInContext[]> {
  const { description } = tables;
  const isSummary = description.engine === "brief";
  const read = (which: "store" | "load", firstKey: number): SiteInContext[] => {
    const [table, shift, used] =
      which === "store"
        ? [description.stores, description.recordShift, Control.storeKeys]
        : [description.loads, description.loadShift, Control.loadKeys];
    const paths: SiteInContext[] = [];
    const countsOf = isSummary ? inlineCounts(tables) : undefined;
    const siteOf = description.contexts ? new Int32Array(sites[`${which}s`] + 1) : undefined;
    for (let site = 0; site < sites.length; site++) {
      const counts = countsOf?.(site);
      const number = sites[which][site];
      if (number === 0) continue;
      if (siteOf !== undefined) siteOf[number] = site;
      const key = number - 1 + firstKey;
      const { runs, events } = counts ?? NO_COUNTS;
      const at = table + key * 2 ** shift;
      // Most sites of a large module never run. Precise mode may name them: as writers from before a reset.
      if (isSummary && runs === 0 && readCount(tables.view, at + COUNT) === 0) continue;
      paths.push({ key, site, path: [sites.offset[site]], at, runs, events });
    }
    if (siteOf === undefined) return paths;
    const last = sites[`${which}s`] + controlWord(tables, used);
    for (let key = sites[`${which}s`] + 1; key <= last; key++) {
      const at = table + key * 2 ** shift;
      const number = tables.view.getUint32(at + Store.site, true);
      if (number === 0 || number >= siteOf.length) continue;
      const site = siteOf[number];
      const callers = callersOf(tables, tables.view.getUint32(at + Store.node, true));
      paths.push({ key, site, path: [sites.offset[site], ...callers], at, ...NO_COUNTS });
    }
    return paths;
  };
  return { stores: read("store", isSummary ? ShadowIds.first : 1), loads: read("load", 1) };
}

const NO_COUNTS = { runs: 0, events: 0 };

/** What was counted of a site inline, asked site by site: a block's runs are counted at the site that it begins with. */
function inlineCounts({ view, description }: WasteTables): (site: number) => typeof NO_COUNTS {
  const inline = bytesOfBase64(description.inline);
  const leaders = bytesOfBase64(description.leaders);
  let ofBlock = 0;
  return (site) => {
    if (!has(inline, site)) return NO_COUNTS;
    const at = description.counters + site * SITE_COUNTERS_BYTES;
    if (has(leaders, site)) ofBlock = readCount(view, at);
    return { runs: ofBlock, events: readCount(view, at + SITE_EVENTS) };
  };
}
