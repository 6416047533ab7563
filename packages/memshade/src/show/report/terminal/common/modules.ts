import { formatBytes, plural } from "../../../../profile/model/format.ts";
import { printWrapped } from "./header.ts";
import type { Screen } from "./screen.ts";
import { padLeft, padRight, printable } from "./text.ts";

/** Properties by which a reader recognizes a module. */
interface ListedModule {
  readonly name: string;
  readonly bytes?: number | undefined;
  readonly exports?: readonly string[] | undefined;
}

const MODULES_SHOWN = 12;
const EXPORTS_SHOWN = 4;
const HEADING = "Modules";

/**
 * Prints the module list if some modules came without a file, so that their names are made up. Once per
 * report.
 */
export function printModules(screen: Screen, modules: readonly ListedModule[]): void {
  const unknown = modules.filter(({ exports }) => exports !== undefined);
  if (modules.length < 2 || unknown.length === 0 || screen.printedSentences.has(HEADING)) return;
  screen.printedSentences.add(HEADING);
  const shown = screen.isWide ? modules : modules.slice(0, MODULES_SHOWN);
  const width = Math.max(...shown.map(({ name }) => printable(name).length));
  screen.print("", screen.paint.heading(HEADING));
  for (const { name, bytes, exports = [] } of shown) {
    const size = bytes === undefined ? "" : formatBytes(bytes);
    const more = exports.length > EXPORTS_SHOWN ? ", …" : "";
    const exportsText =
      exports.length === 0 ? "" : `exports ${exports.slice(0, EXPORTS_SHOWN).join(", ")}${more}`;
    const lead = `  ${padRight(printable(name), width)} ${padLeft(size, 9)}  `;
    printWrapped(screen, printable(exportsText), lead, " ".repeat(lead.length));
  }
  if (modules.length > shown.length)
    screen.print(
      screen.paint.faint(
        `  … and ${plural(modules.length - shown.length, "more module")}: --wide shows them`,
      ),
    );
}
