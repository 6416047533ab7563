import { formatBytes, formatCount, formatPercent, plural } from "../../profile/model/format.ts";
import type { HeapProfile } from "../../profile/model/heap-profile.ts";
import type { WasteFile } from "../../profile/model/waste.ts";
import { blockMeasure } from "../analyses/block-measure.ts";
import { sumOf } from "../analyses/groups.ts";
import type { RecordedTools } from "../analyses/recorded-tools.ts";
import { type FindingPlace, LEAST_COMMON_PART } from "./finding-kind.ts";
import { blocksBySite, type SiteBlocks } from "./heap-blocks.ts";
import { type Finding, KINDS, kindOf, type WasteToolFinding } from "./index.ts";
import { growsToTheEnd } from "./leak.ts";
import { placeKey, wastePlace } from "./places.ts";
import { rankFindings } from "./rank.ts";
import { wasteFindings, wasteKind } from "./waste/waste-findings.ts";

/** Returns the findings of all tools of a run: those of the report's first screen, or the first `most`. */
export function runFindings(run: RecordedTools, most?: number): Finding[] {
  const candidates = [
    ...KINDS.flatMap((kind) => kind.find?.(run) ?? []).filter(isOfProgram),
    ...(run.waste === undefined ? [] : wasteToolFindings(run.waste)).filter(
      (finding) => kindOf(finding).waste?.isReported?.(run) !== false,
    ),
  ].filter(isKnown);
  const claimed = new Map(
    KINDS.flatMap(({ kind, claims }) =>
      (claims?.(run) ?? []).map((place) => [placeKey(place), kind] as const),
    ),
  );
  const reported = candidates.filter((finding) => {
    const claimer = claimed.get(placeKey(finding.place));
    return claimer === undefined || claimer === finding.kind || kindOf(finding).ofBlocks === undefined;
  });
  return rankFindings(reported, most);
}

/** False for blocks that the C library keeps for itself, unless the program has lost them. */
function isOfProgram(finding: Finding): boolean {
  return finding.place.isKeptByLibrary !== true || kindOf(finding).findsLost?.(finding) === true;
}

/** False for an estimate whose margin of error reaches its amount. */
function isKnown({ amount, unit, place: { margins } }: Finding): boolean {
  const off = unit === "bytes" ? margins?.bytes : unit === "blocks" ? margins?.blocks : undefined;
  return off === undefined || off < amount;
}

/**
 * Returns the waste tool's findings in the program's own code. Their part refers to the bytes that the
 * program moves.
 */
export function wasteToolFindings(file: WasteFile): WasteToolFinding[] {
  return wasteFindings(file).findings.flatMap((found) => {
    const place = found.library === undefined ? wastePlace(found.ips) : undefined;
    if (place === undefined) return [];
    const { kind, bytes: amount, part } = found;
    const facts = wasteKind(found).facts(found);
    const advice = wasteKind(found).advice(found);
    return [
      { kind, tool: "waste", place, amount, unit: "bytes", part, advice, ...facts } as WasteToolFinding,
    ];
  });
}

/** A figure of a run that only a run with another tool explains, as a sentence around the location that it belongs to. */
export interface FurtherRun {
  /** Words before and after the location: `60.0 % of the peak (5.73 MiB) is of` … `: --tool heap tells …`. */
  readonly before: string;
  readonly after: string;
  readonly place: FindingPlace;
}

/** Least part of the whole that a line must have: no other line has as much. */
const MOST = 1 / 2;
/** Size of a page of WebAssembly, and of the smallest heaps: with less, nothing can be saved. */
const LEAST_PEAK = 65_536;

/**
 * Returns the largest figure of a run that its tools do not explain, and the tool that does; undefined if no line has most
 * of anything. Lines that have findings are known already. Sound programs have such lines, too.
 */
export function furtherRun(
  { heap, waste }: RecordedTools,
  findings: readonly Finding[],
): FurtherRun | undefined {
  if (heap === undefined || heap.description.importedFrom !== undefined) return undefined;
  const found = new Set(findings.map(({ place }) => placeKey(place)));
  const isOpen = ({ place }: { readonly place: FindingPlace }) =>
    place.isKeptByLibrary !== true && place.path[0]!.address !== undefined && !found.has(placeKey(place));
  if (heap.description.counters === "none") return stillGrowing(heap, isOpen) ?? mostOfPeak(heap, isOpen);
  return waste === undefined ? mostAccessed(heap, isOpen) : undefined;
}

type IsOpen = (site: { readonly place: FindingPlace }) => boolean;

/** Returns the blocks that are still allocated at the end and never freed. */
function stillGrowing(heap: HeapProfile, isOpen: IsOpen): FurtherRun | undefined {
  const { site } = heap.contexts;
  if (site === undefined) return undefined;
  const measure = blockMeasure(site.stillReachableBlocks, site.stillReachableBytes);
  const sites = blocksBySite(heap, measure).filter((found) => growsToTheEnd(heap, found));
  const most = heaviest(sites);
  const { peakBytes = 0 } = heap.description.totals ?? {};
  if (most === undefined || !isOpen(most) || most.bytes < LEAST_COMMON_PART * peakBytes) return undefined;
  const { blocks, bytes, place } = most;
  return {
    before: `${plural(blocks, "block")} (${formatBytes(bytes)}) of`,
    after: "are there at the end: --tool heap tells whether they are used",
    place,
  };
}

/** Returns the line that has most of the bytes at the peak. */
function mostOfPeak(heap: HeapProfile, isOpen: IsOpen): FurtherRun | undefined {
  const { site } = heap.contexts;
  if (site === undefined) return undefined;
  const sites = blocksBySite(heap, blockMeasure(site.peakBlocks, site.peakBytes));
  const kept = sites.filter(({ place }) => place.isKeptByLibrary === true);
  // Blocks of code without names are in no site.
  const all = site.peakBytes.reduce((sum, bytes) => sum + bytes, 0);
  const peak = kept.reduce((rest, { bytes }) => rest - bytes, all);
  const most = heaviest(sites.filter(({ place }) => place.isKeptByLibrary !== true));
  if (most === undefined || !isOpen(most) || most.bytes < LEAST_PEAK || most.bytes <= MOST * peak)
    return undefined;
  return {
    before: `${formatPercent(most.bytes, peak)} of the peak (${formatBytes(peak)}) ${most.blocks === 1 ? "is" : "are"} of`,
    after: ": --tool heap tells how much of it is used, --tool waste what is stored in vain",
    place: most.place,
  };
}

/** Returns the line whose blocks get most of the accesses. */
function mostAccessed(heap: HeapProfile, isOpen: IsOpen): FurtherRun | undefined {
  const { heapAccesses = 0, otherAccesses = 0 } = heap.description.totals ?? {};
  const { totalAccessCount } = heap.contexts.mibs;
  const accesses = Float64Array.from(totalAccessCount, Number);
  const all = heapAccesses + otherAccesses;
  const most = heaviest(blocksBySite(heap, blockMeasure(accesses, accesses)));
  if (most === undefined || !isOpen(most)) return undefined;
  const own = sumOf(accesses, most.contexts);
  if (own <= MOST * all) return undefined;
  return {
    before: `${formatPercent(own, all)} of ${formatCount(all)} accesses are to blocks of`,
    after: ": --tool waste tells whether any are in vain",
    place: most.place,
  };
}

function heaviest(sites: readonly SiteBlocks[]): SiteBlocks | undefined {
  return sites.reduce<SiteBlocks | undefined>(
    (most, site) => (most === undefined || site.bytes > most.bytes ? site : most),
    undefined,
  );
}
