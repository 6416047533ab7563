import type { WasteFile, WasteIp } from "./waste.ts";

/** All code locations of a file. */
export function placesOf(file: WasteFile): WasteIp[] {
  const sites = [
    ...file.stores,
    ...file.loads,
    ...(file.reallocations ?? []),
    ...(file.objects ?? []),
    ...(file.blocks ?? []),
    ...(file.ends ?? []),
  ];
  return sites.flatMap(({ ips }) => ips);
}
