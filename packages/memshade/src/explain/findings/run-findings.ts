import type { WasteFile } from "../../profile/model/waste.ts";
import type { RecordedTools } from "../analyses/recorded-tools.ts";
import { type Finding, KINDS, kindOf, type WasteToolFinding } from "./index.ts";
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
