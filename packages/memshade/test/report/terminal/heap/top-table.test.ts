import path from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { GROUPINGS } from "../../../../src/analyses/groups.ts";
import { METRICS } from "../../../../src/analyses/metrics.ts";
import { createPaint } from "../../../../src/report/terminal/common/paint.ts";
import { displayWidth } from "../../../../src/report/terminal/common/text.ts";
import { type TopTableOptions, topTable } from "../../../../src/report/terminal/heap/top-table.ts";
import { profileOfPicture, rawProfileOfPicture, reachOfPicture } from "../../../heap-picture.ts";
import { heapProfile } from "../../arbitrary.ts";
import { DATABASE } from "../../pictures.ts";

const usual: TopTableOptions = {
  paint: createPaint(false),
  width: 80,
  isWide: false,
  by: "bytes",
  group: "site",
  order: "largest",
  rows: 20,
};
/** What profiles know in which nobody looked for pointers. */
const KNOWN = METRICS.filter(({ key }) => key !== "lost");
const golden = (name: string) => path.resolve(import.meta.dirname, `../../golden/${name}.txt`);

describe("the ranking", () => {
  const profile = profileOfPicture(DATABASE);
  const top = (options: Partial<TopTableOptions>) => topTable(profile, { ...usual, ...options });

  it("has a line per site", async () => {
    await expect(top({})).toMatchFileSnapshot(golden("top-bytes"));
  });

  it("keeps its columns apart, whatever the unit of its clock is", () => {
    const description = { ...profile.description, clock: { kind: "virtual", unit: "instructions" } as const };
    const table = topTable({ ...profile, description }, usual)!;
    expect(table).toMatch(/^ {2}64.0 KiB +0.3 % +1 350,000 instructions +0 {2}newConfig$/m);
  });

  it("by any key: the other columns change with it", async () => {
    const tables = KNOWN.map(({ key }) => top({ by: key, rows: 2 }));
    await expect(tables.join("\n")).toMatchFileSnapshot(golden("top-by-all"));
  });

  it("of call paths has their callers, smallest first on request", async () => {
    const table = top({ by: "lifetime", group: "path", order: "smallest", rows: 4 });
    await expect(table).toMatchFileSnapshot(golden("top-paths-reverse"));
  });

  it("by what is lost, where that was looked for", () => {
    const picture = `
      main > push   100 x 8   peak 100  live 100  lost 1  indirect 99  behind 99
      main > table   10 x 64  peak 10   live 10   reachable 10
    `;
    const table = topTable(profileOfPicture(picture, {}, { reach: reachOfPicture(picture) }), {
      ...usual,
      by: "lost",
    });
    expect(table).toMatch(/^Most bytes lost at the end +800 B in 1 site\n/);
    expect(topTable(profileOfPicture(picture), { ...usual, by: "lost" })).toBeUndefined();
  });

  it("says when nothing has a part in it", () => {
    const tidy = profileOfPicture("main > parse  3 x 8  life 9");
    expect(topTable(tidy, { ...usual, by: "live" })).toContain(
      "Nothing to rank: no site has bytes live at the end.",
    );
  });

  it("by peak or live is unknown for a raw file alone", () => {
    const raw = rawProfileOfPicture(DATABASE);
    expect(topTable(raw, { ...usual, by: "peak" })).toBeUndefined();
    expect(topTable(raw, { ...usual, by: "count" })).toContain("90,000");
  });

  it("has lines of at most 80 columns, whatever is in the profile", () => {
    const key = fc.constantFrom(...KNOWN.map((metric) => metric.key));
    fc.assert(
      fc.property(
        heapProfile,
        key,
        fc.constantFrom(...GROUPINGS),
        fc.boolean(),
        (any, by, group, reverse) => {
          const order = reverse ? "smallest" : "largest";
          for (const line of topTable(any, { ...usual, by, group, order })!.split("\n")) {
            expect(displayWidth(line), line).toBeLessThanOrEqual(80);
            expect(line).not.toMatch(/\p{Cc}|\s$/u);
          }
        },
      ),
    );
  });
});
