import { describe, expect, it } from "vitest";
import { ranked, topJsonOf } from "../../support/ranked.ts";
import { load, store, wasteOf } from "../analyses/waste/waste-picture.ts";

describe("rankings of waste", () => {
  const waste = wasteOf({
    stores: [
      store("a", 1, { nof_stores: 5, bytes_written: 20, dead_overwritten: 4, nof_silent: 5 }),
      store("b", 2, { nof_stores: 5, bytes_written: 20, dead_overwritten: 16 }),
    ],
    loads: [load("c", 3, { nof_loads: 9, nof_silent: 8 })],
  });

  it("leave out places without that kind of waste", () => {
    expect(ranked({ waste }, { by: "dead" })).toEqual([
      ["b", 16],
      ["a", 4],
    ]);
    expect(ranked({ waste }, { by: "silent" })).toEqual([["a", 5]]);
    const [row] = topJsonOf({ waste }, { by: "redundant" }).rows;
    expect(row).toMatchObject({ value: 8, beside: { loads: 9, "redundant-part": 8 / 9 } });
  });
});
