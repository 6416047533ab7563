import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { FormatError } from "../../../src/ground/bytes/errors.ts";
import { isHeaptrack, readHeaptrack } from "../../../src/profile/formats/heaptrack.ts";
import type { HeapProfile } from "../../../src/profile/model/heap-profile.ts";
import { framesOfContext } from "../../../src/profile/model/stacks.ts";

const fixture = (name: string) =>
  readFileSync(fileURLToPath(new URL(`../../fixtures/imports/${name}`, import.meta.url)), "utf8");
const TEXT = fixture("small.heaptrack");

const read = (text: string): HeapProfile => readHeaptrack(new TextEncoder().encode(text));

function failure(text: string): FormatError {
  try {
    read(text);
  } catch (error) {
    expect(error).toBeInstanceOf(FormatError);
    return error as FormatError;
  }
  throw new Error("was read");
}

/** A recording of version 2 with one function `f` in line 5, which allocates blocks of 16, 32 and 0 bytes. */
const HEAD = "v 10200 2\nX ./app\ns /bin/app\ns f\ns f.c\ni 1000 1 2 3 5\nt 1 0\na 10 1\na 20 1\na 0 1\n";

describe("a recording of heaptrack", () => {
  it("is what heaptrack_print says that it is", () => {
    const { description, contexts } = read(TEXT);
    expect(isHeaptrack(TEXT)).toBe(true);
    // 57 calls, 51 temporary, a peak of 113.10 kB, 4.50 kB leaked.
    expect(description.totals).toMatchObject({
      allocations: 57,
      frees: 52,
      peakBytes: 113_104,
      liveBytes: 4496,
    });
    expect(contexts.site!.temporary!.reduce((sum, blocks) => sum + blocks, 0)).toBe(51);
    expect(contexts.site!.peakBytes.reduce((sum, bytes) => sum + bytes, 0)).toBe(113_104);
    expect(description).toMatchObject({ program: "small", importedFrom: "heaptrack" });
    expect(description.unknownFields).toEqual(expect.arrayContaining(["totalLifetime", "totalAccessCount"]));
  });

  it("of version 2 is read too", () => {
    const profile = read(`${HEAD}+ 0\n+ 1\n- 0\n+ 0\n- 0\n`);
    const { contexts, frames, functions, strings } = profile;
    expect(profile.description.totals).toMatchObject({
      allocations: 3,
      allocatedBytes: 64,
      liveBytes: 32,
      peakBytes: 48,
    });
    expect(contexts.site!.temporary![0]).toBe(1);
    expect([contexts.mibs.minSize[0], contexts.mibs.maxSize[0]]).toEqual([16, 32]);
    const [frame] = framesOfContext(profile, 0 as never);
    expect(strings[functions.name[frames.function[frame!]!]!]).toBe("f");
    expect([strings[frames.file[frame!]!], frames.line[frame!]]).toEqual(["f.c", 5]);
  });

  it("has the peak of each path at the moment when all was largest", () => {
    const two = HEAD.replace("t 1 0\n", "s g\ni 2000 1 4 3 9\nt 1 0\nt 2 0\n").replace("a 20 1", "a 20 2");
    // f alone, then f and g, then g alone twice: the peak is f's 16 and g's 32 bytes.
    const { contexts, description } = read(`${two}+ 0\n+ 1\n- 0\n- 1\n+ 0\n+ 2\n`);
    expect(description.totals).toMatchObject({ peakBytes: 48, peakBlocks: 2 });
    expect(Array.from(contexts.site!.peakBytes)).toEqual([16, 32]);
    expect(Array.from(contexts.site!.liveBytes)).toEqual([16, 0]);
  });

  it("that was not interpreted is refused, and what has to be done is said", () => {
    expect(failure(fixture("not-interpreted.heaptrack"))).toMatchObject({ kind: "unsupported" });
    expect(failure(fixture("not-interpreted.heaptrack")).message).toMatch(/heaptrack_interpret/);
  });

  it.each([
    ["of another version", TEXT.replace(/^v \w+ 3/, "v 10400 4"), "unsupported-version"],
    ["cut off in a line", TEXT.slice(0, TEXT.indexOf("\n", 1000) - 1), "truncated"],
    ["without a version", TEXT.slice(TEXT.indexOf("\n") + 1), "bad-magic"],
    ["with a line of another format", `${HEAD}? 1\n`, "malformed"],
    ["that frees what is not there", `${HEAD}- 0\n`, "malformed"],
    ["that allocates what is not there", `${HEAD}+ 7\n`, "malformed"],
    ["with a number that is none", `${HEAD}+ x\n`, "malformed"],
    ["with a path to nowhere", `${HEAD}t 9 0\n`, "malformed"],
    ["of nothing", "v 10400 3\n", "malformed"],
  ])("%s is refused", (_, text, kind) => {
    expect(failure(text).kind).toBe(kind);
  });

  it("whose paths share so many frames that no machine holds them is refused", () => {
    const shared = (frames: number, paths: number) =>
      `v 10400 2\ns f\ni 1000 0${" 1 0 1".repeat(frames)}\n` +
      Array.from(
        { length: paths },
        (_, path) => `t 1 ${path.toString(16)}\na 8 ${(path + 1).toString(16)}\n`,
      ).join("") +
      Array.from({ length: paths }, (_, path) => `+ ${path.toString(16)}\n`).join("");
    expect(read(shared(10, 60)).contexts.length).toBe(60);
    expect(failure(shared(1000, 300))).toMatchObject({ kind: "unsupported" });
    expect(failure(shared(1000, 300)).message).toMatch(/its call paths have 45,150,000 frames/);
  });
});
