import { ownPlace } from "../../../analyses/frames/own-place.ts";
import type { WasteFrame, WasteIp } from "../../../model/waste/waste.ts";
import { functionInWords, siteName } from "../../waste-sentences.ts";
import { printCallers } from "../common/call-path.ts";
import type { Screen } from "../common/screen.ts";

/**
 * Prints the calling context of a place: its callers, behind the place itself where that is in a library, for its own text says where
 * the program called that. Nothing where places are not told apart by their contexts.
 */
export function printPath(screen: Screen, [place, ...callers]: readonly WasteIp[], indent: string): void {
  if (place === undefined || callers.length === 0) return;
  const all = [place, ...callers].flatMap((ip) => [ip, ...(ip.inlined ?? [])]).slice(1);
  const shown = all.map((frame) => ({ ...frame, name: functionInWords(frame) }));
  const isCalled = (ownPlace<WasteFrame>([place, ...callers])?.depth ?? 0) > 0;
  const { file, line } = place;
  printCallers(screen, isCalled ? [{ name: siteName(place), file, line }, ...shown] : shown, indent);
}
