import { describe, expect, it } from "vitest";
import { type Event, malloc, realloc, text, WasteRun } from "./events.ts";

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
