import { describe, expect, it } from "vitest";
import { objectsByPlace } from "../../../../src/explain/analyses/waste.ts";
import { calloc, free, L, malloc, realloc, S, SYSR, text, WasteRun } from "./events.ts";

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

  const byPlace = (of: WasteRun) => objectsByPlace(of.file.objects ?? []);

  it("are told apart by the calls that led there", () => {
    expect(run.file.objects?.map(({ ips, objects }) => [...ips.map((ip) => ip.function), objects])).toEqual([
      ["one", "_start", 1],
      ["one", "_start", 1],
    ]);
  });

  it("belong to the call of the allocator that made them", () => {
    expect(byPlace(run)).toHaveLength(1);
    expect(byPlace(run)[0]).toMatchObject({
      objects: 2,
      bytes: 32,
      size: 16,
      varies: false,
      bytesDead: 16,
    });
    expect(byPlace(run)[0].ips[0].function).toBe("one");
  });

  it("show fields that are written and never read", () => {
    expect(byPlace(run)[0].fields).toMatchObject([
      { offset: 0, size: 4, writes: 8, reads: 12, dead: 0, silent: 0, accesses: 5 },
      { offset: 4, size: 4, writes: 8, reads: 0, dead: 8, deallocated: 8, silent: 0, accesses: 2 },
      { offset: 8, size: 8, writes: 16, reads: 8, dead: 8, deallocated: 8, silent: 0, accesses: 3 },
    ]);
  });

  it("have ratios, and name whose bytes died in them", () => {
    const [site] = byPlace(run);
    expect(site).toMatchObject({
      ratioRead: 0.625,
      ratioWritten: 1,
      writeOnlyBytes: 4,
      holeBytes: 0,
      readUnwrittenBytes: 0,
    });
    const writers = site.deadBy?.map(({ store, bytes }) => [run.file.stores[store].ips[0].function, bytes]);
    expect(writers?.sort()).toEqual([
      ["b", 8],
      ["c", 8],
    ]);
  });

  it("name who stores to them and who loads from them", () => {
    const [site] = byPlace(run);
    const sum = (of: readonly { bytes: number }[] = []) => of.reduce((total, { bytes }) => total + bytes, 0);
    const nameOf = ({ ips }: { ips: readonly { function?: string | undefined }[] }) => ips[0].function;
    expect(site.writtenBy?.map(({ store }) => nameOf(run.file.stores[store])).sort()).toEqual([
      "a",
      "b",
      "c",
    ]);
    expect(sum(site.writtenBy)).toBe(site.fields.reduce((total, { writes }) => total + writes, 0));
    expect(site.readBy?.map(({ load }) => nameOf(run.file.loads[load])).sort()).toEqual(["ra", "rc"]);
    expect(sum(site.readBy)).toBe(site.fields.reduce((total, { reads }) => total + reads, 0));
  });

  it("name all places of an unrolled loop", () => {
    const unrolled = Array.from(
      { length: 16 },
      (_, i) => `(i32.store8 offset=${i} (i32.const ${B}) (i32.const 7))`,
    );
    const of = new WasteRun([allocate, text("(call $fill)", { fill: unrolled.join(" ") }), free(B)], {
      waste: { objects: true },
    });
    expect(of.file.objects?.[0].deadBy?.map(({ bytes }) => bytes)).toEqual(Array(16).fill(1));
  });

  it("name whose bytes were overwritten, and are unread at the end", () => {
    const of = new WasteRun(
      [allocate, S("a", B, 8), S("b", B, 4), S("outside", 1024, 4), S("outside", 1024, 4)],
      {
        waste: { objects: true },
      },
    );
    const writers = of.file.objects?.[0].deadBy?.map(({ store, bytes }) => [
      of.file.stores[store].ips[0].function,
      bytes,
    ]);
    expect(writers).toEqual([
      ["a", 8],
      ["b", 4],
    ]);
    expect(of.file.objects?.[0]).toMatchObject({ bytesDead: 12, holeBytes: 8 });
  });

  it("show holes and sizes that vary", () => {
    const of = new WasteRun([malloc(B, 16), S("a", B, 4), free(B)], { waste: { objects: true } });
    expect(of.file.objects?.[0].fields).toMatchObject([
      { offset: 0, size: 4, writes: 4 },
      { offset: 4, size: 12, writes: 0, reads: 0 },
    ]);
  });

  it("live a useful part of their time, and use a part of their bytes", () => {
    const wait = (accesses: number) => Array.from({ length: accesses }, () => L("elsewhere", 1024, 1));
    // Alive from 100 to 200, first access at 120, last at 140: offsets 0–9 and 30–39 of 100.
    const of = new WasteRun(
      [
        ...wait(100),
        text("(call $hundred)", {
          hundred: `(global.set $next (i32.const ${B})) (drop (call $malloc (i32.const 100)))`,
        }),
        ...wait(20),
        S("w8", B, 8),
        S("w2", B + 8, 2),
        S("x8", B + 30, 8),
        S("x2", B + 38, 2),
        ...wait(16),
        L("r1", B + 5, 1),
        ...wait(59),
        free(B),
      ],
      { waste: { objects: true } },
    );
    expect(of.file.objects?.[0]).toMatchObject({
      objects: 1,
      peak: 100,
      meanLifetime: 100,
      usefulLifetime: 0.2,
      usageSpan: 0.4,
      usage: 0.2,
    });
  });

  it("that are never read, or never written, use nothing", () => {
    const of = new WasteRun([allocate, S("a", B, 4), free(B), allocate, S("a", B, 4), L("ra", B, 4)], {
      waste: { objects: true },
    });
    expect(byPlace(of)[0]).toMatchObject({ objects: 2, bytes: 32, peak: 32, usage: 4 / 32 });
  });

  it("are read by the host and by the reallocation that carries them on", () => {
    const of = new WasteRun(
      [allocate, S("a", B, 4), SYSR(B, 4), S("b", B + 4, 4), realloc(B, 512, 32), S("c", 512, 4)],
      { waste: { objects: true } },
    );
    const one = of.file.objects?.find(({ ips }) => ips[0].function === "one");
    expect(one?.fields).toMatchObject([
      { offset: 0, size: 8, reads: 8, writes: 8, dead: 0 },
      { offset: 8, size: 8, reads: 0, writes: 0 },
    ]);
    const moved = of.file.objects?.find(({ ips }) => ips[0].function === "_start");
    expect(moved?.fields[0]).toMatchObject({ offset: 0, size: 4, writes: 4, exit: 4, dead: 4 });
  });

  it("are used where a reallocation brings bytes in, and carries them on", () => {
    const move = (from: number, to: number) => realloc(from, to, 16);
    const usages = (...events: ConstructorParameters<typeof WasteRun>[0][number][]) => {
      const { objects = [] } = new WasteRun(events, { waste: { objects: true } }).file;
      return Object.fromEntries(objects.map(({ ips, usage }) => [ips[0].function, usage]));
    };
    const written = [allocate, S("a", B, 8), move(B, 512), L("ra", 512, 4)];
    expect(usages(...written)).toEqual({ one: 0.5, _start: 0.5 });
    expect(usages(...written, free(512))).toEqual({ one: 0.5, _start: 0.5 });
    expect(
      usages(allocate, S("a", B, 4), move(B, 512), move(512, 1024), L("ra", 1024, 4), free(1024)),
    ).toEqual({ one: 0.25, _start: 0.25 });
    expect(usages(allocate, S("a", B, 8), move(B, 512), free(512))).toEqual({ one: 0.5, _start: 0 });
    expect(usages(allocate, move(B, 512), L("ra", 512, 4), free(512))).toEqual({ one: 0, _start: 0 });
  });

  it("know the zeros of calloc from what the program stores", () => {
    const of = new WasteRun([calloc("K", B, 16), L("r", B, 4), S("w", B + 8, 4), free(B)], {
      waste: { objects: true },
    });
    expect(of.file.objects?.[0]).toMatchObject({ usage: 0.5, usageSpan: 0.75, bytesDead: 16 });
  });

  it("of other places are told apart by context", () => {
    const callers = { left: "(call $one)", right: "(call $one)", ...NAMED };
    const of = new WasteRun([text("(call $left) (call $right) (call $right)", callers)], {
      waste: { objects: true, contexts: true },
    });
    const names = of.file.objects?.map(({ ips, objects }) => [...ips.map((ip) => ip.function), objects]);
    expect(names?.sort()).toEqual([
      ["one", "left", "_start", 1],
      ["one", "right", "_start", 1],
      ["one", "right", "_start", 1],
    ]);
  });
});
