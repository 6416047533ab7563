import { describe, expect, it } from "vitest";
import { buildLevels } from "../../../../src/profile/model/working-set/working-set-series.ts";
import { instrument, type WorkingSetLayout } from "../../../../src/record/tools/index.ts";
import { WorkingSetReader } from "../../../../src/record/tools/working-set/read/working-set-session.ts";
import { wat } from "../../../support/assemble.ts";

const INTERVAL = 100;

/** Calls `run` of a module, plain and instrumented, and returns the intervals of the latter. */
function intervalsOf(functions: string, calls: readonly number[]) {
  const module = wat(`(module (memory (export "memory") 4 4) ${functions})`);
  const { bytes, info } = instrument(module, { tools: ["workingset"], workingset: { interval: INTERVAL } });
  const results = [module, bytes].map((variant) => {
    const instance = new WebAssembly.Instance(new WebAssembly.Module(variant as BufferSource));
    const run = instance.exports.run as (operand: number) => number;
    return { instance, values: calls.map((operand) => run(operand)) };
  });
  expect(results[1].values).toEqual(results[0].values);
  const memory = results[1].instance.exports["memshade.workingset"] as WebAssembly.Memory;
  const layout = info.toolLayouts?.workingset as WorkingSetLayout;
  const { records, lastIsPartial, duration } = new WorkingSetReader(memory, layout).read();
  const [{ start, end, counts }] = buildLevels(records, lastIsPartial);
  return { start, end, lines: counts.lines as number[], duration, values: results[0].values };
}

const BRANCHING = `(func (export "run") (param $n i32) (result i32) (local $x i32) (local $sum i32)
  (block $out (block $even (loop $next
    (br_if $out (i32.eqz (local.get $n)))
    (local.set $n (i32.sub (local.get $n) (i32.const 1)))
    (local.set $x (i32.and (i32.mul (local.get $n) (i32.const 40503)) (i32.const 0x1fffc)))
    (local.set $sum (i32.add (local.get $sum) (i32.load (local.get $x))))
    (i32.store (local.get $x) (local.get $n))
    (block $skip (block $stop
      (br_table $skip $next $skip $stop (i32.and (local.get $n) (i32.const 3))))
      (br_if $even (i32.eq (local.get $n) (i32.const 77779))))
    (br $next)))
    (return (i32.const -1)))
  (local.get $sum))`;

describe("intervals end", () => {
  it("inside of a loop that calls nothing, soon after they are due", () => {
    const { start, end, duration } = intervalsOf(BRANCHING, [1000, 0, 77_780]);
    expect(duration).toBe(2 * (1000 + 1));
    expect(end.length).toBeGreaterThanOrEqual(20);
    for (let i = 0; i < end.length - 1; i++) {
      expect(end[i] - start[i]).toBeGreaterThanOrEqual(INTERVAL - 2);
      expect(end[i] - start[i]).toBeLessThanOrEqual(INTERVAL + 2);
    }
  });

  it("where a recursive function begins", () => {
    const { end, duration } = intervalsOf(
      `(func $run (export "run") (param $n i32) (result i32)
        (i32.store (i32.shl (local.get $n) (i32.const 6)) (i32.const 1))
        (if (result i32) (local.get $n)
          (then (i32.add (call $run (i32.sub (local.get $n) (i32.const 1))) (i32.const 1)))
          (else (i32.const 0))))`,
      [450],
    );
    expect(duration).toBe(451);
    expect(end).toEqual([100, 200, 300, 400, 451]);
  });

  it("inside of a walk through memory", () => {
    const walk = (access: string): string =>
      `(local.set $at (i32.const 0)) (loop $next ${access}
        (br_if $next (i32.ne (local.tee $at (i32.add (local.get $at) (i32.const 64))) (local.get $n))))`;
    const { end, lines } = intervalsOf(
      `(func (export "run") (param $n i32) (result i32) (local $at i32) (local $sum i32)
        ${walk("(i32.store offset=4096 (local.get $at) (local.get $at))")}
        ${walk("(local.set $sum (i32.add (local.get $sum) (i32.load offset=4096 (local.get $at))))")}
        (local.get $sum))`,
      [64 * 320],
    );
    expect(end).toEqual([100, 200, 300, 400, 500, 600, 640]);
    expect(lines).toEqual([100, 100, 100, 100, 100, 100, 40]);
  });

  it("where the host enters, if nothing goes on for long inside", () => {
    const { end, lines } = intervalsOf(
      `(func (export "run") (param $n i32) (result i32) (i32.load (i32.shl (local.get $n) (i32.const 6))))`,
      Array.from({ length: 250 }, (_, i) => i),
    );
    expect(end).toEqual([100, 200, 250]);
    expect(lines).toEqual([100, 100, 50]);
  });
});

describe("a place that each trip of a loop begins with", () => {
  it("belongs to every interval of the loop and to none before it", () => {
    const { start, end, lines } = intervalsOf(
      `(func (export "run") (param $n i32) (result i32) (local $sum i32)
        (if (i32.eqz (local.get $n)) (then (return (i32.load offset=64 (i32.const 0)))))
        (loop $next
          (local.set $sum (i32.add (local.get $sum) (i32.load offset=4096 (local.get $n))))
          (if (i32.and (local.get $sum) (i32.const 1)) (then (i32.store (i32.const 128) (i32.const 1))))
          (br_if $next (i32.lt_u (local.tee $sum (i32.add (local.get $sum) (i32.const 2))) (i32.const 600))))
        (local.get $sum))`,
      [...Array(99).fill(0), 8, 0],
    );
    expect(end.at(-1)).toBe(99 + 300 + 1);
    expect(start[0]).toBe(0);
    // Only the constant line, then both, then only the loop's line.
    expect(lines.slice(1, -1)).toEqual(lines.slice(1, -1).map(() => 1));
    expect(lines[0]).toBe(2);
  });
});
