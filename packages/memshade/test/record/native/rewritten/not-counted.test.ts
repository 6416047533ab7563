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
      "3 functions of 23 ran as they are: stubs, frames of signals, what cannot be decoded, and what is data, too.",
    ]);
  });

  it("has how many functions are too short for a jump", () => {
    expect(notCounted([file(0, 1)], NONE, true)).toEqual([
      "1 function of 10 has no room for a jump to the rewritten code: called by a pointer, it runs as it is.",
    ]);
    expect(notCounted([file(0, 2), file(0, 1)], NONE, true)).toEqual([
      "3 functions of 20 have no room for a jump to the rewritten code: called by a pointer, they run as they are.",
    ]);
  });

  it("names files with code that has no frames, the most of it first", () => {
    const library = { ...file(0, 0, 404807), original: "/lib/libx264.so" };
    expect(notCounted([file(0, 0, 300), library, file(0, 0)], NONE, true)).toEqual([
      "Code that .eh_frame does not describe ran as it is, without being counted: libx264.so (404,807 bytes), program (300 bytes).",
    ]);
  });

  it("names files that were not rewritten, and those that were loaded later", () => {
    const refused = { ...file(0, 0), facts: { refused: "it has no segments" } };
    expect(notCounted([refused], { found: ["/lib/plugin.so"], made: ["/home/test"] }, false)).toEqual([
      "1 file ran as it is, without being counted: program (it has no segments).",
      "1 file that was loaded later ran as it is; they cannot be remembered: plugin.so.",
      "1 file that was written meanwhile ran as it is: test.",
    ]);
  });
});
