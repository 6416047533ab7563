import type { WasteFile } from "../../profile/model/waste.ts";
import type { RecordedTools } from "../analyses/recorded-tools.ts";
import { type Finding, KINDS, kindOf, type WasteToolFinding } from "./index.ts";
import { placeKey, wastePlace } from "./places.ts";
import { rankFindings } from "./rank.ts";
import { wasteFindings, wasteKind } from "./waste/waste-findings.ts";

/** What a person can act on, over all tools of a run: the first screen of its report, or `most` of it. */
export function runFindings(run: RecordedTools, most?: number): Finding[] {
  const all = [
    ...KINDS.flatMap((kind) => kind.find?.(run) ?? []),
    ...(run.waste === undefined ? [] : wasteToolFindings(run.waste)).filter(
      (finding) => kindOf(finding).waste?.isReported?.(run) !== false,
    ),
  ].filter(isKnown);
  const claimed = new Map(
    KINDS.flatMap(({ kind, claims }) =>
      (claims?.(run) ?? []).map((place) => [placeKey(place), kind] as const),
    ),
  );
  const told = all.filter((finding) => {
    const claimer = claimed.get(placeKey(finding.place));
    return claimer === undefined || claimer === finding.kind || kindOf(finding).ofBlocks === undefined;
  });
  return rankFindings(told, most);
}

/** Whether a finding is known to be one: an estimate whose margin reaches its amount may be of nothing. */
function isKnown({ amount, unit, place: { margins } }: Finding): boolean {
  const off = unit === "bytes" ? margins?.bytes : unit === "blocks" ? margins?.blocks : undefined;
  return off === undefined || off < amount;
}

/** What the waste tool found in the program's own code, as parts of the bytes that it moves. */
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
