import { describe, expect, it } from "vitest";
import { placeOf } from "../../../../src/explain/analyses/frames/place-names.ts";
import { sentencesOf, wasteFindings } from "../../../../src/explain/findings/waste/waste-findings.ts";
import { blocks, load, store, wasteOf } from "../../analyses/waste/waste-picture.ts";

describe("findings of waste", () => {
  it("name the store that overwrites a cleared block, and its share", () => {
    const stores = [
      store("parse", 88, {
        class: "fill",
        nof_stores: 100,
        bytes_written: 409_600,
        dead_overwritten: 401_408,
      }),
      store("fread", 12, { nof_stores: 100, bytes_written: 401_408, bytes_read: 401_408 }),
    ];
    const { findings } = wasteFindings(
      wasteOf({
        stores,
        pairs: [{ kind: "overwritten", first: 0, second: 1, bytes: 401_408, operations: 98 }],
      }),
    );
    expect(findings).toHaveLength(1);
    expect(findings[0]).toMatchObject({
      kind: "dead",
      bytes: 401_408,
      isOwn: false,
      partner: { bytes: 401_408 },
    });
    expect(findings[0].partner?.ips[0].function).toBe("fread");
    expect(findings[0].share).toBeCloseTo(0.98);
  });

  it("only sum up harmless kinds: partly needed zeros, atomics, host calls, ended blocks, the end of the run", () => {
    const stores = [
      store("calloc", 1, { class: "calloc", bytes_written: 128, dead_overwritten: 64 }),
      store("lock", 2, {
        class: "atomic",
        bytes_written: 4,
        dead_overwritten: 4,
        nof_stores: 1,
        nof_silent: 1,
      }),
      store("fd_read", 3, { class: "host", bytes_written: 4, dead_overwritten: 4 }),
      store("node", 4, { bytes_written: 16, dead_deallocated: 8, dead_exit: 8 }),
    ];
    const { findings, folded } = wasteFindings(wasteOf({ stores }));
    expect(findings).toEqual([]);
    expect(folded.map(({ bytes }) => bytes)).toEqual([64, 16, 4, 4]);
  });

  it("merge locations without lines in one function if the same function overwrites them", () => {
    const dead = (address: number, name: string, bytes: number) => ({
      ...store("", 1, {
        nof_stores: 10,
        bytes_written: bytes,
        dead_overwritten: bytes,
      }),
      ips: [{ address, function: name }],
    });
    const stores = [
      dead(8, "encode", 10),
      dead(4, "encode", 60),
      dead(16, "encode", 20),
      dead(32, "encode", 30),
      store("reset", 9, {}),
      store("other", 9, {}),
    ];
    const kills = (first: number, second: number, bytes: number) => ({
      kind: "overwritten" as const,
      first,
      second,
      bytes,
      operations: 1,
    });
    const pairs = [kills(0, 4, 10), kills(1, 4, 60), kills(2, 5, 20), kills(3, 3, 30)];
    const { findings } = wasteFindings(wasteOf({ stores, pairs }));
    expect(findings.map(({ bytes, places, share, isOwn }) => ({ bytes, places, share, isOwn }))).toEqual([
      { bytes: 70, places: 2, share: 1, isOwn: false },
      { bytes: 30, places: 1, share: 1, isOwn: true },
      { bytes: 20, places: 1, share: 1, isOwn: false },
    ]);
    expect(findings[0].ips[0].address).toBe(4);
    expect(findings[0].partner?.bytes).toBe(70);
  });

  it("report copies of blocks that grow in small steps, not of blocks that double", () => {
    const place = (name: string, figures: { grown: number; moves: number; moved: number }) => ({
      ips: [{ address: 7, function: name, file: `${name}.c`, line: 7 }],
      calls: 400,
      ...figures,
    });
    const reallocations = [
      place("append", { grown: 400, moves: 100, moved: 20_000 }),
      place("double", { grown: 5000, moves: 9, moved: 5000 }),
      place("once", { grown: 1, moves: 1, moved: 5000 }),
    ];
    const work = store("work", 9, { nof_stores: 9, bytes_written: 20_000, bytes_read: 20_000 });
    const { findings } = wasteFindings({ ...wasteOf({ stores: [work] }), reallocations });
    expect(findings).toMatchObject([
      { kind: "moved", bytes: 20_000, operations: 400, wasted: 100, share: 0.25 },
    ]);
    expect(sentencesOf(findings[0]).says).toBe(
      "100 of the 400 reallocations of append (append.c:7) move their block: 19.5 KiB are copied to where there is more room.",
    );
  });

  it("merge inlined copies of a function, and separate a library function by its callers", () => {
    const copies = (name: string, file: string) =>
      ["load", "save"].map((around, i) => {
        const copy = store(name, 3, { nof_stores: 5, bytes_written: 40, dead_overwritten: 40 });
        const inlined = [{ function: around, file: "src/io.c", line: 7 + i }];
        return { ...copy, ips: [{ address: 100 * i, function: name, file, line: 3, inlined }] };
      });
    const findingsOf = (stores: ReturnType<typeof copies>) => wasteFindings(wasteOf({ stores })).findings;
    expect(findingsOf(copies("reset", "src/record.c"))).toMatchObject([{ bytes: 80, operations: 10 }]);
    expect(findingsOf(copies("std::fill", "/usr/include/c++/v1/fill.h"))).toMatchObject([
      { bytes: 40, operations: 5 },
      { bytes: 40, operations: 5 },
    ]);
  });

  it("merge the contexts of one location, with the share of each caller", () => {
    const from = (name: string, line: number, bytes: number) => {
      const one = store("reset", 3, { nof_stores: 5, bytes_written: bytes, dead_overwritten: bytes });
      return { ...one, ips: [...one.ips, { address: line, function: name, file: `src/${name}.c`, line }] };
    };
    const stores = [from("load", 7, 30), from("save", 8, 50), from("load", 7, 40)];
    const { findings } = wasteFindings(wasteOf({ stores }));
    expect(findings).toHaveLength(1);
    expect(findings[0].bytes).toBe(120);
    expect(findings[0].callers.map(({ ips, bytes }) => [ips[0].function, bytes])).toEqual([
      ["load", 70],
      ["save", 50],
    ]);
  });

  it("leave out a store whose value is computed from the stored one and stays the same", () => {
    const figures = { nof_stores: 10, bytes_written: 80, nof_silent: 10, bytes_silent: 80 };
    const { findings, folded } = wasteFindings(
      wasteOf({ stores: [store("slide", 3, { ...figures, update: true })] }),
    );
    expect(findings).toEqual([]);
    expect(folded).toMatchObject([{ bytes: 80, sites: 1 }]);
  });

  it("report a location with silent and dead stores once, with both facts", () => {
    const figures = { nof_stores: 10, bytes_written: 80, nof_silent: 9, bytes_silent: 72 };
    const stores = [store("set", 3, { ...figures, dead_overwritten: 80 })];
    const { findings } = wasteFindings(wasteOf({ stores }));
    expect(findings).toMatchObject([{ kind: "dead", also: { kind: "silent", wasted: 9 } }]);
  });

  it("leave out locations that waste only a small part of their stores", () => {
    const figures = { nof_stores: 10, bytes_written: 80, nof_silent: 7, bytes_silent: 56 };
    const stores = [store("sieve", 3, { ...figures, dead_overwritten: 56 })];
    expect(wasteFindings(wasteOf({ stores })).findings).toEqual([]);
  });

  it("name the caller of calloc if all of its zeros are overwritten", () => {
    const stores = [store("xcalloc", 5, { class: "calloc", bytes_written: 800, dead_overwritten: 800 })];
    const ips = [
      { ...stores[0].ips[0], layer: true },
      { address: 7, function: "rows", file: "src/rows.c", line: 9 },
    ];
    const { findings, folded } = wasteFindings(wasteOf({ stores, blocks: [blocks({ ips })] }));
    expect(findings).toMatchObject([{ kind: "clear", bytes: 800, share: 1 }]);
    expect(placeOf(findings[0].ips)).toBe("rows (rows.c:9) via xcalloc");
    expect(folded).toEqual([]);
  });

  it("separate code without a name or a line by its address", () => {
    const nameless = {
      ...store("", 1, { bytes_written: 80, dead_overwritten: 80 }),
      ips: [{ address: 9, function: "func[7]" }],
    };
    const stores = [nameless, store("known", 2, { bytes_written: 80, dead_overwritten: 80 })];
    const { findings } = wasteFindings(wasteOf({ stores }));
    expect(findings.map(({ isUnnamed }) => isUnnamed)).toEqual([true, false]);
  });

  it("add up many small parts of one line", () => {
    const parts = Array.from({ length: 4 }, () =>
      store("set", 3, { nof_stores: 1, bytes_written: 8, dead_overwritten: 8 }),
    );
    const rest = store("work", 9, { nof_stores: 1000, bytes_written: 2000, bytes_read: 2000 });
    const { findings } = wasteFindings(wasteOf({ stores: [...parts, rest] }));
    expect(findings).toMatchObject([{ bytes: 32, operations: 4, share: 1 }]);
  });

  it("distinguish a store that overwrites its own bytes", () => {
    const stores = [store("sum", 7, { nof_stores: 10, bytes_written: 80, dead_overwritten: 72 })];
    const pairs = [{ kind: "overwritten" as const, first: 0, second: 0, bytes: 72, operations: 9 }];
    expect(wasteFindings(wasteOf({ stores, pairs })).findings[0].isOwn).toBe(true);
  });

  it("report loads that the same loop repeats, not loads that repeat an earlier loop", () => {
    const stores = [store("a", 1, { nof_stores: 10, bytes_written: 80, dead_overwritten: 80 })];
    const loads = [
      load("b", 2, { nof_loads: 20, nof_silent: 20, bytes_loaded: 80, nof_again: 19 }),
      load("walk", 3, { nof_loads: 20, nof_silent: 20, bytes_loaded: 80, nof_again: 0 }),
      load("far", 4, { nof_loads: 20, nof_silent: 20, bytes_loaded: 80 }),
    ];
    const { findings } = wasteFindings(wasteOf({ stores, loads }));
    expect(findings.map(({ kind, ips, wasted }) => [kind, ips[0].function, wasted])).toEqual([
      ["dead", "a", undefined],
      ["redundant", "b", 19],
    ]);
  });

  it("do not report padding as an unread field", () => {
    const gap = { offset: 4, size: 4, reads: 0, writes: 40, dead: 40, silent: 0 };
    const type = { name: "pair", size: 16, by: "variable" as const };
    const site = { ips: [{ address: 1 }], objects: 10, bytes: 160, size: 16, varies: false, bytesDead: 40 };
    const { findings, folded } = wasteFindings(wasteOf({ objects: [{ ...site, type, fields: [gap] }] }));
    expect(findings).toEqual([]);
    expect(folded).toEqual([{ what: "padding between members of structs", bytes: 40, sites: 1 }]);
  });

  it("only sum up local variables in memory, unless another function is involved", () => {
    const stores = [
      store("sum", 7, { nof_stores: 10, bytes_written: 80, dead_overwritten: 72, frame: true }),
      store("fill", 8, { nof_stores: 10, bytes_written: 80 }),
    ];
    const killedBy = (second: number) =>
      wasteFindings(
        wasteOf({ stores, pairs: [{ kind: "overwritten", first: 0, second, bytes: 72, operations: 9 }] }),
      );
    expect(killedBy(0).findings).toEqual([]);
    expect(killedBy(0).folded).toMatchObject([{ bytes: 72, sites: 1 }]);
    expect(killedBy(1).findings).toHaveLength(1);
  });

  it("report several accesses on one line once", () => {
    const stores = [0, 16].map((more) => ({
      ...store("step", 7, { nof_stores: 10, bytes_written: 80, dead_overwritten: 64 }),
      ips: [{ address: 112 + more, function: "step", file: "src/step.c", line: 7 }],
    }));
    const { findings } = wasteFindings(wasteOf({ stores }));
    expect(findings).toMatchObject([{ bytes: 128, operations: 20, share: 0.8 }]);
  });
});

