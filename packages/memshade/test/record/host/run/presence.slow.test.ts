import { describe, expect, it } from "vitest";
import type { ToolName } from "../../../../src/record/tools/index.ts";
import { instrument } from "../../../../src/record/tools/index.ts";
import { wat } from "../../../support/assemble.ts";
import { record } from "../../../support/recorded.ts";

const MODULE = wat(`(module (memory (export "memory") 3)
  (global $next (mut i32) (i32.const 1024))
  (func $malloc (export "malloc") (param i32) (result i32)
    (global.set $next (i32.add (global.get $next) (i32.const 64))) (global.get $next))
  (func (export "free") (param i32))
  (func (export "run") (i32.store (call $malloc (i32.const 48)) (i32.const 5))))`);

const recorded = (tools: ToolName[]) =>
  record(MODULE, [["run"], ["run"]], { tools, name: "m.wasm" }, () => ({ imports: {} })).profile;

describe("what the profiler takes", () => {
  it.each([[["heap"]], [["waste"]], [["workingset"]], [["heap", "waste", "workingset"]]] as ToolName[][][])(
    "is made of what was recorded: %j",
    (tools) => {
      const { run, raw, toolFiles } = recorded(tools);
      const files = toolFiles.reduce((sum, { contents }) => sum + contents.length, 0);
      const { modules, shadow, recorded: written } = run.presence!;
      expect(modules).toBe(instrument(MODULE, { tools, name: "m.wasm" }).bytes.length);
      expect(written).toBe((tools.includes("heap") ? raw.length : 0) + files);
      expect(shadow).toBeGreaterThanOrEqual(run.heap?.profilerBytes ?? 0);
      if (tools.length === 1 && tools[0] === "heap") expect(shadow).toBe(run.heap!.profilerBytes);
    },
  );

  it("of several tools is the shadow memory of each", () => {
    const of = (tools: ToolName[]): number => recorded(tools).run.presence!.shadow;
    expect(of(["heap", "waste", "workingset"])).toBe(of(["heap"]) + of(["waste"]) + of(["workingset"]));
  });
});
