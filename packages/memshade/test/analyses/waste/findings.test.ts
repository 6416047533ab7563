import { describe, expect, it } from "vitest";
import { wasteFindings } from "../../../src/analyses/waste/findings.ts";
import { rankWaste } from "../../../src/analyses/waste/rank-sites.ts";
import { sentencesOf } from "../../../src/report/waste-sentences.ts";
import { load, store, wasteOf } from "./waste-picture.ts";

describe("findings", () => {
  it("a clear that is overwritten names its killer and the part it killed", () => {
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

  it("harmless kinds are folded: calloc, atomics, host calls, ended blocks, the end", () => {
    const stores = [
      store("calloc", 1, { class: "calloc", bytes_written: 64, dead_overwritten: 64 }),
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
    expect(folded.map(({ bytes }) => bytes)).toEqual([64, 8, 8, 4, 4]);
  });

  it("places of one function without lines are one, if the same function undid them", () => {
    const dead = (address: number, name: string, bytes: number) => ({
      ...store("", 1, {
        nof_stores: 10,
        bytes_written: 100,
        dead_overwritten: bytes,
        bytes_read: 100 - bytes,
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
      { bytes: 70, places: 2, share: 0.35, isOwn: false },
      { bytes: 30, places: 1, share: 0.3, isOwn: true },
      { bytes: 20, places: 1, share: 0.2, isOwn: false },
    ]);
    expect(findings[0].ips[0].address).toBe(4);
    expect(findings[0].partner?.bytes).toBe(70);
  });

  it("blocks that are made larger in small steps are copied in vain, those that double are not", () => {
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
    const { findings } = wasteFindings({ ...wasteOf({ stores: [] }), reallocations });
    expect(findings).toMatchObject([
      { kind: "moved", bytes: 20_000, operations: 400, wasted: 100, share: 0.25 },
    ]);
    expect(sentencesOf(findings[0]).says).toBe(
      "100 of the 400 reallocations of append (append.c:7) move their block: 19.5 KiB are copied to where there is more room.",
    );
  });

  it("copies of an inlined function are one, those of a library's function are told apart by who calls it", () => {
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

  it("fields that nobody reads in blocks of one kind from copies of one place are one", () => {
    const field = { name: "age", offset: 4, size: 4, reads: 0, writes: 40, dead: 40, silent: 0 };
    const site = (inlined: string, size: number) => ({
      ips: [
        { address: size, function: "make", file: "src/make.c", line: 3, inlined: [{ function: inlined }] },
      ],
      ...{ objects: 10, bytes: 10 * size, size, bytesDead: 40, fields: [field], varies: false },
    });
    const { findings } = wasteFindings(wasteOf({ objects: [site("a", 16), site("b", 16), site("c", 24)] }));
    expect(findings.map(({ operations, object }) => [operations, object?.site.objects])).toEqual([
      [20, 20],
      [10, 10],
    ]);
  });

  it("what a line wastes in many small parts is not lost", () => {
    const parts = Array.from({ length: 4 }, () =>
      store("set", 3, { nof_stores: 1, bytes_written: 8, dead_overwritten: 8 }),
    );
    const rest = store("work", 9, { nof_stores: 1000, bytes_written: 20_000, bytes_read: 20_000 });
    const { findings } = wasteFindings(wasteOf({ stores: [...parts, rest] }));
    expect(findings).toMatchObject([{ bytes: 32, operations: 4, share: 1 }]);
  });

  it("a site that overwrites itself is told apart", () => {
    const stores = [store("sum", 7, { nof_stores: 10, bytes_written: 80, dead_overwritten: 72 })];
    const pairs = [{ kind: "overwritten" as const, first: 0, second: 0, bytes: 72, operations: 9 }];
    expect(wasteFindings(wasteOf({ stores, pairs })).findings[0].isOwn).toBe(true);
  });

  it("dead bytes come before as many bytes loaded again", () => {
    const stores = [store("a", 1, { nof_stores: 10, bytes_written: 80, dead_overwritten: 40 })];
    const loads = [load("b", 2, { nof_loads: 20, nof_silent: 20, bytes_loaded: 80 })];
    expect(wasteFindings(wasteOf({ stores, loads })).findings.map(({ kind }) => kind)).toEqual([
      "dead",
      "redundant",
    ]);
  });

  it("fields that are written and never read show, where all blocks have one size", () => {
    const field = { offset: 4, size: 4, reads: 0, writes: 40, dead: 40, silent: 0 };
    const site = { ips: [{ address: 1 }], objects: 10, bytes: 160, size: 16, bytesDead: 40, fields: [field] };
    const { findings } = wasteFindings(wasteOf({ objects: [{ ...site, varies: false }] }));
    expect(findings).toMatchObject([
      {
        kind: "write-only",
        operations: 10,
        object: { fields: [{ offset: 4, size: 4 }], site: { objects: 10 } },
      },
    ]);
    expect(wasteFindings(wasteOf({ objects: [{ ...site, varies: true }] })).findings).toEqual([]);
    // Behind the offsets that are told apart, somebody may read.
    expect(wasteFindings(wasteOf({ objects: [{ ...site, varies: false, tail: true }] })).findings).toEqual(
      [],
    );
  });

  it("padding is no field that somebody should read", () => {
    const gap = { offset: 4, size: 4, reads: 0, writes: 40, dead: 40, silent: 0 };
    const type = { name: "pair", size: 16, by: "variable" as const };
    const site = { ips: [{ address: 1 }], objects: 10, bytes: 160, size: 16, varies: false, bytesDead: 40 };
    const { findings, folded } = wasteFindings(wasteOf({ objects: [{ ...site, type, fields: [gap] }] }));
    expect(findings).toEqual([]);
    expect(folded).toEqual([{ what: "padding between members of structs", bytes: 40, sites: 1 }]);
  });

  it("local variables in memory are folded, unless another function is part of it", () => {
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

  it("several accesses on one line are one finding", () => {
    const stores = [0, 16].map((more) => ({
      ...store("step", 7, { nof_stores: 10, bytes_written: 80, dead_overwritten: 40 }),
      ips: [{ address: 112 + more, function: "step", file: "src/step.c", line: 7 }],
    }));
    const { findings } = wasteFindings(wasteOf({ stores }));
    expect(findings).toMatchObject([{ bytes: 80, operations: 20, share: 0.5 }]);
  });
});

describe("rankings", () => {
  const file = wasteOf({
    stores: [
      store("a", 1, { nof_stores: 5, bytes_written: 20, dead_overwritten: 4, nof_silent: 5 }),
      store("b", 2, { nof_stores: 5, bytes_written: 20, dead_overwritten: 16 }),
    ],
    loads: [load("c", 3, { nof_loads: 9, nof_silent: 8 })],
  });
  const names = (rows: ReturnType<typeof rankWaste>) => rows.map(({ ips }) => ips[0].function);

  it("leave out sites without that kind of waste", () => {
    expect(names(rankWaste(file, "dead", "largest"))).toEqual(["b", "a"]);
    expect(names(rankWaste(file, "dead", "smallest"))).toEqual(["a", "b"]);
    expect(names(rankWaste(file, "silent", "largest"))).toEqual(["a"]);
    expect(rankWaste(file, "redundant", "largest")).toMatchObject([{ value: 8, whole: 9 }]);
  });
});
