import { describe, expect, it } from "vitest";
import { readStatics } from "../../../src/profile/model/statics.ts";
import { statics } from "../../support/statics-picture.ts";

const { file } = statics({ 1024: [5, -1, 0] });

describe("a statics.json", () => {
  it("is read as it was written, whatever keys a later version adds", () => {
    expect(readStatics(JSON.stringify({ ...file, later: 1 }))).toMatchObject(file);
  });

  it.each([
    ["{", "not JSON|JSON"],
    [JSON.stringify({ ...file, schema: "memshade-run" }), "does not tell of the static data of a run"],
    [JSON.stringify({ ...file, version: 2 }), "version 2"],
    [JSON.stringify({ ...file, modules: [{ ...file.modules[0], cellBytes: -8 }] }), "cellBytes"],
    [
      JSON.stringify({ ...file, modules: [{ ...file.modules[0], runs: [{ address: 0, cells: ["1"] }] }] }),
      "cells",
    ],
  ])("says in one line what is wrong with %s", (text, expected) => {
    expect(() => readStatics(text)).toThrow(new RegExp(expected));
  });
});
