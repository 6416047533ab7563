import { bytesOfBase64 } from "../../../bytes/base64.ts";
import { ByteReader } from "../../../bytes/reader.ts";
import { Load } from "../layout.ts";
import type { SiteTable } from "../site-table.ts";
import { readCount, type WasteTables } from "./tables.ts";

/** How often the loop has begun in all whose trips a load comes to one place, by site. */
export function readBegun({ view, description }: WasteTables, sites: SiteTable): Map<number, number> {
  const { repeated, loads, loadShift, engine } = description;
  const begun = new Map<number, number>();
  if (repeated === undefined) return begun;
  const field = engine === "full" ? Load.begun : Load.bytes;
  const reader = new ByteReader(bytesOfBase64(repeated));
  for (let groups = reader.u32Leb(); groups > 0; groups--) {
    const group = Array.from({ length: reader.u32Leb() }, () => reader.u32Leb());
    const count = readCount(view, loads + sites.load[group[0]] * 2 ** loadShift + field);
    for (const site of group) begun.set(site, count);
  }
  return begun;
}