describe("blocks that are never read", () => {
  const work = store("work", 9, { nof_stores: 9, bytes_written: 8000, bytes_read: 8000 });
  const field = (offset: number, written: boolean, name?: string) => ({ offset, size: 8, written, name });
  const track = { name: "Track", size: 32, by: "variable" as const };
  const findingsOf = (...of: Parameters<typeof blocks>[0][]) =>
    wasteFindings(wasteOf({ stores: [work], blocks: of.map(blocks) })).findings;

  it("are one finding, whatever their sizes and members", () => {
    const found = findingsOf(
      { unread_blocks: 10, unread_bytes: 1600, element: 32, fields: [field(0, true)] },
      { unread_blocks: 10, unread_bytes: 1600, size: 64 },
    );
    expect(found).toMatchObject([{ kind: "never-read", wasted: 20, operations: 20, bytes: 3200 }]);
  });

  it("are not reported if most of them are read", () => {
    expect(findingsOf({ unread_blocks: 4, unread_bytes: 640 })).toEqual([]);
  });

  it("report members that are stored to and never read, with an upper bound of their bytes", () => {
    const members = {
      type: track,
      element: 32,
      fields: [field(8, true, "comment"), field(16, false, "spare")],
    };
    expect(findingsOf({ ...members, never_read: 400 })).toMatchObject([
      { kind: "write-only", bytes: 400, share: 0.25, also: { kind: "cold", bytes: 400 } },
    ]);
    expect(
      findingsOf({ ...members, never_read: 300 })[1] ?? findingsOf({ ...members, never_read: 300 })[0],
    ).toMatchObject({
      also: { kind: "write-only", bytes: 300 },
    });
  });

  it("report no member that is read in blocks of the type from another site", () => {
    const node = { type: track, element: 32, never_read: 400 };
    const [comment, spare] = [field(8, true, "comment"), field(16, true, "spare")];
    expect(
      findingsOf({ ...node, fields: [comment, spare] }, { ...node, fields: [spare] }).map(
        ({ object }) => object?.fields,
      ),
    ).toEqual([[spare]]);
    expect(findingsOf({ ...node, fields: [comment] }, { ...node, fields: [] })).toEqual([]);
    const probable = { ...node, type: { ...track, by: "size" as const }, fields: [] };
    expect(findingsOf({ ...node, fields: [comment] }, probable)).toMatchObject([{ kind: "write-only" }]);
  });

  it("report no members of a few blocks, or of large blocks without a type", () => {
    const fields = [field(0, true)];
    expect(findingsOf({ bytes: 480, never_read: 480, element: 32, fields })).toEqual([]);
    expect(findingsOf({ bytes: 40_000, never_read: 480, element: 2000, fields })).toEqual([]);
  });

  it("are not reported if a host with unknown reads may use them", () => {
    const members = { type: track, element: 32, fields: [field(8, false, "spare")] };
    const seen = store("seen", 9, { nof_stores: 9, bytes_written: 8000, host_assumed_read: 8000 });
    expect(findingsOf(members)).toMatchObject([{ kind: "cold" }]);
    expect(wasteFindings(wasteOf({ stores: [seen], blocks: [blocks(members)] })).findings).toEqual([]);
  });

  it("are not also counted as harmless", () => {
    const kept = store("keep", 4, { nof_stores: 9, bytes_written: 1600, dead_exit: 1600 });
    const { folded } = wasteFindings(
      wasteOf({ stores: [kept], blocks: [blocks({ unread_blocks: 10, unread_bytes: 1500 })] }),
    );
    expect(folded).toMatchObject([{ bytes: 100 }]);
  });
});
