import { bytesOfBase64 } from "../../../../ground/bytes/base64.ts";
import { type ContextFrame, FrameTables } from "../../../contexts/frames/frame-tables.ts";
import { FRAME_HEADER_BYTES, NOWHERE } from "../../../contexts/layout.ts";
import type { WasteDescription } from "../description.ts";
import { type FramedSites, framedSites } from "../framed-sites.ts";
import { Control } from "../layout.ts";
import type { SiteTable } from "../site-table.ts";
import type { SiteInContext } from "./site-paths.ts";
import { has, readCount } from "./tables.ts";

/** Sites in contexts that a report can have of each kind; so is waste.json of a bounded size. */
const MOST_IN_CONTEXT = 65_536;
/** Where stores and loads are counted in their records. */
const COUNT = 0;

/** A site in a frame, before it is known whether its context is told. */
interface FramedSite extends Omit<SiteInContext, "path" | "events"> {
  node: number;
  /** How often it ran. */
  count: number;
}

export interface FramedContents {
  stores: SiteInContext[];
  loads: SiteInContext[];
  /** Accesses that were counted without their context, because the tables were full. */
  accessesLost: number;
  /** Contexts that are left out of what is told, and the accesses that they had. */
  contextsLeft: number;
  accessesLeft: number;
}

/** Reads the frames of the contexts that one instance's functions ran in. */
export class FrameReader {
  readonly #description: WasteDescription;
  readonly #sites: SiteTable;
  readonly #framed: FramedSites;
  readonly #inline: Uint8Array;
  readonly #leaders: Uint8Array;
  readonly #tables: FrameTables;
  /** Sites that stand behind those of all functions, by defined function. */
  readonly #zeroing = new Map<number, number[]>();

  constructor(description: WasteDescription, sites: SiteTable) {
    const { arena, nodes, slots = "" } = description;
    this.#description = description;
    this.#sites = sites;
    this.#framed = framedSites(sites);
    this.#inline = bytesOfBase64(description.inline);
    this.#leaders = bytesOfBase64(description.leaders);
    this.#tables = new FrameTables({ arena, nodes, slots: bytesOfBase64(slots) });
    sites.zeroing.forEach((defined, i) => {
      const site = sites.length - sites.zeroing.length + i;
      this.#zeroing.set(defined, [...(this.#zeroing.get(defined) ?? []), site]);
    });
  }

  /** All sites that ran. Of stores and of loads each the `most` busiest have their contexts, the others none. */
  read(view: DataView, most = MOST_IN_CONTEXT): FramedContents {
    const [stores, loads]: FramedSite[][] = [[], []];
    for (const frame of this.#frames(view)) this.#readFrame(view, frame, stores, loads);
    const contents: FramedContents = {
      stores: [],
      loads: [],
      accessesLost: 0,
      contextsLeft: 0,
      accessesLeft: 0,
    };
    contents.stores = this.#tell(view, stores, most, contents);
    contents.loads = this.#tell(view, loads, most, contents);
    return contents;
  }

  #tell(view: DataView, sites: FramedSite[], most: number, contents: FramedContents): SiteInContext[] {
    const { offset, bytes } = this.#sites;
    const weight = ({ site, count }: FramedSite): number => count * Math.max(bytes[site], 1);
    const isTold = (one: FramedSite): boolean => one.node !== 0 && one.node !== NOWHERE;
    let least = 0;
    if (sites.length > most) {
      const weights = Float64Array.from(sites.filter(isTold), weight).sort();
      // Of those with the weight of the last one that has room, some would have to be chosen: none of them is.
      if (weights.length > most) least = weights[weights.length - most - 1];
    }
    const pathOf = new Map<number, number[]>([[NOWHERE, []]]);
    return sites.map((one) => {
      const { key, site, at, runs, node, count } = one;
      if (node === NOWHERE) contents.accessesLost += count;
      if (isTold(one) && weight(one) <= least) {
        contents.contextsLeft++;
        contents.accessesLeft += count;
        return { key, site, path: [offset[site]], at, runs, events: 0 };
      }
      let callers = pathOf.get(node);
      if (callers === undefined) {
        callers = this.#tables.callers(view, node);
        pathOf.set(node, callers);
      }
      return { key, site, path: [offset[site], ...callers], at, runs, events: 0 };
    });
  }

  /** Sets all counts to zero. */
  reset(view: DataView): void {
    const bytes = new Uint8Array(view.buffer);
    for (const { address, bytes: end } of this.#frames(view))
      bytes.fill(0, address + FRAME_HEADER_BYTES, address + end);
  }

  #frames(view: DataView): Iterable<ContextFrame> {
    return this.#tables.frames(view, view.getUint32(this.#description.control + Control.frameNext, true));
  }

  #readFrame(
    view: DataView,
    { address, defined, node }: ContextFrame,
    toStores: FramedSite[],
    toLoads: FramedSite[],
  ): void {
    const { firstOfFunction } = this.#sites;
    const { stores, recordShift } = this.#description;
    const records = address + FRAME_HEADER_BYTES;
    const add = (to: FramedSite[], site: number, at: number, runs: number): void => {
      const count = readCount(view, at + COUNT) + runs;
      if (count > 0) to.push({ key: (at - stores) / 2 ** recordShift, site, at, runs, node, count });
    };
    const [first, end] = [firstOfFunction[defined], firstOfFunction[defined + 1]];
    let ofBlock = 0;
    const readSite = (site: number): void => {
      const [store, load] = [this.#framed.store[site], this.#framed.load[site]];
      let runs = 0;
      if (has(this.#inline, site)) {
        // A block's runs are counted in the record of the site that it begins with, as that one's own.
        if (has(this.#leaders, site)) ofBlock = readCount(view, records + (store >= 0 ? store : load));
        else runs = ofBlock;
      }
      if (store >= 0) add(toStores, site, records + store, runs);
      if (load >= 0) add(toLoads, site, records + load, runs);
    };
    for (let site = first; site < end; site++) readSite(site);
    for (const site of this.#zeroing.get(defined) ?? []) readSite(site);
  }
}
