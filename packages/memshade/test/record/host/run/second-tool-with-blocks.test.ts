import { expect, it, onTestFinished } from "vitest";
import type { ShadowMemories } from "../../../../src/record/host/instance/host-calls.ts";
import { Recorder } from "../../../../src/record/host/run/recorder.ts";
import type { KnownReach } from "../../../../src/record/tools/heap/read/reach/apply-reach.ts";
import { type InstrumentedInfo, TOOL_NAMES, type ToolName } from "../../../../src/record/tools/options.ts";
import type { InstanceHandle, ToolSession, ToolSnapshot } from "../../../../src/record/tools/session.ts";
import { SESSIONS } from "../../../../src/record/tools/sessions.ts";

const POOL = "pool" as ToolName;

/** Follows blocks of a pool: they live, tables of them are full, and what still leads to them is looked for. */
class PoolSession implements ToolSession {
  readonly tool = POOL;
  readonly calls: string[] = [];

  addInstance({ number, place }: InstanceHandle): void {
    this.calls.push(`add ${number} ${place?.group}`);
  }

  releaseInstance({ number }: InstanceHandle): void {
    this.calls.push(`release ${number}`);
  }

  flush({ number }: InstanceHandle): void {
    this.calls.push(`flush ${number}`);
  }

  watch(isLate: boolean): void {
    this.calls.push(`watch ${isLate}`);
  }

  setReach({ number }: InstanceHandle, reach: KnownReach | undefined): void {
    this.calls.push(`reach ${number} ${reach !== undefined && "unknown" in reach}`);
  }

  reset(): void {
    this.calls.push("reset");
  }

  snapshot(): ToolSnapshot {
    return {
      description: { blocks: 2 },
      found: [{ functions: [{ index: 3, name: "carve", offset: 0, end: 9 }] }],
      files: [{ member: "waste", name: "pool.json", contents: "{}\n" }],
      shadowBytes: 16,
      warnings: ["The pool is small."],
    };
  }
}

function info(name: string): InstrumentedInfo {
  const allocator = { how: "none", needsConfirmation: false, functions: [] };
  return { name, buildId: name, originalBytes: 10, codeBytes: 5000, notTracked: [], allocator } as never;
}

it("a second tool with blocks has all that the heap has of the recorder", () => {
  const pool = new PoolSession();
  (TOOL_NAMES as unknown as ToolName[]).push(POOL);
  Object.assign(SESSIONS, { pool: () => pool });
  // Other tests may share these tables.
  onTestFinished(() => {
    (TOOL_NAMES as unknown as ToolName[]).pop();
    delete (SESSIONS as Partial<Record<ToolName, unknown>>)[POOL];
  });
  const recorder = new Recorder({ tools: { tools: [POOL] }, command: ["p"], program: "p" });
  const memory = new WebAssembly.Memory({ initial: 0 });
  const bytes = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);
  const memories = { pool: memory } as ShadowMemories;
  const place = { group: "tables", local: 2 };
  const handle = recorder.addInstance(memories, info("a"), bytes, "a.wasm", place, 7);
  recorder.addInstance({}, info("b"), bytes, "b.wasm");
  expect(recorder.isShared("tables")).toBe(true);
  recorder.watch(true);
  recorder.setReach(handle, { unknown: "it runs" });
  recorder.flush(handle);
  recorder.reset();
  recorder.releaseInstance(handle);
  expect(recorder.isShared("tables")).toBe(false);
  expect(pool.calls).toEqual(["add 0 tables", "watch true", "reach 0 true", "flush 0", "reset", "release 0"]);
  const { run, toolFiles, warnings } = recorder.takeProfile({ kind: "exit", exitCode: 0 });
  expect(run.tools).toEqual({ pool: { blocks: 2 } });
  expect(run.modules.map(({ name, functions }) => [name, functions.length])).toEqual([
    ["a", 1],
    ["b", 0],
  ]);
  expect([toolFiles.map(({ name }) => name), warnings]).toEqual([["pool.json"], ["The pool is small."]]);
});
