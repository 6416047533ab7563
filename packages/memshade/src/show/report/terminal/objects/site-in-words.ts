import { functionInWords, shortPlace } from "../../../../explain/analyses/frames/place-names.ts";
import type { ObjectSite } from "../../../../profile/model/objects/objects.ts";
import { shortenName } from "../common/names.ts";
import type { Screen } from "../common/screen.ts";
import { cutMiddle, displayWidth, printable } from "../common/text.ts";

/** `link_implementation.dart:155`, cut where it is longer. */
const LONGEST_PLACE = 20;

/** `parse (parse.kt:88)`, or its offset. */
export function siteInWords(screen: Screen, { frame, offset }: ObjectSite, width: number): string {
  if (frame === undefined) return `offset 0x${offset.toString(16)}`;
  const line = shortPlace({ file: frame.file, line: frame.line });
  const shown = line === undefined ? `0x${offset.toString(16)}` : printable(line);
  const place = ` (${screen.isWide ? shown : cutMiddle(shown, LONGEST_PLACE)})`;
  const name = functionInWords({ function: frame.name ?? `func[${frame.function}]` });
  const left = Math.max(8, width - displayWidth(place));
  return (
    screen.paint.strong(
      screen.shorten(name, shortenName(name, screen.isWide ? Number.POSITIVE_INFINITY : left)),
    ) + screen.paint.faint(place)
  );
}
