import { describe, expect, it } from "vitest";
import { isHeapText, readHeapText } from "../../../../src/profile/formats/heap-text/read-heap-text.ts";

const MAPPED = "\nMAPPED_LIBRARIES:\n00400000-00402000 r-xp 00001000 00:00 1 /opt/server\n";
const read = (text: string, namesOf?: Parameters<typeof readHeapText>[1]) =>
  readHeapText(new TextEncoder().encode(text), namesOf);
const gaps = (text: string) => read(text).description.notTracked.join("\n");

const jemalloc = (distance: number, allocated: string) => `heap_v2/${distance}
  t*: 2: 2048 [${allocated}]
  t0: 2: 2048 [${allocated}]
@ 0x401200 0x401300
  t*: 2: 2048 [${allocated}]
  t0: 1: 1024 [${allocated}]
  t1: 1: 1024 [0: 0]
${MAPPED}`;

describe("a heap profile in text", () => {
  it("of jemalloc has what is live in all threads, each stack once", () => {
    expect(isHeapText(jemalloc(1, "5: 4096"))).toBe(true);
    const { description, contexts } = read(jemalloc(1, "5: 4096"));
    expect(description).toMatchObject({ importedFrom: "jemalloc", program: "server" });
    expect(description.totals).toMatchObject({ liveBlocks: 2, liveBytes: 2048, allocations: 5, frees: 3 });
    expect(contexts.length).toBe(1);
  });

  it("of samples has what they stand for, as jeprof and pprof estimate it", () => {
    // 1 / (1 − e^(−1024 / 524288)) = 512.5 blocks per sampled block.
    const { totals } = read(jemalloc(524_288, "0: 0")).description;
    expect(totals).toMatchObject({ liveBlocks: 1025, liveBytes: 1_049_600 });
    expect(gaps(jemalloc(524_288, "0: 0"))).toMatch(/one sample for 524,288 bytes/);
  });

  it("without what was allocated in all says so, and has no 0", () => {
    expect(read(jemalloc(1, "0: 0")).description.totals).toMatchObject({
      liveBlocks: 2,
      allocations: undefined,
      frees: undefined,
    });
    expect(gaps(jemalloc(1, "0: 0"))).toMatch(/prof_accum:true/);
  });

  it.each([
    ["heapprofile", { liveBlocks: 2, liveBytes: 2048 }],
    ["heap_v2/524288", { liveBlocks: 1025, liveBytes: 1_049_600 }],
    // Go's runtime writes twice its sampling distance.
    ["heap/1048576", { liveBlocks: 1025, liveBytes: 1_049_600 }],
  ])("of gperftools is read by its kind: %s", (kind, totals) => {
    const text = `heap profile:   2:  2048 [  2:  2048] @ ${kind}\n  2: 2048 [2: 2048] @ 0x401200 0x401300\n${MAPPED}`;
    expect(isHeapText(text)).toBe(true);
    const { description } = read(text);
    expect(description.importedFrom).toBe("gperftools");
    expect(description.totals).toMatchObject(totals);
  });

  it("of Go has the names that it says, those of inlined functions too, once each", () => {
    const names = "#\t0x4010ff\tmain.inner+0x1f\t\t/src/a.go:6\n#\t0x4010ff\tmain.outer+0x1f\t/src/a.go:5\n";
    const { description, contexts, strings, frames } = read(
      `heap profile: 2: 16 [2: 16] @ heap/2\n1: 8 [1: 8] @ 0x401100 0x401200\n${names}` +
        `#\t0x4011ff\tmain.main+0x35\t/src/a.go:7\n\n1: 8 [1: 8] @ 0x401100\n${names}\n# runtime.MemStats\n# Alloc = 16\n`,
    );
    expect(description).toMatchObject({ importedFrom: "Go", totals: { liveBlocks: 2, liveBytes: 16 } });
    expect([contexts.length, frames.length]).toEqual([2, 3]);
    expect(Array.from(frames.inlined)).toEqual([0, 0, 1]);
    expect(strings).toEqual(expect.arrayContaining(["main.inner", "main.outer", "main.main", "/src/a.go"]));
    expect(description.notTracked.join()).not.toMatch(/no name/);
  });

  it("belongs to the first file that was mapped, replaced since or not", () => {
    const mapped = "\nMAPPED_LIBRARIES:\n7ff000-7ff100 r-xp 0 00:00 0  [vdso]\n";
    const app = "400000-402000 r-xp 00001000 fe:01 12 /opt/an app (deleted)\n";
    const { description, modules } = read(`heap_v2/1\n@ 0x401000\n  t*: 1: 8 [0: 0]\n${mapped}${app}`);
    expect(description.program).toBe("an app");
    expect(modules.map(({ path }) => path)).toEqual(["/opt/an app"]);
  });

  it("asks for names of the calls, not of where they return to", () => {
    const asked: string[] = [];
    const { strings, description } = read(jemalloc(1, "5: 4096"), ({ path, fileOffset }, address) => {
      asked.push(`${path}+${fileOffset} ${address.toString(16)}`);
      return [{ name: `at_${address.toString(16)}`, offset: 0 }];
    });
    expect(asked).toEqual(["/opt/server+4096 4011ff", "/opt/server+4096 4012ff"]);
    expect(strings).toEqual(expect.arrayContaining(["at_4011ff", "at_4012ff"]));
    expect(description.notTracked.join("\n")).not.toMatch(/no name/);
    expect(gaps(jemalloc(1, "5: 4096"))).toMatch(
      /2 places have no names: give the program and its libraries with --binary-path/,
    );
  });

  it.each([
    ["a line of something else", "heap_v2/1\nanything\n", /"anything" is no line of it/],
    ["a last line that is cut", jemalloc(1, "5: 4096").slice(0, 60), /cut off/],
    ["another kind", "heap profile: 1: 2 [3: 4] @ growthz/1\n", /of the kind growthz/],
    ["a count that is too large", jemalloc(1, "99999999999999999999: 1"), /too much/],
  ])("with %s is refused", (_what, text, message) => {
    expect(() => read(text)).toThrow(message);
  });
});
