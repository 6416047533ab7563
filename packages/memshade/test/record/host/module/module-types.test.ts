import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { WasteObjects } from "../../../../src/profile/model/waste.ts";
import { moduleTypes } from "../../../../src/record/host/module/module-types.ts";
import { runWaste } from "../../tools/waste/events.ts";

/** Returns a function that finds the site in a function of a program with debug information. */
function sitesOf(program: string): (name: string) => WasteObjects {
  const file = new URL(`../../../fixtures/programs/debug/${program}.wasm`, import.meta.url);
  const module = new Uint8Array(readFileSync(file));
  const { objects } = runWaste(module, { objects: true }, { typesOf: moduleTypes });
  return (name) => {
    const found = objects?.filter(({ ips }) => ips[0].function?.includes(name)) ?? [];
    if (found.length !== 1) throw new RangeError(`${found.length} sites of ${name}`);
    return found[0];
  };
}

const site = sitesOf("blocks");
const inC = sitesOf("c-blocks");

describe("types of blocks", () => {
  it("are those of the constructor that runs behind the call", () => {
    expect(site("build")).toMatchObject({
      objects: 4,
      size: 16,
      type: { name: "zoo::Animal", size: 16, by: "constructor" },
    });
    const fields = site("build").fields.map(({ name, offset, size, writes, reads }) => [
      name,
      offset,
      size,
      writes,
      reads,
    ]);
    expect(fields).toEqual([
      ["id", 0, 4, 16, 0],
      ["age", 4, 4, 16, 16],
      ["where.x", 8, 4, 16, 0],
      ["where.y", 12, 4, 16, 0],
    ]);
  });

  it("are those of the variable on the call's line, bit fields and padding included", () => {
    expect(site("declare").type).toEqual({ name: "Node", size: 12, by: "variable" });
    expect(site("declare").fields.map(({ name, offset, size }) => [name, offset, size])).toEqual([
      ["next", 0, 4],
      ["key", 4, 4],
      ["kind", 8, 2],
      ["seen,marked", 10, 1],
      [undefined, 11, 1],
    ]);
  });

  it("are those that the function returns, folded over the elements of an array", () => {
    expect(site("paint")).toMatchObject({ size: 30, type: { name: "Pixel", size: 3, by: "result" } });
    expect(site("paint").fields).toMatchObject([
      { name: "red", reads: 0, writes: 0 },
      { name: "green", reads: 10, writes: 10, accesses: 20 },
      { name: "blue", reads: 0, writes: 0 },
    ]);
  });

  it("are likely those of the only struct of that size", () => {
    expect(site("keep").type).toEqual({ name: "Odd", size: 56, by: "size" });
  });

  it("are none where the pointer says so", () => {
    expect(site("bytes").type).toBeUndefined();
    expect(site("bytes").fields[0]).toMatchObject({ offset: 0, size: 1, reads: 1, writes: 1 });
  });

  it("have the name of the typedef where C gives them no other, and a union in them those of its members", () => {
    expect(inC("move")).toMatchObject({ type: { name: "pawn", size: 16, by: "variable" } });
    expect(inC("move").fields.map(({ name, offset }) => [name, offset])).toEqual([
      ["at.x", 0],
      ["at.y", 4],
      ["whole,part", 8],
      ["mark", 12],
      [undefined, 13],
    ]);
  });

  it("are those of the only variable of the call's line that points to something of that size", () => {
    expect(inC("list").type).toEqual({ name: "table", size: 128, by: "variable" });
    expect(inC("either").type).toBeUndefined();
  });

  it("have no name where there is none", () => {
    expect(inC("hold_three").type).toEqual({ name: "struct without a name", size: 24, by: "member" });
    expect(inC("hold_two").type).toEqual({ name: "struct without a name", size: 16, by: "member" });
  });

  it("are not known without debug information", () => {
    expect(moduleTypes(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0))).toBeUndefined();
  });
});
