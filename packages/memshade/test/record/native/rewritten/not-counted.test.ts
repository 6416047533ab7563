import { describe, expect, it } from "vitest";
import { notCounted } from "../../../../src/record/native/rewritten/not-counted.ts";
import type { RewrittenFile } from "../../../../src/record/native/rewritten/rewrite-files.ts";

const LEFT_ALONE = { undecodable: 0, overlapping: 0, special: 0, exceptions: 0, returnAddresses: 0 };

const NONE = { found: [], made: [] };

function file(special: number, narrow: number, withoutFrames = 0): RewrittenFile {
  const unpatched = { places: 2 * narrow, functions: narrow };
  const leftAlone = { ...LEFT_ALONE, special };
  const facts = { functions: 10, leftAlone, unpatched, withoutFrames, oldText: 100, newText: 200 };
  return { original: "/usr/bin/program", mark: 1, path: "", origins: "", notes: "", facts };
}

describe("the head of a report", () => {
  it("says nothing of files that are counted wholly", () => {
    expect(notCounted([file(0, 0)], NONE, true)).toEqual([]);
  });

  it("has how many functions ran as they are, of all files", () => {
    expect(notCounted([file(1, 0), file(2, 0)], NONE, true)).toEqual([
      "Accesses are not counted in 3 of 23 functions, which could not be instrumented: stubs, signal frames, and code that cannot be decoded or is also data.",
    ]);
  });

  it("has how many functions are too short for a jump", () => {
    expect(notCounted([file(0, 1)], NONE, true)).toEqual([
      "Accesses are not counted in 1 of 10 functions when they are called through a pointer: they have no room for a jump to the instrumented code.",
    ]);
    expect(notCounted([file(0, 2), file(0, 1)], NONE, true)).toEqual([
      "Accesses are not counted in 3 of 20 functions when they are called through a pointer: they have no room for a jump to the instrumented code.",
    ]);
  });

  it("names files with code that has no frames, the most of it first", () => {
    const library = { ...file(0, 0, 404807), original: "/lib/libx264.so" };
    expect(notCounted([file(0, 0, 300), library, file(0, 0)], NONE, true)).toEqual([
      "Accesses are not counted in code without unwind information (.eh_frame): libx264.so (404,807 bytes), program (300 bytes).",
    ]);
  });

  it("names files that were not rewritten, and those that were loaded later", () => {
    const refused = { ...file(0, 0), facts: { refused: "it has no segments" } };
    expect(notCounted([refused], { found: ["/lib/plugin.so"], made: ["/home/test"] }, false)).toEqual([
      "Accesses are not counted in 1 file that could not be instrumented: program (it has no segments).",
      "accesses are not counted in 1 file that was loaded later (dlopen); the next run neither: plugin.so.",
      "Accesses are not counted in 1 file that was written during the run: test.",
    ]);
  });
});
