import path from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { GROUPINGS, type GroupBy } from "../../../../../src/explain/analyses/groups.ts";
import { diffHeaps } from "../../../../../src/explain/diff/heap-diff.ts";
import type { Finding } from "../../../../../src/explain/findings/index.ts";
import { measuresOfTool } from "../../../../../src/explain/measures/index.ts";
import { createPaint } from "../../../../../src/show/report/terminal/common/paint.ts";
import { diffTable } from "../../../../../src/show/report/terminal/heap/diff-table.ts";
import { profileOfPicture } from "../../../../heap-picture.ts";
import { expectFits } from "../../../../support/expect-fits.ts";
import { heapProfile } from "../../arbitrary.ts";
import { DATABASE } from "../../pictures.ts";

const usual = {
  paint: createPaint(false),
  width: 80,
  isWide: false,
  by: "bytes",
  rows: 20,
  inputs: { old: ["memshade.out/app.1"], new: ["memshade.out/app.2"] },
  gaps: [],
} as const;
const golden = (name: string) => path.resolve(import.meta.dirname, `../../golden/${name}.txt`);

/** The database after a week of work: a cache for pages, smaller expressions, no strdup. */
const LATER = DATABASE.replace("2000 x 4360", "1200 x 4360")
  .replaceAll("x 72 ", "x 56 ")
  .replace(
    /.*strdup.*\n/,
    "  main > exec > pageCache > newCache  1 x 900000  life 350000  access 70000  peak 1  live 1\n",
  );

describe("the table of a comparison", () => {
  const [older, newer] = [profileOfPicture(DATABASE), profileOfPicture(LATER)];
  const table = (by: string, group: GroupBy, rows = 20) =>
    diffTable(diffHeaps(older, newer, group), { ...usual, by, rows });

  it("has totals, then a line per site that changed", async () => {
    await expect(table("bytes", "site")).toMatchFileSnapshot(golden("diff-bytes"));
  });

  it("tells functions of one name apart by their modules", () => {
    const picture = (first: number) => `
      one!run > one!make  ${first} x 100
      two!run > two!make  10 x 100`;
    const [old, now] = [profileOfPicture(picture(20)), profileOfPicture(picture(30))];
    const text = diffTable(diffHeaps(old, now, "site"), { ...usual });
    expect(text).toMatch(/make of one/);
    expect(text).not.toMatch(/of two/);
  });

  it("of call paths has their callers", async () => {
    await expect(table("peak", "path", 2)).toMatchFileSnapshot(golden("diff-paths"));
  });

  it("of a profile and itself says that nothing differs, and has no figures", () => {
    const same = diffTable(diffHeaps(older, older, "site"), usual);
    expect(same).toMatch(/^No difference in the heap +\d+ sites are the same\n/);
    expect(same).not.toContain("CHANGE");
    const several = diffTable(diffHeaps([older, older], [older, older], "site"), usual);
    expect(several).toMatch(/^No difference in the heap/);
  });

  it("of profiles that differ in other figures, or in findings alone, shows them", () => {
    const [used, unused] = [9, 5].map((access) =>
      profileOfPicture(`main > parse  10 x 100  access ${access}`),
    );
    const diff = diffHeaps(used!, unused!, "site");
    expect(diffTable(diff, usual)).toMatch(/0 sites changed, 1 did not[\s\S]+ACCESSES/);
    const gone: Finding = {
      ...({ kind: "leak", tool: "heap", unit: "bytes", state: "lost", behind: 0 } as const),
      amount: 64,
      part: 0.5,
      blocks: 4,
      allocated: 8,
      place: { path: [{ function: "parse" }] },
    };
    const findings = { new: [], gone: [gone], kept: 0, renamed: new Map() };
    const found = diffTable(diffHeaps(used!, used!, "site"), { ...usual, findings });
    expect(found).toMatch(/^Change of/);
    expect(found).toContain("Findings that are gone");
  });

  it("of several runs has how far they lie apart, and marks what that explains", () => {
    const run = (parsed: number, cached: number) =>
      profileOfPicture(`main > parse > newNode  ${parsed} x 10\nmain > cache > newEntry  ${cached} x 10`);
    const diff = diffHeaps([run(100, 50), run(110, 50)], [run(105, 90), run(108, 99)], "site");
    const inputs = { old: ["a1", "a2"], new: ["b1", "b2"] };
    const text = diffTable(diff, { ...usual, inputs }) ?? "";
    expect(text).toContain("1 site changed, 1 within the spread, 0 did not");
    expect(text).toContain("old  median of 2: a1, a2");
    expect(text).toMatch(/\+445 B +500 B +945 B +± 5 % +\+89.0 % {2}newEntry/);
    expect(text).toMatch(/\+15 B +1.03 KiB +± 5 % +1.04 KiB +± 1 % +~ {2}newNode/);
  });

  it("has lines of at most 80 columns but for longer names, whatever is in the profiles", () => {
    const key = fc.constantFrom(...measuresOfTool("heap").map(({ id }) => id));
    fc.assert(
      fc.property(heapProfile, heapProfile, key, fc.constantFrom(...GROUPINGS), (old, now, by, group) => {
        const text = diffTable(diffHeaps(old, now, group), { ...usual, by }) ?? "";
        for (const line of text.split("\n")) expectFits(line);
      }),
    );
  });
});
