import { describe, expect, it } from "vitest";
import { free, L, malloc, S, text, WasteRun } from "./events.ts";

const B = 64;
const NAMED = {
  one: `(global.set $next (i32.const ${B})) (drop (call $malloc (i32.const 16)))`,
};

describe("objects and fields", () => {
  const allocate = text("(call $one)", NAMED);
  const first = [
    allocate,
    S("a", B, 4),
    S("b", B + 4, 4),
    S("c", B + 8, 8),
    L("ra", B, 4),
    L("ra", B, 4),
    free(B),
  ];
  const second = [
    allocate,
    S("a", B, 4),
    S("b", B + 4, 4),
    S("c", B + 8, 8),
    L("ra", B, 4),
    L("rc", B + 8, 8),
    free(B),
  ];
  const run = new WasteRun([...first, ...second], { waste: { objects: true } });

  it("belong to the call of the allocator that made them", () => {
    expect(run.file.objects).toHaveLength(1);
    expect(run.file.objects?.[0]).toMatchObject({
      objects: 2,
      bytes: 32,
      size: 16,
      varies: false,
      bytesDead: 16,
    });
    expect(run.file.objects?.[0].ips[0].function).toBe("one");
  });

  it("show fields that are written and never read", () => {
    expect(run.file.objects?.[0].fields).toEqual([
      { offset: 0, size: 4, writes: 8, reads: 12, dead: 0, silent: 0 },
      { offset: 4, size: 4, writes: 8, reads: 0, dead: 8, silent: 0 },
      { offset: 8, size: 8, writes: 16, reads: 8, dead: 8, silent: 0 },
    ]);
  });

  it("show holes and sizes that vary", () => {
    const of = new WasteRun([malloc(B, 16), S("a", B, 4), free(B)], { waste: { objects: true } });
    expect(of.file.objects?.[0].fields).toMatchObject([
      { offset: 0, size: 4, writes: 4 },
      { offset: 4, size: 12, writes: 0, reads: 0 },
    ]);
  });
});
