import type { WasteFile, WasteFrame, WasteIp } from "../../../profile/model/waste/waste.ts";
import { ownFrame } from "../../analyses/frames/own-place.ts";

/** The function that undid what a site did, repeated it, or loaded before it. */
export interface Partner {
  /** Its place with most bytes. */
  ips: readonly WasteIp[];
  /** Of all its places; there are `places`. */
  bytes: number;
  places: number;
}

type Kind = "overwritten" | "silent" | "redundant";

/** Who met whom, by the dead store, the silent store, or the load that comes again. */
export class Partners {
  /** Per kind and site, partners by their functions, with the bytes of their heaviest place. */
  readonly #found = new Map<string, Map<string, Partner & { most: number; isOwn: boolean }>>();

  constructor(file: WasteFile) {
    for (const { kind, first, second, bytes } of file.pairs ?? []) {
      if (kind !== "overwritten" && kind !== "silent" && kind !== "redundant") continue;
      const [site, other] = kind === "overwritten" ? [first, second] : [second, first];
      if (site === undefined || other === undefined) continue;
      const ips = file[kind === "redundant" ? "loads" : "stores"][other]?.ips ?? [];
      const key = `${kind} ${site}`;
      const groups = this.#found.get(key) ?? new Map<string, Partner & { most: number; isOwn: boolean }>();
      this.#found.set(key, groups);
      const isOwn = other === site;
      const group = isOwn ? "" : (functionOf(ips) ?? `at ${other}`);
      const known = groups.get(group);
      groups.set(group, {
        ips: known === undefined || bytes > known.most ? ips : known.ips,
        bytes: (known?.bytes ?? 0) + bytes,
        places: (known?.places ?? 0) + 1,
        most: Math.max(known?.most ?? 0, bytes),
        isOwn,
      });
    }
  }

  /** The function with most of the bytes; `isOwn`: it is the site itself. */
  of(kind: Kind, site: number): { partner: Partner | undefined; isOwn: boolean } {
    let heaviest: (Partner & { isOwn: boolean }) | undefined;
    for (const group of this.#found.get(`${kind} ${site}`)?.values() ?? [])
      if (heaviest === undefined || group.bytes > heaviest.bytes) heaviest = group;
    if (heaviest === undefined) return { partner: undefined, isOwn: false };
    const { ips, bytes, places, isOwn } = heaviest;
    return { partner: { ips, bytes, places }, isOwn };
  }
}

/** The program's own function around a place, else the library's. */
export function functionOf([ip]: readonly WasteIp[]): string | undefined {
  return ip && (ownFrame<WasteFrame>(ip)?.function ?? ip.function);
}

/** Whether two places are in one function, inlined or not. */
export function isSameFunction(a: readonly WasteIp[], b: readonly WasteIp[]): boolean {
  const name = functionOf(a);
  return name !== undefined && name === functionOf(b);
}
