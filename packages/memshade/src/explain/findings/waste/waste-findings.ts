import type { WasteFile, WasteFrame, WasteObjects } from "../../../profile/model/waste.ts";
import { libraryKeepsPath } from "../../analyses/frames/library-blocks.ts";
import { libraryAt, ownPlace } from "../../analyses/frames/own-place.ts";
import { reallocationsByPlace } from "../../analyses/waste.ts";
import { LEAST_PART, type WasteKind, type WasteSearch } from "../finding-kind.ts";
import { KINDS, kindOf } from "../index.ts";
import { isOfUnreadBlocks, unreadInAllOfType, withoutToldStores } from "./members.ts";
import { isKnownPlace, mergeByPlace, mergePlaces } from "./merge-places.ts";
import { MOST_SHARE, Partners, type WasteFinding, type WasteFindings } from "./waste-finding.ts";

/** Returns the rules of a finding's kind for the waste tool. */
export function wasteKind(finding: WasteFinding): WasteKind {
  return kindOf(finding).waste!;
}

/**
 * Returns the relevant findings of a run, one per location, largest saving first. All reports use this
 * selection.
 */
export function wasteFindings(file: WasteFile): WasteFindings {
  const folds = new Map<string, { what: string; bytes: number; sites: number }>();
  const fold = (what: string, bytes: number): void => {
    const sums = folds.get(what) ?? { what, bytes: 0, sites: 0 };
    folds.set(what, { what, bytes: sums.bytes + bytes, sites: sums.sites + 1 });
  };
  const search: WasteSearch = { file, partners: new Partners(file), fold };
  const kinds = KINDS.flatMap(({ waste }) => waste ?? []);
  const candidates = [
    ...file.stores.flatMap((store, index) =>
      kinds.flatMap((kind) => kind.ofStore?.(store, index, search) ?? []),
    ),
    ...file.loads.flatMap((load, index) => kinds.flatMap((kind) => kind.ofLoad?.(load, index, search) ?? [])),
    ...reallocationsByPlace(file.reallocations ?? []).flatMap((site) =>
      kinds.flatMap((kind) => kind.ofReallocations?.(site) ?? []),
    ),
    ...unreadInAllOfType(file.blocks ?? [])
      .filter(({ ips }) => !libraryKeepsPath(ips, file.modules))
      .flatMap((site) => kinds.flatMap((kind) => kind.ofBlocks?.(site, search) ?? [])),
  ];
  const weigh = weigher(file);
  const merged = mergePlaces(withoutToldStores(candidates.sort((a, b) => b.bytes - a.bytes)), isMostly)
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
    findings: mergeByPlace(merged),
    folded: [...folds.values()].sort((a, b) => b.bytes - a.bytes),
  };
}

/** False for code that wastes only a little of its work. Blocks and copies have limits of their own. */
function isMostly(finding: WasteFinding): boolean {
  return wasteKind(finding).isOfCode !== true || finding.share >= MOST_SHARE;
}

/** Returns a function that computes a finding's part of its kind's total; 0 if the total is 0. */
function weigher({ totals, blocks = [] }: WasteFile): (finding: WasteFinding) => number {
  const orMore = (whole: number): number => (whole === 0 ? Number.POSITIVE_INFINITY : whole);
  const wholes = {
    moved: orMore(totals.bytesWritten + totals.bytesLoaded),
    allocated: orMore(blocks.reduce((sum, { bytes }) => sum + bytes, 0)),
  };
  return (finding) => wasteKind(finding).part(finding.bytes, wholes);
}

/** Findings on blocks belong to the program that requests them, whatever library passes the request on. */
function libraryOf(finding: WasteFinding): string | undefined {
  const { ips } = finding;
  if (wasteKind(finding).isOfCode) return libraryAt(ips);
  return ownPlace<WasteFrame>(ips) === undefined ? ips[0]?.library : undefined;
}

/**
 * Sums up bytes still unread when their block or frame ended, without those already reported for unread
 * blocks.
 */
function foldUnread(
  { stores }: WasteFile,
  findings: readonly WasteFinding[],
  fold: (what: string, bytes: number) => void,
): void {
  let reportedBytes = findings.filter(isOfUnreadBlocks).reduce((sum, { bytes }) => sum + bytes, 0);
  for (const { dead_deallocated: ended, dead_exit: unreadAtExit } of [...stores].sort(
    (a, b) => b.dead_deallocated + b.dead_exit - a.dead_deallocated - a.dead_exit,
  )) {
    const bytes = Math.max(0, ended + unreadAtExit - reportedBytes);
    reportedBytes -= Math.min(reportedBytes, ended + unreadAtExit);
    if (bytes > 0) fold("bytes unread when their block or frame ended, or at the end of the run", bytes);
  }
}

function deadPadding({ fields }: WasteObjects): number {
  return fields.reduce((sum, { name, dead }) => (name === undefined ? sum + dead : sum), 0);
}

/** Returns a finding's description and advice, followed by other waste at the same location. */
export function sentencesOf(finding: WasteFinding): { says: string; advice: string } {
  const kind = wasteKind(finding);
  const { also } = finding;
  const more = also === undefined ? "" : ` ${wasteKind(also).inWords(also)}`;
  return { says: kind.inWords(finding) + more, advice: kind.advice(finding) };
}
