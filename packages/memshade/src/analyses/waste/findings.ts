import type { WasteFile, WasteIp, WasteObjects, WastePair } from "../../model/waste.ts";

/** What kind of waste a finding is about. */
export type FindingKind = "dead" | "silent" | "redundant" | "write-only";

/** One place that wastes memory operations, with what it costs. */
export interface WasteFinding {
  kind: FindingKind;
  ips: readonly WasteIp[];
  /** Wasted bytes: dead, silently stored again, or loaded again. */
  bytes: number;
  /** Stores or loads of the site, and how many of them are wasted where that is known. */
  operations: number;
  wasted: number | undefined;
  /** `bytes` as a part of the site's bytes, 0…1. */
  share: number;
  /** Who undid it, repeated by whom, or who loaded before: with how many of the bytes. */
  partner: { ips: readonly WasteIp[]; bytes: number } | undefined;
  /** The same place every time: the site kills or repeats itself. */
  isOwn: boolean;
  class: string;
  /** Of write-only fields: offset and size in the block, and blocks. */
  field: { offset: number; size: number; objects: number; blockSize: number } | undefined;
}

/** Findings, the costliest first, and what was left out of them because it is harmless as a rule. */
export interface WasteFindings {
  findings: WasteFinding[];
  folded: { what: string; bytes: number; sites: number }[];
}

/** Parts of all dead bytes, of all silent stores or of all loads below which a site is not worth a sentence. */
const LEAST_PART = 0.001;

/**
 * The findings of a run: stores overwritten before they are read, stores that change nothing, loads that repeat, and
 * with objects the fields that nobody reads.
 */
export function wasteFindings(file: WasteFile): WasteFindings {
  const { totals } = file;
  const findings: WasteFinding[] = [];
  const folds = new Map<string, { what: string; bytes: number; sites: number }>();
  const fold = (what: string, bytes: number): void => {
    const known = folds.get(what) ?? { what, bytes: 0, sites: 0 };
    folds.set(what, { what, bytes: known.bytes + bytes, sites: known.sites + 1 });
  };
  const partners = partnersOf(file);

  file.stores.forEach((store, index) => {
    const shape = { ips: store.ips, operations: store.nof_stores, class: store.class, field: undefined };
    if (store.dead_deallocated > 0)
      fold("bytes unread when their block or frame ended", store.dead_deallocated);
    if (store.dead_exit > 0) fold("bytes unread at the end of the run", store.dead_exit);
    const dead = store.dead_overwritten;
    if (dead > 0) {
      if (store.class === "calloc") fold("zeros of calloc that the program overwrites", dead);
      else if (store.class === "atomic") fold("atomic variables", dead);
      else if (store.class === "host") fold("results of host calls that nobody looks at", dead);
      else if (dead >= LEAST_PART * totals.bytesWritten) {
        const partner = partners.overwritten.get(index);
        findings.push({
          ...shape,
          kind: "dead",
          bytes: dead,
          wasted: undefined,
          share: dead / store.bytes_written,
          ...partnerOf(file, partner, index, "stores"),
        });
      }
    }
    if (store.nof_silent >= LEAST_PART * totals.stores && store.nof_silent > 0 && store.class !== "atomic") {
      findings.push({
        ...shape,
        kind: "silent",
        bytes: store.bytes_silent,
        wasted: store.nof_silent,
        share: store.nof_silent / store.nof_stores,
        ...partnerOf(file, partners.silent.get(index), index, "stores"),
      });
    }
  });
  file.loads.forEach((load, index) => {
    const wasted = load.nof_redundant ?? load.nof_silent;
    if (wasted < LEAST_PART * 10 * totals.loads || wasted === 0 || load.class === "atomic") return;
    findings.push({
      kind: "redundant",
      ips: load.ips,
      bytes: Math.round((load.bytes_loaded * wasted) / load.nof_loads),
      operations: load.nof_loads,
      wasted,
      share: wasted / load.nof_loads,
      class: load.class,
      field: undefined,
      ...partnerOf(file, partners.redundant.get(index), index, "loads"),
    });
  });
  for (const site of file.objects ?? []) findings.push(...writeOnlyFields(site));
  findings.sort((a, b) => weight(b) - weight(a));
  return { findings, folded: [...folds.values()].sort((a, b) => b.bytes - a.bytes) };
}

/** A load in vain costs less than a store: engines and caches hide most of it. */
const LOAD_WEIGHT = 0.25;

function weight({ kind, bytes }: WasteFinding): number {
  return kind === "redundant" ? bytes * LOAD_WEIGHT : bytes;
}

/** Fields of a site whose blocks all have one size that are written and never read. */
function writeOnlyFields(site: WasteObjects): WasteFinding[] {
  if (site.varies || site.objects < 2) return [];
  return site.fields
    .filter(({ reads, writes }) => reads === 0 && writes > 0)
    .map((field) => ({
      kind: "write-only" as const,
      ips: site.ips,
      bytes: field.writes,
      operations: field.writes / field.size,
      wasted: undefined,
      share: 1,
      partner: undefined,
      isOwn: false,
      class: "plain",
      field: { offset: field.offset, size: field.size, objects: site.objects, blockSize: site.size },
    }));
}

interface Partners {
  overwritten: Map<number, WastePair>;
  silent: Map<number, WastePair>;
  redundant: Map<number, WastePair>;
}

/** The heaviest pair of each site: by the dead store, by the silent store, by the load that comes again. */
function partnersOf(file: WasteFile): Partners {
  const partners: Partners = { overwritten: new Map(), silent: new Map(), redundant: new Map() };
  for (const pair of file.pairs ?? []) {
    const { kind } = pair;
    if (kind !== "overwritten" && kind !== "silent" && kind !== "redundant") continue;
    const site = kind === "overwritten" ? pair.first : pair.second;
    const known = site === undefined ? undefined : partners[kind].get(site);
    if (site !== undefined && (known === undefined || known.bytes < pair.bytes))
      partners[kind].set(site, pair);
  }
  return partners;
}

function partnerOf(
  file: WasteFile,
  pair: WastePair | undefined,
  site: number,
  table: "stores" | "loads",
): Pick<WasteFinding, "partner" | "isOwn"> {
  const other = pair?.kind === "overwritten" ? pair.second : pair?.first;
  if (pair === undefined || other === undefined) return { partner: undefined, isOwn: false };
  const ips = file[table][other]?.ips ?? [];
  return { partner: { ips, bytes: pair.bytes }, isOwn: other === site };
}
