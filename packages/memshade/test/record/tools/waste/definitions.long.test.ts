import { describe, expect, it } from "vitest";
import type { WasteOptions } from "../../../../src/record/tools/index.ts";
import { type Event, free, L, malloc, realloc, S, SYSR, SYSW, text, WasteRun } from "./events.ts";

const ENGINES: Readonly<Record<string, WasteOptions>> = {
  "without contexts": {},
  "more stores than ids": { mostIds: 1 },
  "frames of contexts": { contexts: true },
  "frames of contexts, more stores than ids": { contexts: true, mostIds: 1 },
  "writers and readers": { pairs: true },
};

/** `memory.copy` by `M`, `memory.fill` by `F`. */
const copy = (to: number, from: number, bytes: number, name = "M"): Event =>
  text(`(call $${name} (i32.const ${to}) (i32.const ${from}) (i32.const ${bytes}))`, {
    [name]: "(param i32 i32 i32) (memory.copy (local.get 0) (local.get 1) (local.get 2))",
  });
const fill = (at: number, value: number, bytes: number): Event =>
  text(`(call $F (i32.const ${at}) (i32.const ${value}) (i32.const ${bytes}))`, {
    F: "(param i32 i32 i32) (memory.fill (local.get 0) (local.get 1) (local.get 2))",
  });
const init = (at: number, from: number, bytes: number): Event =>
  text(`(call $I (i32.const ${at}) (i32.const ${from}) (i32.const ${bytes}))`, {
    I: "(param i32 i32 i32) (memory.init $passive (local.get 0) (local.get 1) (local.get 2))",
  });
/** A function of one instruction with an address. */
const at = (name: string, address: number, instruction: string): Event =>
  text(`(call $${name} (i32.const ${address}))`, { [name]: `(param i32) ${instruction}` });

