import fc from "fast-check";
import { expect, it } from "vitest";
import { decodeModule } from "../../../src/code/wasm/index.ts";
import { breakCircles } from "../../../src/record/rewrite/facts/call-graph.ts";
import { scanModule } from "../../../src/record/rewrite/facts/module-scan.ts";
import { wat } from "../../support/assemble.ts";

function hasCircle(callees: readonly (readonly number[])[], chosen: Uint8Array): boolean {
  const left = new Set([...callees.keys()].filter((at) => chosen[at] === 0));
  for (let before = -1; before !== left.size; ) {
    before = left.size;
    for (const at of left) if (!callees[at].some((callee) => left.has(callee))) left.delete(at);
  }
  return left.size > 0;
}

it("every circle of calls leads through a chosen function, and where there is none nothing is chosen", () => {
  const calls = fc.array(fc.array(fc.nat(9), { maxLength: 3 }), { minLength: 10, maxLength: 10 });
  fc.assert(
    fc.property(calls, fc.uint8Array({ minLength: 10, maxLength: 10, max: 1 }), (callees, given) => {
      const bodies = callees.map((list) => `(func ${list.map((callee) => `(call ${callee})`).join(" ")})`);
      const module = decodeModule(wat(`(module ${bodies.join(" ")})`));
      const scan = scanModule(module);
      const chosen = breakCircles(module, scan, given);
      expect(hasCircle(callees, chosen)).toBe(false);
      given.forEach((wanted, at) => {
        if (wanted === 1) expect(chosen[at]).toBe(1);
      });
      if (!hasCircle(callees, given)) expect(chosen).toEqual(given);
    }),
    { numRuns: 100 },
  );
});
