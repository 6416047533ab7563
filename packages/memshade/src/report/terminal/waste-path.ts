import type { WasteIp } from "../../model/waste.ts";
import { bareName } from "../waste-sentences.ts";
import { printCallers } from "./call-path.ts";
import type { Screen } from "./screen.ts";

/** Prints the calling context of a place. Nothing where places are not told apart by their contexts. */
export function printPath(screen: Screen, [place, ...callers]: readonly WasteIp[], indent: string): void {
  if (place === undefined || callers.length === 0) return;
  const all = [place, ...callers].flatMap((ip) => [ip, ...(ip.inlined ?? [])]).slice(1);
  printCallers(
    screen,
    all.map(({ function: name }) => (name === undefined ? "a function without a name" : bareName(name))),
    indent,
  );
}
