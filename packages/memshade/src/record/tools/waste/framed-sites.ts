import { STORE_IDS_BYTES } from "./layout.ts";
import type { SiteTable } from "./site-table.ts";

/** Bytes of records in frames: of plain accesses, and of those with varying sizes. The fields are in `layout.ts`. */
const STORE_BYTES = { plain: 40, ranges: 56 } as const;
const LOAD_BYTES = { plain: 16, ranges: 32 } as const;

/**
 * Offsets of the records of sites in the frames of their functions, bytes from the end of the header; −1: no record.
 */
export interface FramedSites {
  store: Int32Array;
  load: Int32Array;
  /** Index of each site's function among the defined functions. */
  functionOf: Int32Array;
  recordBytes: Uint32Array;
}

/**
 * Lays out the records of sites in frames. The extra site of a function that hands out zeroed blocks is in that
 * function's frame, after its other sites. The ids of a store precede its record.
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