for (const [engine, waste] of Object.entries(ENGINES)) {
  const run = (events: readonly Event[], fields = "", pages = 1) =>
    new WasteRun(events, { waste, fields, pages });
  /** Only precise mode compares each byte of a store. */
  const same = (bytes: number) => (waste.pairs === true ? { bytes_same: bytes } : {});

  describe(`definitions, ${engine}`, () => {
    it("accesses that cross pages and are not aligned are no special case", () => {
      const of = run([S("A", 65533, 8), L("B", 65535, 4), L("B", 65535, 4), S("C", 65534, 2)], "", 2);
      expect(of.store("A")).toMatchObject({
        bytes_written: 8,
        bytes_read: 4,
        dead_overwritten: 1,
        dead_exit: 3,
      });
      expect(of.load("B")).toMatchObject({ nof_loads: 2, nof_silent: 1, bytes_loaded: 8 });
      expect(of.store("C")).toMatchObject({ bytes_written: 2, dead_exit: 2 });
    });

    it("three stores into one take what they cover", () => {
      const of = run([S("A", 0, 8), S("B", 1, 2), S("C", 2, 4), L("D", 0, 8)]);
      expect(of.store("A")).toMatchObject({ dead_overwritten: 5, bytes_read: 3 });
      expect(of.store("B")).toMatchObject({ dead_overwritten: 1, bytes_read: 1 });
      expect(of.store("C")).toMatchObject({ dead_overwritten: 0, bytes_read: 4 });
    });

    it("a copy onto its own source reads all of it first, in both directions", () => {
      for (const [to, from] of [
        [4, 0],
        [0, 4],
      ]) {
        const of = run([S("A", 0, 8), S("B", 8, 4), copy(to, from, 8), L("C", to, 8)]);
        // Bytes 0–7 or 4–11 are read, then stored again.
        expect(of.store("A")).toMatchObject({
          bytes_written: 8,
          bytes_read: from === 0 ? 8 : 4,
          dead_overwritten: from === 0 ? 0 : 4,
        });
        expect(of.store("B")).toMatchObject({
          bytes_read: from === 0 ? 0 : 4,
          dead_overwritten: from === 0 ? 4 : 0,
        });
        expect(of.store("M")).toMatchObject({
          nof_stores: 1,
          bytes_written: 8,
          bytes_read: 8,
          class: "copy",
        });
        expect(of.load("M")).toMatchObject({ nof_loads: 1, bytes_loaded: 8, nof_silent: 0 });
      }
    });

    it("a copy of what is there already is silent, one of nothing is a store of nothing", () => {
      const of = run([S("A", 0, 8, 7), copy(64, 0, 8), copy(64, 0, 8), copy(0, 0, 0)]);
      expect(of.store("M")).toMatchObject({
        nof_stores: 3,
        bytes_written: 16,
        nof_silent: 1,
        bytes_silent: 8,
        dead_overwritten: 8,
        dead_exit: 8,
        // Seven bytes were zero at first, and seven zeros were stored.
        ...same(15),
      });
      expect(of.load("M")).toMatchObject({ nof_loads: 3, bytes_loaded: 16, nof_silent: 1 });
    });

    it("a fill is one store", () => {
      const of = run([S("A", 0, 4, 0x01010101), fill(0, 1, 8), fill(0, 1, 8), fill(0, 257, 4)]);
      expect(of.store("F")).toMatchObject({
        nof_stores: 3,
        bytes_written: 20,
        nof_silent: 2,
        bytes_silent: 12,
        ...same(16),
        dead_overwritten: 12,
        dead_exit: 8,
        class: "fill",
      });
      expect(of.store("A")).toMatchObject({ dead_overwritten: 4 });
    });

    it("memory.init is a store of the segment's bytes", () => {
      const of = run([init(0, 0, 4), init(0, 0, 4), init(2, 0, 2), L("B", 0, 4)], '(data $passive "abcd")');
      expect(of.store("I")).toMatchObject({
        nof_stores: 3,
        bytes_written: 10,
        nof_silent: 1,
        bytes_silent: 4,
        ...same(4),
        dead_overwritten: 6,
        bytes_read: 4,
      });
    });

    it("memory.init of many pieces is compared to its end", () => {
      const long = `(data $passive "${"x".repeat(4999)}y")`;
      const of = run([init(8, 0, 5000), init(8, 0, 5000), S("A", 5007, 1, 0), init(8, 0, 5000)], long);
      expect(of.store("I")).toMatchObject({ nof_stores: 3, nof_silent: 1, ...same(9999) });
    });

    it("vector lanes touch their own bytes only", () => {
      const of = run([
        S("A", 0, 16, 1),
        at("B", 0, "(drop (v128.load8_splat (local.get 0)))"),
        at("C", 4, "(drop (v128.load32_zero (local.get 0)))"),
        at("D", 8, "(drop (v128.load16x4_u (local.get 0)))"),
        at("E", 0, "(v128.store32_lane 1 (local.get 0) (v128.const i32x4 9 8 7 6))"),
      ]);
      expect(of.store("A")).toMatchObject({ bytes_written: 16, bytes_read: 13, dead_overwritten: 3 });
      expect(of.load("B").bytes_loaded).toBe(1);
      expect(of.load("C").bytes_loaded).toBe(4);
      expect(of.load("D").bytes_loaded).toBe(8);
      expect(of.store("E")).toMatchObject({ bytes_written: 4, dead_exit: 4, ...same(3) });
    });

    it("a read-modify-write loads, then stores", () => {
      const add = (by: number) =>
        text(`(call $C (i32.const ${by}))`, {
          C: "(param i32) (drop (i32.atomic.rmw.add (i32.const 0) (local.get 0)))",
        });
      const of = run([S("A", 0, 4, 5), add(1), add(0), L("B", 0, 4)]);
      expect(of.store("A").bytes_read).toBe(4);
      expect(of.load("C")).toMatchObject({ nof_loads: 2, nof_silent: 0, class: "atomic" });
      expect(of.store("C")).toMatchObject({
        nof_stores: 2,
        bytes_written: 8,
        bytes_read: 8,
        nof_silent: 1,
        class: "atomic",
      });
    });

    it("a narrow compare-exchange compares as many bits as it stores", () => {
      const exchange = at(
        "C",
        0,
        "(drop (i32.atomic.rmw8.cmpxchg_u (local.get 0) (i32.const 0x105) (i32.const 6)))",
      );
      const of = run([S("A", 0, 4, 5), exchange, exchange]);
      expect(of.load("C")).toMatchObject({ nof_loads: 2, bytes_loaded: 2 });
      expect(of.store("C")).toMatchObject({ nof_stores: 1, bytes_written: 1, bytes_read: 1 });
      expect(of.store("A")).toMatchObject({ bytes_read: 1, dead_exit: 3 });
    });

    it("what traps has not happened", () => {
      const of = new WasteRun(
        [S("A", 0, 4), at("C", 2, "(drop (i32.atomic.rmw.add (local.get 0) (i32.const 1)))")],
        { waste, traps: true },
      );
      expect(of.file.loads).toEqual([]);
      expect(of.file.stores).toHaveLength(1);
      const beyond = new WasteRun([S("A", 0, 4), copy(0, 65530, 8)], { waste, traps: true });
      expect(beyond.file.loads).toEqual([]);
      expect(beyond.file.totals).toMatchObject({ stores: 1, bytesWritten: 4 });
      const short = new WasteRun([init(0, 2, 4)], { waste, traps: true, fields: '(data $passive "abcd")' });
      expect(short.file.stores).toEqual([]);
    });

    it("grown memory is zero, and valid", () => {
      const of = run([
        text("(drop (memory.grow (i32.const 1)))"),
        L("A", 65536, 4),
        L("A", 65536, 4),
        S("B", 65536, 8, 0),
        S("B", 65540, 8, 1),
      ]);
      expect(of.load("A")).toMatchObject({ nof_loads: 2, nof_silent: 1 });
      expect(of.store("B")).toMatchObject({
        nof_stores: 2,
        nof_silent: 1,
        dead_overwritten: 4,
        dead_exit: 12,
      });
    });

    it("what a data segment wrote is nobody's loss", () => {
      const of = run([S("A", 0, 4, 1), L("B", 4, 4)], '(data (i32.const 0) "12345678")');
      expect(of.file.totals).toMatchObject({ bytesWritten: 4, deadOverwritten: 0, deadExit: 4 });
      expect(of.load("B").nof_silent).toBe(0);
    });

    it("a block that shrinks where it is gives up its end", () => {
      const of = run([malloc(8, 8), S("A", 8, 8), realloc(8, 8, 4), L("B", 8, 4), S("C", 12, 4)]);
      expect(of.store("A")).toMatchObject({ dead_deallocated: 4, bytes_read: 4 });
      expect(of.store("C")).toMatchObject({ dead_exit: 4, nof_silent: 0 });
    });

    it("a block that grows where it is keeps its state, and its new end is invalid", () => {
      const of = run([malloc(8, 4), S("A", 8, 4, 0), realloc(8, 8, 8), S("B", 8, 8, 0), S("B", 8, 8, 0)]);
      expect(of.store("A")).toMatchObject({ dead_overwritten: 4 });
      expect(of.store("B")).toMatchObject({ nof_stores: 2, nof_silent: 1, ...same(12) });
    });

    it("a reallocation to nothing frees, and null is no block", () => {
      const of = run([
        malloc(8, 4),
        S("A", 8, 4),
        realloc(8, 0, 0),
        free(0),
        S("B", 0, 4),
        realloc(0, 32, 4),
      ]);
      expect(of.store("A")).toMatchObject({ dead_deallocated: 4 });
      expect(of.store("B")).toMatchObject({ dead_exit: 4 });
    });

    it("the host touches what it says, and not a byte more", () => {
      const of = run([S("A", 0, 8), SYSR(2, 3), SYSW("K", 4, 2), L("B", 0, 8), L("B", 4, 2 + 2)].slice(0, 4));
      expect(of.store("A")).toMatchObject({ bytes_read: 7, dead_overwritten: 1, bytes_dead: 1 });
      expect(of.store("K")).toMatchObject({ bytes_written: 2, bytes_read: 2, nof_silent: 0 });
      expect(of.load("B")).toMatchObject({ nof_loads: 1, nof_silent: 0 });
    });

    it("an import that is not known makes the host opaque, and is named", () => {
      const of = new WasteRun(
        [S("A", 0, 4), text("(call $paint)"), S("A", 0, 4), S("A", 0, 4), L("B", 0, 4)],
        { waste, imports: { "canvas.paint": "" } },
      );
      expect(of.store("A")).toMatchObject({ host_assumed_read: 4, dead_overwritten: 4, bytes_read: 8 });
      expect(of.file.notTracked.join()).toContain("(imports: canvas.paint)");
    });

    it("bytes of a block that nobody stored to stay invalid, also where a host may fill them unseen", () => {
      const events = [malloc(8, 16), L("B", 8, 4), L("B", 8, 4), L("C", 10, 4), S("D", 8, 4, 0)];
      const imports = { "canvas.paint": "" };
      for (const of of [
        run(events),
        new WasteRun([text("(call $paint)"), ...events, text("(call $paint)")], { waste, imports }),
      ]) {
        expect(of.load("B")).toMatchObject({ nof_loads: 2, nof_silent: 0 });
        expect(of.load("C")).toMatchObject({ nof_loads: 1, nof_silent: 0 });
        expect(of.store("D")).toMatchObject({ nof_silent: 0 });
      }
    });

    it("what an unseen host refills is never read in vain", () => {
      const paint = text("(call $paint)");
      const of = new WasteRun(
        [malloc(8, 16), paint, L("B", 8, 8), paint, L("B", 8, 8), paint, L("B", 8, 8)],
        {
          waste,
          imports: { "canvas.paint": "" },
        },
      );
      expect(of.load("B")).toMatchObject({ nof_loads: 3, nof_silent: 0 });
    });

    it("memories other than the first are named, and what comes from them is a store", () => {
      const copy = "(memory.copy $main $other (i32.const 0) (i32.const 8) (i32.const 4))";
      const back = "(memory.copy $other $main (i32.const 0) (i32.const 8) (i32.const 4))";
      const events = [
        text("(call $M)", { M: copy }),
        L("B", 0, 4),
        S("A", 8, 4),
        text("(call $N)", { N: back }),
        text("(call $O)", { O: "(i32.store $other (i32.const 0) (i32.const 1))" }),
        S("A", 8, 4),
      ];
      const of = new WasteRun(events, {
        waste,
        fields: '(memory $other (export "scratch") 1) (memory 1)',
      });
      expect(of.file.notTracked.join()).toContain(
        "Only memory 0 of the module's 3 memories is recorded: accesses to memory 1 (scratch), memory 2 are not counted.",
      );
      expect(of.store("M")).toMatchObject({ nof_stores: 1, bytes_written: 4, bytes_read: 4 });
      expect(of.store("A")).toMatchObject({ nof_stores: 2, bytes_read: 4, dead_exit: 4 });
      expect(of.file.stores.some(({ ips }) => ips[0].function === "O")).toBe(false);
    });

    it("what comes from another memory is compared with what is there, in pieces however long it is", () => {
      const copyIn = (bytes: number) =>
        text(`(call $M (i32.const ${bytes}))`, {
          M: "(param i32) (memory.copy $main $other (i32.const 3) (i32.const 9) (local.get 0))",
        });
      const fields = `(memory $other 1)`;
      const fillOther = text("(call $other)", {
        other: "(memory.fill $other (i32.const 0) (i32.const 7) (i32.const 6000))",
      });
      for (const bytes of [1, 3, 7, 8, 5000]) {
        const events = [fillOther, copyIn(bytes), copyIn(bytes), S("A", 3 + bytes - 1, 1, 0), copyIn(bytes)];
        const of = new WasteRun(events, { waste, fields });
        expect(of.store("M")).toMatchObject({
          nof_stores: 3,
          nof_silent: 1,
          bytes_silent: bytes,
          ...same(bytes + bytes - 1),
        });
      }
      const beyond = new WasteRun([fillOther, copyIn(65530)], { waste, fields, traps: true });
      expect(beyond.file.stores).toEqual([]);
    });

    it("small copies and fills look at the validity of their own bytes", () => {
      for (let bytes = 1; bytes <= 16; bytes++) {
        const enter = text("(global.set $__stack_pointer (i32.const 4080))");
        const events = [enter, copy(4080, 64, bytes), copy(4080, 64, bytes), fill(4080, 0, bytes)];
        const of = run(events);
        expect(of.store("M")).toMatchObject({ nof_stores: 2, nof_silent: 1 });
        expect(of.store("F")).toMatchObject({ nof_silent: 1 });
      }
    });

    it("a host cannot read a memory that it cannot reach", () => {
      const of = new WasteRun([S("A", 0, 4), text("(call $paint)"), S("A", 0, 4)], {
        waste,
        imports: { "canvas.paint": "" },
        isHidden: true,
      });
      expect(of.store("A")).toMatchObject({ host_assumed_read: 0, dead_overwritten: 4 });
    });
  });
}
