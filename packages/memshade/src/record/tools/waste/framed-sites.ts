import { STORE_IDS_BYTES } from "./layout.ts";
import type { SiteTable } from "./site-table.ts";

/**
 * Bytes of records in frames: what plain accesses count, and what is counted where they differ in size too. See the offsets in
 * `tools/waste/layout.ts`.
 */
const STORE_BYTES = { plain: 40, ranges: 56 } as const;
const LOAD_BYTES = { plain: 16, ranges: 32 } as const;

/** Where in the frames of their functions sites have their records, bytes behind the header; −1: they have none. */
export interface FramedSites {
  store: Int32Array;
  load: Int32Array;
  /** Index among the defined functions of the one that a site belongs to. */
  functionOf: Int32Array;
  /** What the records of each defined function take. */
  recordBytes: Uint32Array;
}

/**
 * Frames of functions that hand out zeroed blocks have the sites which stand behind those of all functions behind their own.
 * Stores have their ids in front of their records.
 */
export function framedSites(sites: SiteTable): FramedSites {
  const functions = sites.firstOfFunction.length - 1;
  const framed: FramedSites = {
    store: new Int32Array(sites.length).fill(-1),
    load: new Int32Array(sites.length).fill(-1),
    functionOf: new Int32Array(sites.length),
    recordBytes: new Uint32Array(functions),
  };
  const place = (site: number, defined: number): void => {
    framed.functionOf[site] = defined;
    const size = sites.bytes[site] === 0 ? "ranges" : "plain";
    if (sites.store[site] !== 0) {
      framed.recordBytes[defined] += STORE_IDS_BYTES;
      framed.store[site] = framed.recordBytes[defined];
      framed.recordBytes[defined] += STORE_BYTES[size];
    }
    if (sites.load[site] !== 0) {
      framed.load[site] = framed.recordBytes[defined];
      framed.recordBytes[defined] += LOAD_BYTES[size];
    }
  };
  for (let defined = 0; defined < functions; defined++)
    for (let site = sites.firstOfFunction[defined]; site < sites.firstOfFunction[defined + 1]; site++)
      place(site, defined);
  sites.zeroing.forEach((defined, i) => {
    place(sites.firstOfFunction[functions] + i, defined);
  });
  return framed;
}
