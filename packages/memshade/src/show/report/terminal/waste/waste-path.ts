import { ownPlace } from "../../../../explain/analyses/frames/own-place.ts";
import { functionInWords, siteName } from "../../../../explain/analyses/frames/place-names.ts";
import type { WasteFrame, WasteIp } from "../../../../profile/model/waste/waste.ts";
import { printCallers } from "../common/call-path.ts";
import type { Screen } from "../common/screen.ts";

/**
 * Prints the calling context of a place: its callers, from the program's own code outwards. Where the program is known to have called
 * a library there, whose own text says so, that comes first. Nothing where places are not told apart by their contexts.
 */
export function printPath(screen: Screen, [place, ...callers]: readonly WasteIp[], indent: string): void {
  if (place === undefined || callers.length === 0) return;
  const own = ownPlace<WasteFrame>([place, ...callers]);
  const all = [place, ...callers].flatMap((ip) => [ip, ...(ip.inlined ?? [])]);
  const isCalled = (own?.depth ?? 0) > 0;
  const shown = all
    .slice(isCalled || own === undefined ? 1 : all.indexOf(own.frame as WasteIp) + 1)
    .map((frame) => ({ ...frame, name: functionInWords(frame) }));
  const { file, line } = place;
  printCallers(screen, isCalled ? [{ name: siteName(place), file, line }, ...shown] : shown, indent);
}
