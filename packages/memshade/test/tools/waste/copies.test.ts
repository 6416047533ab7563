import { describe, expect, it } from "vitest";
import { type Event, free, L, malloc, realloc, S, SYSR, text, WasteRun } from "./events.ts";

const copy = (name: string, to: number, from: number, bytes: number): Event =>
  text(`(call $${name} (i32.const ${to}) (i32.const ${from}) (i32.const ${bytes}))`, {
    [name]: "(param i32 i32 i32) (memory.copy (local.get 0) (local.get 1) (local.get 2))",
  });
/** A load and a store that do nothing but move four bytes. */
const move = (name: string, to: number, from: number): Event =>
  text(`(call $${name} (i32.const ${to}) (i32.const ${from}))`, {
    [name]: "(param i32 i32) (i32.store (local.get 0) (i32.load (local.get 1)))",
  });
const run = (...events: Event[]) => new WasteRun(events, { waste: { copies: true } });

describe("bytes that only copies read", () => {
  it("are dead with their copies, beside what is dead itself", () => {
    const of = run(S("A", 0, 8), copy("M", 100, 0, 8), L("B", 100, 4));
    expect(of.store("A")).toMatchObject({ bytes_read: 8, bytes_dead: 0, transitively_dead: 4 });
    expect(of.store("M")).toMatchObject({
      bytes_written: 8,
      bytes_read: 4,
      dead_exit: 4,
      transitively_dead: 0,
    });
  });

  it("are moved by a load and a store behind it as well", () => {
    const of = run(S("A", 0, 4), move("M", 100, 0), S("B", 100, 4), L("C", 100, 4));
    expect(of.store("A")).toMatchObject({ bytes_dead: 0, transitively_dead: 4 });
    expect(of.store("M")).toMatchObject({ dead_overwritten: 4, transitively_dead: 0 });
    expect(of.store("B").transitively_dead).toBe(0);
  });

  it("are not moved where the value goes elsewhere", () => {
    const sum = {
      M: "(param i32 i32) (i32.store (local.get 0) (i32.add (i32.load (local.get 1)) (i32.const 1)))",
    };
    const of = run(S("A", 0, 4), text("(call $M (i32.const 100) (i32.const 0))", sum));
    expect(of.store("A").transitively_dead).toBe(0);
  });

  it("live as long as any copy of a copy is read", () => {
    const chain = [S("A", 0, 4), copy("M", 100, 0, 4), copy("N", 200, 100, 4), S("B", 0, 4), S("B", 100, 4)];
    expect(run(...chain).store("A").transitively_dead).toBe(4);
    expect(run(...chain).store("M").transitively_dead).toBe(4);
    const read = run(...chain, L("C", 203, 1));
    expect(read.store("A").transitively_dead).toBe(3);
    expect(read.store("M").transitively_dead).toBe(3);
    expect(read.store("N")).toMatchObject({ bytes_read: 1, dead_exit: 3 });
  });

  it("count as read by whoever reads them beside the copy, before or behind it", () => {
    expect(run(S("A", 0, 4), L("B", 0, 4), copy("M", 100, 0, 4)).store("A").transitively_dead).toBe(0);
    expect(run(S("A", 0, 4), copy("M", 100, 0, 4), L("B", 0, 4)).store("A").transitively_dead).toBe(0);
    expect(run(S("A", 0, 4), copy("M", 100, 0, 4), SYSR(100, 4)).store("A").transitively_dead).toBe(0);
  });

  it("follow copies onto their own source", () => {
    const of = run(S("A", 0, 8), copy("M", 4, 0, 8), L("B", 4, 4));
    // Bytes 4–7 have the copies of 0–3 now and are read; those of 4–7 lie at 8–11 and are not.
    expect(of.store("A")).toMatchObject({ bytes_read: 8, transitively_dead: 4 });
    expect(of.store("M")).toMatchObject({ bytes_read: 4, dead_exit: 4 });
  });

  it("stay what they are when a reallocation moves them", () => {
    const of = run(
      ...[malloc(8, 8), S("A", 8, 8), copy("M", 512, 8, 8), realloc(8, 104, 16)],
      ...[L("B", 104, 4), free(104)],
    );
    expect(of.store("A")).toMatchObject({ bytes_read: 8, dead_deallocated: 0, transitively_dead: 4 });
  });

  it("are no data segments", () => {
    const of = new WasteRun([copy("M", 100, 0, 4), copy("N", 200, 100, 4)], {
      waste: { copies: true },
      fields: '(data (i32.const 0) "abcd")',
    });
    expect(of.store("M").transitively_dead).toBe(4);
    expect(of.file.stores).toHaveLength(2);
  });
});

describe("reallocations", () => {
  it("are counted by place: what blocks grow by, and what is copied to a new place", () => {
    const grow = (old: number, to: number, size: number): Event =>
      text(`(global.set $next (i32.const ${to})) (call $grow (i32.const ${old}) (i32.const ${size}))`, {
        grow: "(param i32 i32) (drop (call $realloc (local.get 0) (local.get 1)))",
      });
    const events = [malloc(8, 8), grow(8, 8, 16), grow(8, 104, 24), grow(104, 104, 8), grow(104, 208, 4)];
    const { file } = new WasteRun([...events, realloc(0, 304, 4)], { waste: { pairs: true } });
    expect(file.reallocations).toMatchObject([
      { ips: [{ function: "grow" }], calls: 4, grown: 16, moves: 2, moved: 20 },
    ]);
  });
});
