import { describe, expect, it } from "vitest";
import { ModuleMap, PlaceCache } from "../../src/unwind/index.ts";

const module = (name: string, start: number, end: number) => ({ name, start, end, bias: start });

describe("the places of a process", () => {
  it("are each made once, however many there are", () => {
    const modules = new ModuleMap();
    modules.add(module("app", 0x1000, 0x100_0000));
    const places = new PlaceCache(modules);
    const seen = Array.from({ length: 20_000 }, (_, i) => places.at(0x1000 + 37 * i));
    expect(seen.every((place, i) => places.at(0x1000 + 37 * i) === place)).toBe(true);
    expect(new Set(seen).size).toBe(seen.length);
    // What a return address of 0 is looked up at.
    expect(places.at(-1)).toBe(places.at(-1));
  });

  it("are forgotten where something else is mapped over them, and only there", () => {
    const modules = new ModuleMap();
    modules.add(module("app", 0x40_0000, 0x50_0000));
    const places = new PlaceCache(modules);
    const before = places.at(0x40_1234);
    modules.add(module("elsewhere", 0x9000_0000, 0x9100_0000));
    places.forget(0x9000_0000, 0x9100_0000);
    expect(places.at(0x40_1234)).toBe(before);
    modules.add(module("instead", 0x40_1000, 0x40_2000));
    places.forget(0x40_1000, 0x40_2000);
    expect(places.at(0x40_1234).module?.name).toBe("instead");
  });
});
