import type { WasteFile, WasteFrame, WasteObjects } from "../../../profile/model/waste.ts";
import { libraryAt, ownPlace } from "../../analyses/frames/own-place.ts";
import { reallocationsByPlace } from "../../analyses/waste.ts";
import { LEAST_PART, type WasteKind, type WasteSearch } from "../finding-kind.ts";
import { KINDS, kindOf } from "../index.ts";
import { unreadInAllOfType } from "./members.ts";
import { isKnownPlace, mergePlaces, onePerPlace } from "./merge-places.ts";
import { MOST_SHARE, Partners, type WasteFinding, type WasteFindings } from "./waste-finding.ts";

/** What the kind of a finding says of those that the waste tool makes. */
export function wasteKind(finding: WasteFinding): WasteKind {
  return kindOf(finding).waste!;
}

/**
 * The findings of a run that matter, one per place, in the order of what goes with them: this is the one place that decides what they are.
 */
export function wasteFindings(file: WasteFile): WasteFindings {
  const folds = new Map<string, { what: string; bytes: number; sites: number }>();
  const fold = (what: string, bytes: number): void => {
    const known = folds.get(what) ?? { what, bytes: 0, sites: 0 };
    folds.set(what, { what, bytes: known.bytes + bytes, sites: known.sites + 1 });
  };
  const search: WasteSearch = { file, partners: new Partners(file), fold };
  const kinds = KINDS.flatMap(({ waste }) => waste ?? []);
  const all = [
    ...file.stores.flatMap((store, index) =>
      kinds.flatMap((kind) => kind.ofStore?.(store, index, search) ?? []),
    ),
    ...file.loads.flatMap((load, index) => kinds.flatMap((kind) => kind.ofLoad?.(load, index, search) ?? [])),
    ...reallocationsByPlace(file.reallocations ?? []).flatMap((site) =>
      kinds.flatMap((kind) => kind.ofReallocations?.(site) ?? []),
    ),
    ...unreadInAllOfType(file.blocks ?? []).flatMap((site) =>
      kinds.flatMap((kind) => kind.ofBlocks?.(site, search) ?? []),
    ),
  ];
  const weigh = weigher(file);
  const merged = mergePlaces(
    all.sort((a, b) => b.bytes - a.bytes),
    isMostly,
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

/** Of code, what wastes but little of what it does is none. Blocks and what is copied have limits of their own. */
function isMostly(finding: WasteFinding): boolean {
  return wasteKind(finding).isOfCode !== true || finding.share >= MOST_SHARE;
}

/** What goes with a finding, as a part of what its kind compares it with; 0 of nothing. */
function weigher({ totals, blocks = [] }: WasteFile): (finding: WasteFinding) => number {
  const orMore = (whole: number): number => (whole === 0 ? Number.POSITIVE_INFINITY : whole);
  const wholes = {
    moved: orMore(totals.bytesWritten + totals.bytesLoaded),
    allocated: orMore(blocks.reduce((sum, { bytes }) => sum + bytes, 0)),
  };
  return (finding) => wasteKind(finding).part(finding.bytes, wholes);
}

/** Who asks for blocks is the program, whatever library hands them on. */
function libraryOf(finding: WasteFinding): string | undefined {
  const { ips } = finding;
  if (wasteKind(finding).isOfCode) return libraryAt(ips);
  return ownPlace<WasteFrame>(ips) === undefined ? ips[0]?.library : undefined;
}

/** What was unread when its block or frame ended, but for what is told of blocks that nobody reads. */
function foldUnread(
  { stores }: WasteFile,
  findings: readonly WasteFinding[],
  fold: (what: string, bytes: number) => void,
): void {
  let told = findings
    .filter(({ object }) => object?.fields.every(({ written }) => written))
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

/** What a finding says, and what to try, as sentences. What the place wastes in another way too comes behind. */
export function sentencesOf(finding: WasteFinding): { says: string; advice: string } {
  const kind = wasteKind(finding);
  const { also } = finding;
  const more = also === undefined ? "" : ` ${wasteKind(also).says(also)}`;
  return { says: kind.says(finding) + more, advice: kind.advice(finding) };
}
