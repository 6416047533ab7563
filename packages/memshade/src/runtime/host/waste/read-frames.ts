import {
  type CallSites,
  FRAME_HEADER_BYTES,
  type FramedSites,
  type SiteTable,
} from "../../../instrument/index.ts";
import { bits, has, type SiteInContext, type WasteToolLayout } from "./read-waste.ts";
import { ControlField, readCount } from "./waste-offsets.ts";

// Mirrors runtime/shadow/assembly/waste/frames.ts and tree.ts.
const TAG = 0;
const NODE = 4;
const RECORD_END = 8;
const SLOT_BYTES = 16;
const NODE_BYTES = 8;
/** Sites in contexts that a report can have of each kind; so is waste.json of a bounded size. */
const MOST_IN_CONTEXT = 65_536;
/** Where stores and loads are counted in their records. */
const COUNT = 0;
/** Node of frames that stand for all contexts which found no room. */
const NOWHERE = 0xffffffff;

interface Frame {
  address: number;
  /** The function, among the defined ones. */
  defined: number;
  node: number;
  /** Bytes of its header and records. */
  bytes: number;
}

/** A site in a frame, before it is known whether its context is told. */
interface FramedSite extends Omit<SiteInContext, "path"> {
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
  readonly #layout: WasteToolLayout;
  readonly #sites: SiteTable;
  readonly #framed: FramedSites;
  readonly #inline: Uint8Array;
  readonly #leaders: Uint8Array;
  /** Code offset of the call of each slot, and first slot by defined function. */
  readonly #offsetOfSlot: number[] = [];
  readonly #firstSlot: number[] = [];
  /** Sites by defined function, where they do not follow each other. */
  readonly #zeroing = new Map<number, number[]>();

  constructor(layout: WasteToolLayout, sites: SiteTable, framed: FramedSites, calls: CallSites) {
    this.#layout = layout;
    this.#sites = sites;
    this.#framed = framed;
    this.#inline = bits(layout.inline);
    this.#leaders = bits(layout.leaders);
    const slots = bits(layout.slots ?? "");
    const keeps = bits(layout.keeps ?? "");
    const functions = calls.firstOfFunction.length - 1;
    for (let defined = 0; defined < functions; defined++) {
      this.#firstSlot.push(this.#offsetOfSlot.length);
      for (const kept of [false, true])
        for (let call = calls.firstOfFunction[defined]; call < calls.firstOfFunction[defined + 1]; call++)
          if (has(slots, call) && has(keeps, call) === kept) this.#offsetOfSlot.push(calls.offset[call]);
    }
    this.#firstSlot.push(this.#offsetOfSlot.length);
    for (let site = sites.firstOfFunction[functions]; site < sites.length; site++) {
      const defined = framed.functionOf[site];
      this.#zeroing.set(defined, [...(this.#zeroing.get(defined) ?? []), site]);
    }
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
        return { key, site, path: [offset[site]], at, runs };
      }
      let callers = pathOf.get(node);
      if (callers === undefined) {
        callers = this.#callers(view, node);
        pathOf.set(node, callers);
      }
      return { key, site, path: [offset[site], ...callers], at, runs };
    });
  }

  /** Sets all counts to zero. */
  forget(view: DataView): void {
    const bytes = new Uint8Array(view.buffer);
    for (const { address, bytes: end } of this.#frames(view))
      bytes.fill(0, address + FRAME_HEADER_BYTES, address + end);
  }

  *#frames(view: DataView): Generator<Frame> {
    const { arena, control } = this.#layout;
    const end = view.getUint32(control + ControlField.frameNext, true);
    for (let address = arena; address < end; ) {
      const defined = view.getUint32(address + TAG, true) - 1;
      const bytes = view.getUint32(address + RECORD_END, true);
      yield { address, defined, node: view.getUint32(address + NODE, true), bytes };
      address += bytes + (this.#firstSlot[defined + 1] - this.#firstSlot[defined]) * SLOT_BYTES;
    }
  }

  #readFrame(
    view: DataView,
    { address, defined, node }: Frame,
    toStores: FramedSite[],
    toLoads: FramedSite[],
  ): void {
    const { firstOfFunction } = this.#sites;
    const { stores, recordShift } = this.#layout;
    const records = address + FRAME_HEADER_BYTES;
    let leader = 0;
    const add = (to: FramedSite[], site: number, at: number, runs: number): void => {
      const count = readCount(view, at + COUNT) + runs;
      if (count > 0) to.push({ key: (at - stores) / 2 ** recordShift, site, at, runs, node, count });
    };
    const readSite = (site: number): void => {
      const [store, load] = [this.#framed.store[site], this.#framed.load[site]];
      let runs = 0;
      if (has(this.#inline, site)) {
        // A block's runs are counted in the record of the site that it begins with.
        if (has(this.#leaders, site)) leader = readCount(view, records + (store >= 0 ? store : load));
        else runs = leader;
      }
      if (store >= 0) add(toStores, site, records + store, runs);
      if (load >= 0) add(toLoads, site, records + load, runs);
    };
    for (let site = firstOfFunction[defined]; site < firstOfFunction[defined + 1]; site++) readSite(site);
    for (const site of this.#zeroing.get(defined) ?? []) readSite(site);
  }

  /** Code offsets of the calls that lead to a node of the calling context tree, innermost first. */
  #callers(view: DataView, from: number): number[] {
    const path: number[] = [];
    for (let node = from; node !== 0; ) {
      const at = this.#layout.nodes + node * NODE_BYTES;
      // Slots are counted from 1.
      path.push(this.#offsetOfSlot[view.getUint32(at + 4, true) - 1]);
      node = view.getUint32(at, true);
    }
    return path;
  }
}
