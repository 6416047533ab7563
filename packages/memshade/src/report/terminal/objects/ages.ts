import { typeName, typesByIndex } from "../../../analyses/objects/names.ts";
import { AGE_BOUNDS, survivalBy } from "../../../analyses/objects/survival.ts";
import type { ModuleObjects } from "../../../model/objects/objects.ts";
import { formatBytes } from "../../format.ts";
import type { Screen } from "../common/screen.ts";
import { padLeft } from "../common/text.ts";

const WIDTH = 11;

/** How old what is in use is, type by type: how much was allocated since it was made. */
export function printAges(screen: Screen, part: ModuleObjects, rows: number): void {
  const { sites, samples } = part;
  const live = [...survivalBy(part, (sample) => sites[samples.site[sample]!]!.type)].sort(
    ([, a], [, b]) => b.bytes - a.bytes,
  );
  if (live.length === 0) return;
  const { strong, faint } = screen.paint;
  const last = AGE_BOUNDS.length - 1;
  const heads = [
    ...AGE_BOUNDS.map((bound) => `< ${formatBytes(bound)}`),
    `≥ ${formatBytes(AGE_BOUNDS[last]!)}`,
  ];
  screen.print("", strong("In use by age") + faint("  (estimated; age is in bytes allocated since)"));
  screen.print(faint(`  ${heads.map((head) => padLeft(head, WIDTH)).join(" ")}  ${padLeft("±", 9)}  TYPE`));
  const names = typesByIndex(part);
  for (const [type, { ages, error }] of live.slice(0, rows)) {
    const columns = ages.map((bytes) => padLeft(bytes === 0 ? "" : formatBytes(bytes), WIDTH)).join(" ");
    const name = screen.fit(typeName(names.get(type)!), screen.width - 2 - (WIDTH + 1) * ages.length - 13);
    screen.print(`  ${columns}  ${padLeft(formatBytes(error), 9)}  ${name}`);
  }
}
