import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { binaryenTool, wat, watByBinaryen } from "../../../support/assemble.ts";
import { BUMP, Profiled, type ProfiledOptions } from "../../../support/profiled.ts";
import { Wasted } from "../../../support/wasted.ts";

const DEPTHS = 6;

/** Next action of a function, given by the host. */
const Step = {
  Return: 0,
  Allocate: 1,
  Call: 2,
  CallThroughTable: 3,
  CallOut: 4,
  CatchCall: 5,
  CatchCallOut: 6,
  Throw: 7,
  Trap: 8,
} as const;

type Handler = (body: string) => string;
const legacyHandler: Handler = (body) => `(try (do ${body}) (catch_all))`;
const newHandler: Handler = (body) => `(block $handler (try_table (catch_all $handler) ${body}))`;

/** Functions f0 … that act on the host's numbers; each calls the next one directly, through a table, or through the host. */
function moduleText(handled: Handler): string {
  const step = (number: number, body: string) =>
    `(if (i32.eq (local.get $x) (i32.const ${number})) (then ${body}))`;
  const functions = Array.from({ length: DEPTHS }, (_, i) => {
    const last = i + 1 === DEPTHS;
    const call = last ? "" : `(call $f${i + 1})`;
    const out = last ? "" : `(call $out (i32.const ${i + 1}))`;
    return `(func $f${i} (export "f${i}") (type $t) (local $x i32)
      (loop $again
        (local.set $x (call $next (i32.const ${i})))
        ${step(Step.Allocate, "(drop (call $malloc (i32.const 8))) (i32.store (i32.const 8) (i32.const 1))")}
        ${step(Step.Call, call)}
        ${step(Step.CallThroughTable, last ? "" : `(call_indirect (type $t) (i32.const ${i + 1}))`)}
        ${step(Step.CallOut, out)}
        ${step(Step.CatchCall, handled(call))}
        ${step(Step.CatchCallOut, handled(out))}
        ${step(Step.Throw, "(throw $exception)")}
        ${step(Step.Trap, "(unreachable)")}
        (br_if $again (i32.ne (local.get $x) (i32.const ${Step.Return})))))`;
  });
  return `(module (type $t (func))
    (import "host" "next" (func $next (param i32) (result i32))) (import "host" "out" (func $out (param i32)))
    (memory 32 32) (tag $exception) (table ${DEPTHS} funcref)
    (elem (i32.const 0) func ${functions.map((_, i) => `$f${i}`).join(" ")})
    ${BUMP} ${functions.join("\n")})`;
}

/** Follows the calls of a module by its allocations or its stores: one per step. */
type Follower = (module: Uint8Array, options: ProfiledOptions) => Pick<Profiled, "call" | "stacks">;
const FOLLOWERS: Readonly<Record<string, Follower>> = {
  allocations: (module, options) => new Profiled(module, options),
  stores: (module, options) => new Wasted(module, options),
  "stores beside allocations": (module, options) =>
    new Wasted(module, { ...options, options: { tools: ["heap", "waste"] } }),
};

/** Runs a module by a script of numbers. Expected stacks follow from the point where the host entered. */
function run(module: Uint8Array, follow: Follower, script: readonly number[]): void {
  let at = 0;
  const draw = (bound: number): number => (at < script.length ? script[at++] % bound : 0);
  const attempt = (action: () => void): void => {
    try {
      action();
    } catch {
      // A trap, or an exception of the module or of the host.
    }
  };
  let outermost = 0;
  const expected: Record<string, number> = {};
  const profiled = follow(module, {
    imports: (exports) => ({
      host: {
        next: (depth: number) => {
          const step = draw(Step.Trap + 1);
          if (step === Step.Allocate) {
            const path = Array.from({ length: depth - outermost + 1 }, (_, i) => `f${depth - i}`).join(" < ");
            expected[path] = (expected[path] ?? 0) + 1;
          }
          return step;
        },
        out: (depth: number) => {
          for (let times = draw(3); times >= 0; times--) {
            const how = draw(4);
            if (how === 0) exports()[`f${depth}`]();
            else if (how < 3) attempt(() => exports()[`f${depth}`]());
            else if (draw(2) === 0) throw new Error("of the host");
          }
        },
      },
    }),
  });
  while (at < script.length) {
    outermost = draw(DEPTHS);
    attempt(() => profiled.call(`f${outermost}`));
  }
  expect(profiled.stacks()).toEqual(expected);
}

const scripts = fc.array(fc.nat(1000), { maxLength: 300, size: "max" });

for (const [events, follow] of Object.entries(FOLLOWERS))
  describe(`calling contexts of ${events} when frames are unwound by traps and exceptions`, () => {
    const check = (module: Uint8Array): void =>
      fc.assert(
        fc.property(scripts, (script) => run(module, follow, script)),
        // A new instance of the waste tool takes longer.
        { numRuns: events === "allocations" ? 40 : 12 },
      );

    it("are those of the frames that are left, with legacy handlers in between", () => {
      check(wat(moduleText(legacyHandler)));
    });

    it.skipIf(binaryenTool("wasm-as") === undefined)("and with handlers of the newer kind", () => {
      check(watByBinaryen(moduleText(newHandler)));
    });
  });
