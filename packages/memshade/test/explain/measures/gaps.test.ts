import { describe, expect, it } from "vitest";
import { gapsOf } from "../../../src/explain/measures/gaps.ts";
import { NONE } from "../../../src/profile/model/indices.ts";
import { heapPicture, profileOfPicture } from "../../heap-picture.ts";

describe("a heap that consists of a few blocks", () => {
  const ARENA = `
    main > start > newArena   1 x 900000 peak 1
    main > start > newTable  99 x 100    peak 99`;
  const CHUNKS = `
    main > start > newChunk     3 x 200000 peak 3
    main > start > newTable  2000 x 100    peak 2000`;
  const gaps = (picture: string, how: "exports" | "option", further?: string[]) => {
    const { modules } = heapPicture(picture).run;
    const allocator = { ...modules[0]!.allocator, how, further };
    return gapsOf(profileOfPicture(picture, { modules: [{ ...modules[0]!, allocator }] })).join(" ");
  };

  it("may be one that the program cuts up itself: what to type to see its blocks", () => {
    expect(
      gaps(ARENA, "exports", ["malloc=_emalloc,free=_efree", "malloc=a::get(int),free=a::put(int)"]),
    ).toBe(
      "One block of 879 KiB is 98.9 % of the peak. If the program has its own allocator inside it, the blocks of that are not recorded; " +
        "its functions may be: --allocator malloc=_emalloc,free=_efree. " +
        "Other candidates: --allocator 'malloc=a::get(int),free=a::put(int)'.",
    );
    expect(gaps(ARENA, "exports")).toContain(
      "are not recorded: name its functions with --allocator malloc=NAME|#INDEX,free=NAME|#INDEX.",
    );
    expect(gaps(CHUNKS, "exports", ["malloc=_emalloc,free=_efree"])).toMatch(
      /^2 blocks with 391 KiB are 48\.\d % of the peak|^3 blocks with 586 KiB are 75\.0 % of the peak/,
    );
  });

  it("is no news without functions that look like it, to who has named them, or where blocks are many", () => {
    expect(gaps(CHUNKS, "exports")).toBe("");
    expect(gaps(ARENA, "option", ["malloc=_emalloc,free=_efree"])).toBe("");
    expect(gaps("main > work 1000 x 48 peak 1000", "exports", ["malloc=_emalloc,free=_efree"])).toBe("");
    expect(gaps("main > work 1 x 48 peak 1", "exports", ["malloc=_emalloc,free=_efree"])).toBe("");
  });
});

describe("code that allocates", () => {
  const profile = profileOfPicture("main > start > newTable 10 x 100");
  const without = (isNamed: (name: string) => boolean) => {
    const name = Array.from(profile.functions.name, (row) =>
      row !== NONE && isNamed(profile.strings[row]!) ? row : NONE,
    );
    return { ...profile, functions: { ...profile.functions, name } };
  };

  it("is said to have no names where it has none, as findings need one", () => {
    expect(gapsOf(without(() => false)).join()).toMatch(
      /^The code that allocates has neither names nor lines/,
    );
    expect(gapsOf(without((name) => name !== "main"))).toEqual([]);
    expect(gapsOf(profile)).toEqual([]);
  });
});
