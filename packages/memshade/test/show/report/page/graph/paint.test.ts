import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FrameNames } from "../../../../../src/show/report/page/app/model/names.ts";
import { groupFrames } from "../../../../../src/show/report/page/graph/layout/frame-groups.ts";
import { BoxNames } from "../../../../../src/show/report/page/graph/paint/box-names.ts";
import {
  byCategory,
  byDifference,
  largestCategories,
  ratioStep,
} from "../../../../../src/show/report/page/graph/paint/colouring.ts";
import { fitLabel, TextWidths } from "../../../../../src/show/report/page/graph/paint/paint.ts";
import {
  type Colour,
  contrast,
  inkOn,
  type Palette,
} from "../../../../../src/show/report/page/graph/paint/palette.ts";
import { BOX_GROUPS, checkedView } from "../../../../../src/show/report/page/graph/view.ts";
import { madeUpPage } from "../made-up-page.ts";
import { fromPaths, treeOf } from "./trees.ts";

const channel = fc.nat(255);
const colour = fc.tuple(channel, channel, channel) as fc.Arbitrary<Colour>;

const widths = new TextWidths(() => 10);

describe("labels", () => {
  it("lose the amount first, then the file, then the name's begin, then the place", () => {
    const fit = (room: number) => fitLabel(widths, "Tiles::load", "tile.cpp:41", room, "12 MiB");
    expect(fit(400)).toEqual({ name: "Tiles::load  12 MiB", place: "tile.cpp:41" });
    expect(fit(240)).toEqual({ name: "Tiles::load", place: "tile.cpp:41" });
    expect(fit(150)).toEqual({ name: "Tiles::load", place: ":41" });
    expect(fit(110)).toEqual({ name: "…::load", place: ":41" });
    expect(fit(50)).toEqual({ name: "…load", place: "" });
    expect(fit(20)).toEqual({ name: "", place: "" });
  });

  it("have no part of a place that is a file or a module alone", () => {
    for (const place of ["perl", "node:internal", "libstdc++.so.6", ":41"])
      for (let room = 0; room < 400; room += 10) {
        const { place: shown } = fitLabel(widths, "Perl_more_bodies", place, room, "1 KiB");
        expect(["", place], `${room}`).toContain(shown);
      }
  });

  it("never are wider than their room", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.nat(400), (name, place, room) => {
        const label = fitLabel(widths, name, place, room);
        const both = label.name !== "" && label.place !== "";
        expect(widths.of(label.name) + widths.of(label.place) + (both ? 8 : 0)).toBeLessThanOrEqual(room);
      }),
    );
  });

  it("are left out where fewer than four characters of a name would be left", () => {
    const ends = new TextWidths(() => 5);
    expect([25, 24, 9].map((room) => ends.end("cabbage", room))).toEqual(["…bage", "", ""]);
    expect(ends.end("ab", 10)).toBe("ab");
  });

  it("measure each character once", () => {
    const asked: string[] = [];
    const counted = new TextWidths((character) => {
      asked.push(character);
      return 5;
    });
    counted.of("abba");
    counted.of("abba");
    expect(counted.end("cabbage", 25)).toBe("…bage");
    expect(asked.sort()).toEqual(["a", "b", "c", "e", "g", "…"].sort());
  });

  it("are by line, function, file or package, with what cannot be seen written out", () => {
    const data = madeUpPage({ functions: 8, contexts: 20 });
    const strings = [...data.strings];
    strings[data.frames.function[0]] = "\u202Eevil<int>(char)";
    const names = new FrameNames({ ...data, strings });
    const lines = BOX_GROUPS.map((group) => new BoxNames(names, group).line(0));
    expect(lines).toEqual(["‹U+202E›evil<…> tile.cpp:10", "‹U+202E›evil<…> tile.cpp", "tile.cpp", "src"]);
    expect(new BoxNames(names, "line").full(0)).toEqual({
      name: "‹U+202E›evil<int>(char)",
      place: "src/tile.cpp:10",
    });
    expect(new BoxNames(names, "line").label(-1)).toBe("all");
  });
});

describe("groups of frames", () => {
  it("are fewer the larger the place, and libraries stay apart", () => {
    const data = madeUpPage({ functions: 40, contexts: 50 });
    const names = new FrameNames(data);
    const sizes = BOX_GROUPS.map((group) => new Set(groupFrames(data.frames, names, group)).size);
    expect(sizes).toEqual([40, 40, 9, 2]);
  });
});

describe("colours", () => {
  it("let text be read: 4.5 : 1 on any of them", () => {
    fc.assert(
      fc.property(colour, (fill) => {
        expect(contrast(fill, inkOn(fill))).toBeGreaterThanOrEqual(4.5);
      }),
    );
  });

  it("of ratios are steps of two around the whole's", () => {
    expect([0, 1, 2, 4, 8, 16, 32, 64, 1e9].map((ratio) => ratioStep(ratio, 8))).toEqual([
      0, 0, 1, 2, 3, 4, 5, 6, 6,
    ]);
    expect(ratioStep(3, 0)).toBe(0);
  });

  it("of a comparison go from gone over as before to new", () => {
    const palette = { panel: [0, 0, 0], accent: [255, 255, 255] } as unknown as Palette;
    const { fillOf } = byDifference(Float64Array.of(4, 4, 0, 0), Float64Array.of(0, 4, 4, 0), palette);
    expect([0, 1, 2, 3].map(fillOf)).toEqual([0, 3, 6, 3]);
  });

  it("go to the categories that most is below of; all others share one", () => {
    const contexts = { parent: Int32Array.of(-1, 0, -1, -1), frame: Int32Array.of(0, 1, 2, 3) };
    const values = Float64Array.of(0, 10, 4, 3);
    const categoryOf = (frame: number) => "abcd"[frame];
    expect(largestCategories(contexts, values, categoryOf, 4)).toEqual(["a", "b", "c", "d"]);
    expect(largestCategories(contexts, values, categoryOf, 3)).toEqual(["a", "b"]);
  });
});

describe("the legend", () => {
  it("names what is drawn and nothing else, own code's colour before the library's", () => {
    const series = Array.from({ length: 8 }, (_, index): Colour => [30 * index, 0, 0]);
    const palette = { panel: [255, 255, 255], series } as unknown as Palette;
    const tree = treeOf(
      fromPaths([
        [[0, 1], 5],
        [[2], 3],
        [[3], 0],
      ]),
    );
    const isLibrary = Uint8Array.of(0, 1, 0, 0, 0, 0);
    const named = ["zero", "one", "three"];
    const of = (frame: number) => ["zero", "one", "zero", "three"][frame];
    const { legend, fillOf, fills } = byCategory(tree, { named, of, isLibrary }, palette);
    expect(legend).toEqual([
      { label: "zero", fill: 0 },
      { label: "one", fill: 9 },
    ]);
    expect([0, 1, 2, 3].map((box) => fillOf(box))).toEqual([16, 0, 0, 2]);
    expect(fills.length).toBe(17);
  });
});

describe("a view from an address", () => {
  it("is taken as far as it means something", () => {
    const view = {
      layout: "flame",
      boxes: "cells",
      colour: 7,
      zoom: [1, -1, "2", 3, 99],
      removed: "all",
      centre: 2.5,
    };
    expect(checkedView(view as never, 10)).toEqual({
      layout: "flame",
      colour: undefined,
      boxes: undefined,
      zoom: [1, 3],
      removed: [],
      centre: undefined,
    });
    expect(checkedView(undefined, 10).zoom).toEqual([]);
  });
});
