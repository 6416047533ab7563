import { describe, expect, it } from "vitest";
import { connectHost } from "../../../../src/record/host/instance/host-calls.ts";
import { instrument, type WorkingSetLayout } from "../../../../src/record/tools/index.ts";
import { Control } from "../../../../src/record/tools/working-set/layout.ts";
import { WorkingSetReader } from "../../../../src/record/tools/working-set/read/working-set-session.ts";
import { wat } from "../../../support/assemble.ts";
import { Choices } from "../../../support/random-module.ts";

const FUNCTIONS = 5;
const FUEL = 300;
/** The program counts its accesses itself: this stands behind each. */
const COUNT = "(global.set $accesses (i32.add (global.get $accesses) (i32.const 1)))";
const LOCALS = ["", "(local i32)", "(local i32 i64)", "(local f64 i32)", "(local i32 i32 v128)"];

/** Random functions of nested blocks, loops, branches and calls that read single bytes. Each call terminates. */
class ControlFlow {
  readonly #choices: Choices;
  #label = 0;
  /** Loops around the statement: only their own branches go back to them. */
  #loops = 0;

  constructor(seed: number) {
    this.#choices = new Choices(seed);
  }

  module(): string {
    const functions = Array.from(
      { length: FUNCTIONS },
      (_, i) => `(func $f${i} ${LOCALS[i]} ${this.#body([], 4)}) (func (export "f${i}") (call $f${i}))`,
    );
    return `(module (memory 1 1) (global $fuel (mut i32) (i32.const 0))
      (global $accesses (export "accesses") (mut i32) (i32.const 0)) (table 2 funcref) (elem (i32.const 0) $f0 $f1)
      (type $t (func)) (func (export "refuel") (global.set $fuel (i32.const ${FUEL})))
      (func $burn (result i32) (global.set $fuel (i32.sub (global.get $fuel) (i32.const 1)))
        (i32.le_s (global.get $fuel) (i32.const 0)))
      (func $leaf (if (i32.and (global.get $fuel) (i32.const 1)) (then (drop (i32.load8_u (i32.const 9)) ${COUNT}))))
      (func $branchyLeaf
        (if (i32.and (global.get $fuel) (i32.const 1)) (then (memory.fill (i32.const 64) (i32.const 0) (i32.const 8)) ${COUNT}))
        (if (i32.and (global.get $fuel) (i32.const 2)) (then (drop (i32.load8_u (i32.const 9)) ${COUNT}) (return)))
        (i32.store8 (i32.const 17) (i32.load8_u (i32.const 16)) ${COUNT}) ${COUNT})
      (global $sum (mut i64) (i64.const 0)) (func (export "sum") (result i64) (global.get $sum))
      (func $early (param $a i32) (param $b f64) (result i64) (local $c i32) (local $d i64)
        (if (i32.and (local.get $a) (i32.const 4))
          (then (return (i64.load8_u (local.get $a)) ${COUNT}) (drop (f32.const 1)) (call $leaf)))
        (local.set $d (i64.extend_i32_u (i32.add (local.get $c) (i32.load8_u (i32.const 3)) ${COUNT})))
        (if (i32.and (local.get $a) (i32.const 2)) (then (br 1 (i64.add (local.get $d) (i64.const 1)))))
        (drop (br_if 0 (i64.const 7) (i32.and (local.get $a) (i32.const 1))))
        (local.set $c (i32.const 1))
        (call $leaf)
        (i64.add (local.get $d) (i64.trunc_f64_s (local.get $b))))
      (func $pair (param i32) (result i32 i64) (i32.load8_u (local.get 0)) ${COUNT} (call $early (local.get 0) (f64.const 2)))
      (func $sums (param i32) (local f64 i64)
        (local.set 1 (f64.convert_i32_u (i32.load8_u (i32.const 40)) ${COUNT}))
        (drop (call $pair (local.get 0)) (local.set 2))
        (global.set $sum (i64.add (i64.mul (global.get $sum) (i64.const 3)) (local.get 2)))
        (global.set $sum (i64.add (global.get $sum) (call $early (local.get 0) (local.get 1)))))
      ${functions.join("\n")})`;
  }

  #body(labels: readonly string[], depth: number): string {
    const length = 1 + this.#choices.below(depth + 1);
    return Array.from({ length }, () => this.#statement(labels, depth)).join(" ");
  }

