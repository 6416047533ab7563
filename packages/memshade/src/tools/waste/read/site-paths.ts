import { bytesOfBase64 } from "../../../bytes/base64.ts";
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
  const counted = countedInline(tables, sites);
  const isSummary = description.engine === "brief";
  const read = (which: "store" | "load", firstKey: number): SiteInContext[] => {
    const [table, shift, used] =
      which === "store"
        ? [description.stores, description.recordShift, Control.storeKeys]
        : [description.loads, description.loadShift, Control.loadKeys];
    const paths: SiteInContext[] = [];
    const add = (key: number, site: number, path: number[]): void => {
      const [runs, events] = [counted.runs[site], counted.events[site]];
      const at = table + key * 2 ** shift;
      // Most sites of a large module never run. Precise mode may name them: as writers from before a reset.
      if (isSummary && runs === 0 && readCount(tables.view, at + COUNT) === 0) return;
      paths.push({ key, site, path, at, runs, events });
    };
    const siteOf: number[] = [];
    for (let site = 0; site < sites.length; site++) {
      const number = sites[which][site];
      if (number === 0) continue;
      siteOf[number] = site;
      add(number - 1 + firstKey, site, [sites.offset[site]]);
    }
    if (!description.contexts) return paths;
    const last = sites[`${which}s`] + controlWord(tables, used);
    for (let key = sites[`${which}s`] + 1; key <= last; key++) {
      const at = table + key * 2 ** shift;
      const site = siteOf[tables.view.getUint32(at + Store.site, true)];
      if (site === undefined) continue;
      const callers = callersOf(tables, tables.view.getUint32(at + Store.node, true));
      add(key, site, [sites.offset[site], ...callers]);
    }
    return paths;
  };
  return { stores: read("store", isSummary ? ShadowIds.first : 1), loads: read("load", 1) };
}

/** What was counted of each site inline. A block's runs are counted at the site that it begins with. */
function countedInline(
  { view, description }: WasteTables,
  sites: SiteTable,
): Record<"runs" | "events", Float64Array> {
  const [runs, events] = [new Float64Array(sites.length), new Float64Array(sites.length)];
  if (description.engine === "full") return { runs, events };
  const inline = bytesOfBase64(description.inline);
  const leaders = bytesOfBase64(description.leaders);
  let ofBlock = 0;
  for (let site = 0; site < sites.length; site++) {
    if (!has(inline, site)) continue;
    const at = description.counters + site * SITE_COUNTERS_BYTES;
    if (has(leaders, site)) ofBlock = readCount(view, at);
    runs[site] = ofBlock;
    events[site] = readCount(view, at + SITE_EVENTS);
  }
  return { runs, events };
}
