import type { WasteFile } from "../../model/waste/waste.ts";
import { wasteFindings } from "../waste/findings.ts";
import type { WasteFinding } from "../waste/waste-finding.ts";
import type { WasteToolFinding } from "./finding.ts";
import { wastePlace } from "./place.ts";

/** What the waste tool found in the program's own code, as parts of the bytes that it moves. */
export function wasteToolFindings(file: WasteFile): WasteToolFinding[] {
  return wasteFindings(file).findings.flatMap((found) => {
    const place = found.library === undefined ? wastePlace(found.ips) : undefined;
    return place === undefined ? [] : findingOf(found, place);
  });
}

function findingOf(
  { kind, bytes, part, share, wasted = 0, operations, object }: WasteFinding,
  place: WasteToolFinding["place"],
): WasteToolFinding {
  const shape = { tool: "waste", place, amount: bytes, unit: "bytes", part } as const;
  switch (kind) {
    case "dead":
    case "clear":
    case "silent":
    case "redundant":
      return { kind, ...shape, share };
    case "moved":
      return { kind, ...shape, moves: wasted };
    case "never-read":
      return { kind, ...shape, blocks: wasted, allocated: operations };
    case "write-only":
    case "cold": {
      const { site, fields } = object!;
      return { kind, ...shape, type: site.type, element: site.element ?? site.size, fields };
    }
    default:
      throw new RangeError(`no such finding: ${kind satisfies never}`);
  }
}
