import { describe, expect, it } from "vitest";
import { reallocationsByPlace } from "../../../../src/explain/analyses/waste.ts";
import { type Event, malloc, realloc, text, WasteRun } from "./events.ts";

describe.each([{ pairs: true }, { objects: true }])("reallocations with %o", (waste) => {
  const grow = (old: number, to: number, size: number): Event =>
    text(`(global.set $next (i32.const ${to})) (call $grow (i32.const ${old}) (i32.const ${size}))`, {
      grow: "(param i32 i32) (drop (call $realloc (local.get 0) (local.get 1)))",
    });
  const events = [malloc(8, 8), grow(8, 8, 16), grow(8, 104, 24), grow(104, 104, 8), grow(104, 208, 4)];
  const { file } = new WasteRun([...events, realloc(0, 304, 4)], { waste });

  it("are counted by place: what blocks grow by, and what is copied to a new place", () => {
    expect(reallocationsByPlace(file.reallocations ?? [])).toMatchObject([
      { ips: [{ function: "grow" }, { function: "_start" }], calls: 4, grown: 16, moves: 2, moved: 20 },
    ]);
  });

  it("are told apart by the calls that led there, whom a library or a layer has asked for", () => {
    const [library, other] = file.reallocations!.map(({ ips }) => structuredClone(ips));
    for (const ips of [library, other]) ips[0].library = "a library";
    const figures = { calls: 2, grown: 8, moves: 2, moved: 80 };
    const [one, two] = reallocationsByPlace([
      { ips: library, ...figures },
      { ips: other, ...figures },
    ]);
    expect([one.ips, two.ips]).toEqual([library, other]);
    expect(library[1].address).not.toBe(other[1].address);
  });
});
