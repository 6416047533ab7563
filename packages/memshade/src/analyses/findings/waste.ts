import type { WasteFile } from "../../model/waste/waste.ts";
import { libraryAt } from "../frames/own-place.ts";
import { wasteFindings } from "../waste/findings.ts";
import type { DeadFinding, MovedFinding, SilentFinding } from "./finding.ts";
import { wastePlace } from "./place.ts";

type VainWrite = DeadFinding | SilentFinding | MovedFinding;

/** Places of the program's own code that write in vain: parts of the bytes that it writes. */
export function writesInVain(file: WasteFile): VainWrite[] {
  const { bytesWritten } = file.totals;
  return wasteFindings(file).findings.flatMap((found): VainWrite[] => {
    const { kind, ips, bytes, share } = found;
    if (kind !== "dead" && kind !== "silent" && kind !== "moved") return [];
    const place = libraryAt(ips) === undefined ? wastePlace(ips) : undefined;
    if (place === undefined) return [];
    const shape = { tool: "waste", place, amount: bytes, unit: "bytes", part: bytes / bytesWritten } as const;
    return kind === "moved" ? [{ kind, ...shape, moves: found.wasted ?? 0 }] : [{ kind, ...shape, share }];
  });
}