  #inLoop(labels: readonly string[], depth: number): string {
    this.#loops++;
    const body = this.#body(labels, depth);
    this.#loops--;
    return body;
  }

  /** True now and then, and always once the fuel is spent. */
  #condition(): string {
    return `(i32.or (call $burn) (i32.eqz (i32.rem_u (global.get $fuel) (i32.const ${2 + this.#choices.below(5)}))))`;
  }

  #statement(labels: readonly string[], depth: number): string {
    const choices = this.#choices;
    const kind = choices.below(depth > 0 ? 13 : 9);
    const inside = (label: string) => this.#body([...labels, label], depth - 1);
    const label = `$l${this.#label++}`;
    const outermost = labels.length + this.#loops;
    const target = labels.length > 0 ? choices.of(labels) : undefined;
    switch (kind) {
      case 0:
      case 1:
        return `(drop (i32.load8_u (i32.const ${choices.below(4096)})) ${COUNT})`;
      case 2:
        return target === undefined ? "(call $leaf)" : `(br_if ${target} ${this.#condition()})`;
      case 3:
        return `(if ${this.#condition()} (then (return)))`;
      case 4:
        return `(if (call $burn) (then (return))) ${
          choices.chance(30)
            ? "(call_indirect (type $t) (i32.and (global.get $fuel) (i32.const 1)))"
            : `(call $f${choices.below(FUNCTIONS)})`
        }`;
      case 5:
        return `(call ${choices.of(["$leaf", "$branchyLeaf"])})`;
      case 6:
        return "(call $sums (i32.and (global.get $fuel) (i32.const 1023)))";
      case 7:
        return `(br_if ${outermost} ${this.#condition()})`;
      case 8:
        return `(if ${this.#condition()} (then (br ${outermost + 1}) (drop (call $early (i32.const 1) (f64.const 1))) (call $leaf)))`;
      case 9:
        return `(block ${label} ${inside(label)})`;
      case 10:
        return `(if ${label} ${this.#condition()} (then ${inside(label)}) (else ${inside(label)}))`;
      case 11:
        return `(loop ${label} ${this.#inLoop(labels, depth - 1)} (br_if ${label} (i32.eqz ${this.#condition()})))`;
      default:
        return `(block ${label} (br_table ${label} ${target ?? label} ${label} (global.get $fuel)) ${inside(label)})`;
    }
  }
}

function callAll(exports: WebAssembly.Exports): void {
  for (let i = 0; i < FUNCTIONS; i++) {
    (exports.refuel as () => void)();
    (exports[`f${i}`] as () => void)();
  }
}

/** Runs a module; returns the clock and the number of accesses at each end of an interval. */
function clockOf(text: string) {
  const { bytes, info } = instrument(wat(text), {
    tools: ["workingset"],
    workingset: { interval: 7 },
  });
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes as BufferSource));
  const { workingset: memory } = connectHost(exports, info, { flush() {} });
  const layout = info.toolLayouts?.workingset as WorkingSetLayout;
  if (memory === undefined) throw new Error("nothing was woven in");
  const view = new DataView(memory.buffer);
  const accesses = () => (exports.accesses as WebAssembly.Global<"i32">).value;
  const ends: { clock: number; accesses: number }[] = [];
  // The module asks for the call stack at the end of an interval; the host reads it from an error's text.
  const note = Error.prepareStackTrace;
  const limit = Object.getOwnPropertyDescriptor(Error, "stackTraceLimit");
  Object.defineProperty(Error, "stackTraceLimit", {
    configurable: true,
    get: () => 10,
    set: () => {
      const clock = Number(view.getBigUint64(layout.control + Control.total, true));
      if (ends.at(-1)?.clock !== clock) ends.push({ clock, accesses: accesses() });
    },
  });
  try {
    callAll(exports);
  } finally {
    Object.defineProperty(Error, "stackTraceLimit", limit as PropertyDescriptor);
    Error.prepareStackTrace = note;
  }
  const sum = (exports.sum as () => bigint)();
  return {
    sum,
    ends,
    duration: new WorkingSetReader(memory, layout).read().duration,
    accesses: accesses(),
  };
}

describe("virtual time", () => {
  it("is the number of accesses at the end of each interval and of the run, whatever the control flow", () => {
    let total = 0;
    let intervals = 0;
    for (let seed = 1; seed <= 50; seed++) {
      const text = new ControlFlow(seed).module();
      const { sum, ends, duration, accesses } = clockOf(text);
      const plain = new WebAssembly.Instance(new WebAssembly.Module(wat(text) as BufferSource)).exports;
      callAll(plain);
      expect(sum, `seed ${seed}\n${text}`).toBe((plain.sum as () => bigint)());
      for (const end of ends) expect(end.clock, `seed ${seed}\n${text}`).toBe(end.accesses);
      expect(duration, `seed ${seed}\n${text}`).toBe(accesses);
      total += accesses;
      intervals += ends.length;
    }
    expect(total).toBeGreaterThan(3000);
    expect(intervals).toBeGreaterThan(150);
  });
});
