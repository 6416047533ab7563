import { describe, expect, it } from "vitest";
import { objectLines } from "../../../../src/analyses/source/object-lines.ts";
import { objectsTopJson } from "../../../../src/report/json/objects-top.ts";
import { createPaint } from "../../../../src/report/terminal/common/paint.ts";
import { objectsTable } from "../../../../src/report/terminal/objects/objects-table.ts";
import { someObjects } from "../../../objects-picture.ts";

const SCREEN = { paint: createPaint(false), width: 80, isWide: false };
const RANKING = { by: "object-bytes", order: "largest", rows: 20, group: "site" } as const;

describe("the places that make objects, ranked", () => {
  const profile = someObjects();

  it("have their type, and what is in use as an estimate", () => {
    const text = objectsTable(profile, { ...SCREEN, ...RANKING });
    expect(text).toContain("Most bytes of objects made (a model of sizes)");
    expect(text).toMatch(/15\.6 KiB +79\.5 % +1,000 +≈7\.81 KiB {2}make \(tree\.kt:7\) Node/);
    for (const line of text.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
  });

  it("have their callers by path, and no type by function", () => {
    expect(objectsTable(profile, { ...SCREEN, ...RANKING, group: "path" })).toMatch(/Node\n +← main/);
    expect(objectsTable(profile, { ...SCREEN, ...RANKING, group: "function" })).toMatch(/ make\n/);
  });

  it("can be ranked by what is in use, and the other way round", () => {
    const text = objectsTable(profile, { ...SCREEN, ...RANKING, by: "in-use", order: "smallest" });
    expect(text).toMatch(/Fewest bytes of objects in use at the end \(an estimate\) +≈7\.81 KiB at 1 place/);
  });

  it("say the same as JSON", () => {
    const { rows, sizes } = JSON.parse(objectsTopJson(profile, { ...RANKING, by: "objects", input: "run" }));
    expect(rows[0]).toMatchObject({ bytes: 16_000, objects: 1000, inUse: 8000, type: "Node", line: 7 });
    expect(sizes.engine).toBe("V8");
  });

  it("stand beside the text of their lines", () => {
    const { columns, lines } = objectLines(profile);
    expect(columns.map(({ key }) => key)).toEqual(["object-bytes", "objects", "in-use"]);
    expect(lines).toEqual([{ file: "src/tree.kt", line: 7, values: [16_000, 1000, 8000] }]);
  });
});
