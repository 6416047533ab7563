import { describe, expect, it } from "vitest";
import type { Profile } from "../../../src/record/host/run/recorder.ts";
import { instrument, type ToolName } from "../../../src/record/tools/index.ts";
import { memoryBeyond } from "../../../src/record/tools/waste/read/held-memory.ts";
import { wat } from "../../support/assemble.ts";
import { record } from "../../support/recorded.ts";

/*
 * Limits that reports can name, by tool; a run produces each. If a tool names no limit for a module,
 * it must have recorded the module.
 */

const ACCESSES = (address: string) => `(func (export "run")
  (i32.store (${address}.const 64) (i32.const 5)) (drop (i32.load (${address}.const 64))))`;
const memory = (text: string, address = "i32") => wat(`(module ${text} ${ACCESSES(address)})`);
const imported = (type: string) => memory(`(import "env" "memory" (memory ${type}))`);

const MODULES: Readonly<Record<string, { module: Uint8Array; given?: () => WebAssembly.Memory }>> = {
  "no memory": { module: wat(`(module (func (export "run")))`) },
  "an imported memory": {
    module: imported("1 2"),
    given: () => new WebAssembly.Memory({ initial: 1, maximum: 2 }),
  },
  "a shared memory": {
    module: imported("1 2 shared"),
    given: () => new WebAssembly.Memory({ initial: 1, maximum: 2, shared: true }),
  },
  "a memory of 2 GiB": { module: memory(`(memory 32768)`) },
  "a 64-bit memory without a maximum": { module: memory(`(memory i64 1)`, "i64") },
  "a memory that was refused growth": {
    module: wat(`(module (memory 1) (func (export "run")
      (drop (memory.grow (i32.const 30000))) (i32.store (i32.const 64) (i32.const 5)) (drop (i32.load (i32.const 64)))))`),
  },
  "a memory that is asked for more than any has": {
    module: wat(`(module (memory 1 2000) (func (export "run")
      (drop (memory.grow (i32.const -1))) (drop (memory.grow (i32.const 2000)))
      (i32.store (i32.const 64) (i32.const 5)) (drop (i32.load (i32.const 64)))))`),
  },
  "a large memory that is asked for more than any has": {
    module: wat(`(module (memory 1) (func (export "run")
      (drop (memory.grow (i32.const -1))) (drop (memory.grow (i32.const 65536))) (drop (memory.grow (i32.const 40000)))
      (i32.store (i32.const 64) (i32.const 5)) (drop (i32.load (i32.const 64)))))`),
  },
};

/** Expected text, and whether figures were recorded. */
const EXPECTED: Readonly<
  Record<string, Readonly<Partial<Record<ToolName, { says: RegExp[]; records: boolean }>>>>
> = {
  "no memory": {
    heap: { says: [/has no linear memory/], records: false },
    waste: { says: [/has no linear memory/], records: false },
    workingset: { says: [/has no linear memory/], records: false },
  },
  "an imported memory": {
    waste: {
      says: [/is imported: loads and stores of other modules are not counted|other modules that use it/],
      records: true,
    },
    workingset: { says: [], records: true },
  },
  "a shared memory": {
    heap: { says: [/shared between threads/], records: true },
    waste: { says: [/The memory is shared/], records: true },
    workingset: { says: [], records: true },
  },
  "a memory of 2 GiB": {
    waste: {
      says: [/begins with 2,048 MiB, more than the 1,024 MiB that the waste tool can cover.*--tool heap/],
      records: false,
    },
    workingset: { says: [], records: true },
  },
  "a 64-bit memory without a maximum": {
    heap: { says: [/only its first 4 GiB are recorded/], records: true },
    workingset: { says: [/only its first 4 GiB are recorded/], records: true },
  },
  "a memory that was refused growth": {
    waste: {
      says: [/requested 1,876 MiB of memory and did not get it.*covers at most 1,024 MiB/],
      records: true,
    },
    workingset: { says: [], records: true },
  },
  "a memory that is asked for more than any has": {
    waste: { says: [/^(?!.*requested)/s], records: true },
  },
  "a large memory that is asked for more than any has": {
    waste: {
      says: [/requested 2,501 MiB of memory and did not get it: .*covers at most 1,024 MiB/],
      records: true,
    },
  },
};

function profileOf(name: string, tool: ToolName): Profile {
  const { module, given } = MODULES[name]!;
  const imports = given === undefined ? {} : { env: { memory: given() } };
  return record(module, [["run"]], { tools: [tool], name: "m.wasm" }, () => ({ imports })).profile;
}

for (const [name, tools] of Object.entries(EXPECTED))
  describe(`a module with ${name}`, () => {
    for (const [tool, { says, records }] of Object.entries(tools))
      it(`under ${tool} ${says.length === 0 ? "is recorded" : `says so${records ? "" : ", and has no figures"}`}`, () => {
        const { run, toolFiles } = profileOf(name, tool as ToolName);
        const text = String(toolFiles[0]?.contents ?? "{}");
        const said: string[] = [
          ...run.notTracked,
          ...(tool === "heap" ? run.heap!.notTracked! : JSON.parse(text).notTracked),
          ...run.modules.flatMap(({ notTracked, allocator }) => [...notTracked, allocator.refused ?? ""]),
        ];
        for (const sentence of says) expect(said.join("\n")).toMatch(sentence);
        if (tool === "waste") {
          const file = JSON.parse(text);
          expect(file.modules.length > 0).toBe(records);
          expect(file.notRecorded?.length ?? 0).toBe(records ? 0 : 1);
          expect(file.totals.stores > 0).toBe(records);
        }
        if (tool === "workingset") expect(JSON.parse(text).instances.length > 0).toBe(records);
        if (!records) expect(run.modules[0]!.notRecorded?.[tool]).toMatch(says[0]!);
      });
  });

describe("a memory from outside that is too large for the waste tool", () => {
  it("is named with what works instead", () => {
    const { info } = instrument(imported("1"), { tools: ["waste"] });
    const imports = { env: { memory: new WebAssembly.Memory({ initial: 32768 }) } };
    expect(memoryBeyond(imports, info)).toMatch(
      /from outside has 2,048 MiB, more than the 1,024 MiB.*--tool heap/,
    );
  });
});
