import { describe, expect, it } from "vitest";
import { staticsReport } from "../../../../src/explain/analyses/statics.ts";
import { statics, variable } from "../../../support/statics-picture.ts";

const used = (named: Parameters<typeof staticsReport>[0]) =>
  Object.fromEntries(
    staticsReport(named).objects.map(({ name, accesses, use, untouchedBytes, unreadBytes }) => [
      name,
      [accesses, use, untouchedBytes, unreadBytes],
    ]),
  );

describe("static data", () => {
  it("is hot if it is among the variables with 99 % of the accesses, else cold, unread or untouched", () => {
    // Worked out by hand: 990 of 1,000 accesses hit a table of 64 bytes. They read its first cell and write its second; the rest is
    // untouched.
    const named = statics({ 1024: [980, -10], 1152: [9], 1280: [-1, -0] }, [
      variable("table", 1024, 64),
      variable("rare", 1152, 64),
      variable("log", 1280, 16),
      variable("never", 1408, 128),
    ]);
    expect(used(named)).toMatchObject({
      table: [990, "hot", 48, 8],
      rare: [9, "cold", 56, 0],
      log: [1, "unread", 0, 16],
      never: [0, "untouched", 128, 0],
    });
  });

  it("of several variables in 8 bytes is counted together", () => {
    const named = statics({ 1024: [5], 1032: [-3] }, [
      variable("hits", 1024, 4),
      variable("misses", 1028, 4),
      variable("last", 1032, 8),
    ]);
    expect(used(named)).toMatchObject({ "hits, misses": [5, "hot", 0, 0], last: [3, "unread", 0, 8] });
    const [shared] = staticsReport(named).objects;
    expect(shared.members?.map(({ name }) => name)).toEqual(["hits", "misses"]);
  });

  it("without a name is a gap between variables, cut at touched bytes; padding belongs to no variable", () => {
    const named = statics({ 2048: [7] }, [variable("table", 1024, 100), variable("next", 1128, 24)]);
    expect(used(named)).toEqual({
      table: [0, "untouched", 100, 0],
      next: [0, "untouched", 24, 0],
      ".rodata+0x80": [0, "untouched", 896, 0],
      ".rodata+0x400": [7, "hot", 0, 0],
      ".rodata+0x408": [0, "untouched", 3064, 0],
    });
  });

  it("counts as untouched only outside the range of merged counters", () => {
    const table = [variable("table", 1024, 2048)];
    // The touched cell is at 1024 … 1032; use of the 528 bytes behind it is uncertain.
    expect(used(statics({ 1024: [1] }, table, { spreadBytes: 528 }))).toMatchObject({
      table: [1, "hot", 2048 - 8 - 528, 0],
    });
    expect(used(statics({}, table, { spreadBytes: 528 }))).toMatchObject({
      table: [0, "untouched", 2048, 0],
    });
  });

  it("that a loop has marked counts as read, unless the loop's last address shows otherwise", () => {
    const named = (last: number) => statics({ 1024: [0, 0, last] }, [variable("table", 1024, 24)]);
    expect(used(named(-3))).toMatchObject({ table: [3, "unread", 0, 24] });
    expect(used(named(3))).toMatchObject({ table: [3, "hot", 0, 0] });
  });

  it("that uncounted code refers to is not classified", () => {
    const named = statics({}, [variable("state", 1024, 64), variable("other", 1088, 64)], {
      uncounted: [1030],
    });
    expect(used(named)).toMatchObject({ state: [0, "uncounted", 0, 0], other: [0, "untouched", 64, 0] });
  });

  it("has a part of all counted accesses; the rest is elsewhere", () => {
    const named = statics({ 1024: [5], 6000: [2] }, [variable("table", 1024, 64)]);
    expect(staticsReport(named)).toMatchObject({ accesses: 5, elsewhere: 2, atLeast: false });
  });

  it("is named by symbols of the module if debug information has no name", () => {
    const named = statics({}, [variable("known", 1024, 16)], {
      symbols: [
        { name: "known_again", address: 1024 },
        { name: "sized", address: 1104, bytes: 8 },
      ],
    });
    expect(used(named)).toMatchObject({
      known: [0, "untouched", 16, 0],
      ".rodata+0x10": [0, "untouched", 64, 0],
      sized: [0, "untouched", 8, 0],
    });
  });

  it("is named by the preceding symbol if that symbol has no size", () => {
    const named = statics({ 1040: [20], 2048: [7] }, [variable("opaque", 4096, undefined)], {
      symbols: [
        { name: "exported", address: 1040 },
        { name: "alias", address: 1044 },
        { name: "next", address: 1104 },
        { name: "flag", address: 1112 },
        { name: "sized", address: 1120, bytes: 32 },
      ],
    });
    // Symbols without a size have an unknown end. Each names the bytes up to the next symbol; bytes behind a symbol with a size have no name.
    expect(used(named)).toEqual({
      ".rodata+0x0": [0, "untouched", 16, 0],
      ".rodata+0x10, from exported on": [20, "hot", 56, 0],
      ".rodata+0x50, from next on": [0, "untouched", 8, 0],
      ".rodata+0x58, from flag on": [0, "untouched", 8, 0],
      sized: [0, "untouched", 32, 0],
      ".rodata+0x80": [0, "untouched", 896, 0],
      ".rodata+0x400": [7, "hot", 0, 0],
      ".rodata+0x408": [0, "untouched", 2040, 0],
      ".rodata+0xc00, from opaque on": [0, "untouched", 1024, 0],
    });
    expect(
      staticsReport(named)
        .objects.map(({ kind }) => kind)
        .filter((kind) => kind !== "unnamed"),
    ).toEqual(["variable"]);
  });

  it("does not take the name of a symbol in an earlier segment", () => {
    const segments = [
      { index: 0, name: ".rodata.map", start: 1024, bytes: 530 },
      { index: 1, name: ".rodata.other", start: 1560, bytes: 3000 },
    ];
    const named = statics({}, [], { segments, symbols: [{ name: "upper_map", address: 1280 }] });
    expect(Object.keys(used(named))).toEqual([
      ".rodata.other+0x0",
      ".rodata.map+0x100, from upper_map on",
      ".rodata.map+0x0",
    ]);
  });

  it("of an empty module is empty", () => {
    const nothing = statics({}, [], { segments: [], end: 1024 });
    expect(staticsReport(nothing)).toMatchObject({ objects: [], bytes: 0, accesses: 0 });
  });

  it("has variables that do not overlap and lie inside the data", () => {
    const named = statics({ 1024: [1] }, [
      variable("table", 1024, 64),
      variable("inside", 1032, 8),
      variable("gone", 0, 8),
      variable("above", 9000, 8),
    ]);
    expect(Object.keys(used(named))).toEqual(["table", ".rodata+0x40"]);
  });
});
