import type { WasteBlocks, WasteFile, WasteFrame, WasteObjects } from "../../model/waste/waste.ts";
import { LEAST_PART } from "../findings/rank.ts";
import { libraryAt, ownPlace } from "../frames/own-place.ts";
import { AccessFindings } from "./access-findings.ts";
import { coldFields, movedBlocks, unreadBlocks, unreadInAllOfType } from "./block-findings.ts";
import { reallocationsByPlace } from "./blocks-by-place.ts";
import { isKnownPlace, mergePlaces, onePerPlace } from "./merge-places.ts";
import type { WasteFinding, WasteFindings } from "./waste-finding.ts";

/** A load in vain costs less than a store: engines and caches hide most of it. */
const LOAD_WEIGHT = 0.25;

/**
 * The findings of a run that matter, one per place, in the order of what goes with them: this is the one place that decides what they are.
 */
export function wasteFindings(file: WasteFile): WasteFindings {
  const folds = new Map<string, { what: string; bytes: number; sites: number }>();
  const fold = (what: string, bytes: number): void => {
    const known = folds.get(what) ?? { what, bytes: 0, sites: 0 };
    folds.set(what, { what, bytes: known.bytes + bytes, sites: known.sites + 1 });
  };
  const accesses = new AccessFindings(file, fold);
  const blocks = file.blocks ?? [];
  const all = [
    ...file.stores.flatMap((store, index) => accesses.ofStore(store, index)),
    ...file.loads.flatMap((load, index) => accesses.ofLoad(load, index)),
    ...reallocationsByPlace(file.reallocations ?? []).flatMap(movedBlocks),
    ...unreadInAllOfType(blocks).flatMap((site) => [...unreadBlocks(site), ...coldFields(site, file)]),
  ];
  const weigh = weigher(file);
  const merged = mergePlaces(
    all.map((finding) => atCaller(finding, blocks)).sort((a, b) => b.bytes - a.bytes),
  )
    .map((finding) => ({
      ...finding,
      part: weigh(finding),
      library: libraryOf(finding),
      isUnnamed: !isKnownPlace(finding.ips),
    }))
    .filter(({ part }) => part >= LEAST_PART)
    .sort((a, b) => b.part - a.part || b.bytes - a.bytes);
  foldUnread(file, merged, fold);
  for (const site of file.objects ?? []) {
    const padding = site.type === undefined ? 0 : deadPadding(site);
    if (padding > 0) fold("padding between members of structs", padding);
  }
  return {
    findings: onePerPlace(merged),
    folded: [...folds.values()].sort((a, b) => b.bytes - a.bytes),
  };
}

/** What goes with a finding, as a part of all bytes that the program moves; of blocks, or of those that it allocates, if that is more. */
function weigher({ totals, blocks = [] }: WasteFile): (finding: WasteFinding) => number {
  const moved = totals.bytesWritten + totals.bytesLoaded;
  const allocated = blocks.reduce((sum, { bytes }) => sum + bytes, 0);
  const partOf = (bytes: number, whole: number): number => (whole === 0 ? 0 : bytes / whole);
  return ({ kind, bytes, object }) => {
    if (kind === "cold") return partOf(bytes, allocated);
    if (object !== undefined) return Math.max(partOf(bytes, moved), partOf(bytes, allocated));
    return partOf(kind === "redundant" ? LOAD_WEIGHT * bytes : bytes, moved);
  };
}

/** Calls of calloc are known by the calls that led to them, where a library or a layer on the allocator asked. */
function atCaller(finding: WasteFinding, blocks: readonly WasteBlocks[]): WasteFinding {
  if (finding.kind !== "clear" || finding.ips.length !== 1) return finding;
  const address = finding.ips[0]!.address;
  const asking = blocks.filter(({ ips }) => ips[0]!.address === address);
  const [most] = asking.sort((a, b) => b.bytes - a.bytes);
  return most === undefined ? finding : { ...finding, ips: most.ips };
}

/** Who asks for blocks is the program, whatever library hands them on. */
function libraryOf({ kind, ips, object }: WasteFinding): string | undefined {
  if (object === undefined && kind !== "moved" && kind !== "clear") return libraryAt(ips);
  return ownPlace<WasteFrame>(ips) === undefined ? ips[0]?.library : undefined;
}

/** What was unread when its block or frame ended, but for what is told of blocks that nobody reads. */
function foldUnread(
  { stores }: WasteFile,
  findings: readonly WasteFinding[],
  fold: (what: string, bytes: number) => void,
): void {
  let told = findings
    .filter(({ kind }) => kind === "never-read" || kind === "write-only")
    .reduce((sum, { bytes }) => sum + bytes, 0);
  for (const { dead_deallocated: ended, dead_exit: left } of [...stores].sort(
    (a, b) => b.dead_deallocated + b.dead_exit - a.dead_deallocated - a.dead_exit,
  )) {
    const bytes = Math.max(0, ended + left - told);
    told -= Math.min(told, ended + left);
    if (bytes > 0) fold("bytes unread when their block or frame ended, or at the end of the run", bytes);
  }
}

function deadPadding({ fields }: WasteObjects): number {
  return fields.reduce((sum, { name, dead }) => (name === undefined ? sum + dead : sum), 0);
}
