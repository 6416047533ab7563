import { FRAME_HEADER_BYTES } from "../../../../contexts/layout.ts";
import type { FramedSites } from "../../framed-sites.ts";
import type { SiteTable } from "../../site-table.ts";
import type { SiteRecords } from "./site-records.ts";

/** What records and runtime know sites by: numbers, or, in frames, places behind the frame's header. */
export class SiteKeys {
  readonly #sites: SiteTable;
  readonly #framed: FramedSites | undefined;
  readonly #records: SiteRecords;
  readonly #firstId: number;

  /** `firstId`: of the first store. */
  constructor(
    sites: SiteTable,
    framed: FramedSites | undefined,
    { records, firstId }: { records: SiteRecords; firstId: number },
  ) {
    this.#sites = sites;
    this.#framed = framed;
    this.#records = records;
    this.#firstId = firstId;
  }

  store(site: number): number {
    return this.#framed === undefined
      ? this.#sites.store[site] + this.#firstId - 1
      : FRAME_HEADER_BYTES + this.#framed.store[site];
  }

  load(site: number): number {
    return this.#framed === undefined ? this.#sites.load[site] : FRAME_HEADER_BYTES + this.#framed.load[site];
  }

  /** Where the runs of a block are counted that begins with a site, from the base of counters. */
  runsAt(site: number): number {
    const key = this.#sites.store[site] === 0 ? this.load(site) : this.store(site);
    return this.#records.runsAt(key, site);
  }
}
