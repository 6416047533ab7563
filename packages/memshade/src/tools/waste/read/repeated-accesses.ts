import { bytesOfBase64 } from "../../../bytes/base64.ts";
import { ByteReader } from "../../../bytes/reader.ts";
import { begunAt, ShadowIds } from "../memory-plan.ts";
import type { SiteTable } from "../site-table.ts";
import { readCount, type WasteTables } from "./tables.ts";

/** How often the loop has begun in all whose trips an access comes to one place, by site. */
export function readBegun({ view, description }: WasteTables, sites: SiteTable): Map<number, number> {
  const { repeated, engine } = description;
  const isPrecise = engine === "full";
  const begun = new Map<number, number>();
  if (repeated === undefined) return begun;
  const reader = new ByteReader(bytesOfBase64(repeated));
  for (let groups = reader.u32Leb(); groups > 0; groups--) {
    const group = Array.from({ length: reader.u32Leb() }, () => reader.u32Leb());
    const [first] = group;
    const isStore = sites.store[first] !== 0;
    const key = isStore ? sites.store[first] + (isPrecise ? 1 : ShadowIds.first) - 1 : sites.load[first];
    const count = readCount(view, begunAt(description, key, { isStore, isPrecise }));
    for (const site of group) begun.set(site, count);
  }
  return begun;
}
