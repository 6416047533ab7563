import { beforeAll, describe, expect, it } from "vitest";
import { decodeModule, type WasmModule } from "../../../../src/code/wasm/index.ts";
import { findAllocator } from "../../../../src/record/allocator/find/index.ts";
import { compileAssemblyScript } from "./compile-assemblyscript.ts";
import { namesOf, pictureOf } from "./support.ts";

const PROGRAM = `
class Node { left: Node | null = null; right: Node | null = null; constructor(public value: i32) {} }
function build(depth: i32): Node {
  const node = new Node(depth);
  if (depth > 0) { node.left = build(depth - 1); node.right = build(depth - 1); }
  return node;
}
export function run(depth: i32): i32 {
  const texts = new Array<string>();
  for (let i = 0; i < 50; i++) texts.push("x" + i.toString());
  return build(depth).value + texts.length;
}`;

const compile = async (...options: string[]): Promise<WasmModule> =>
  decodeModule(await compileAssemblyScript(PROGRAM, ...options));

/** Removes the file part of the runtime's names. */
const short = (lines: readonly string[]) => lines.map((line) => line.replace("~lib/rt/", ""));

describe("AssemblyScript", () => {
  beforeAll(async () => {
    await compile("--runtime", "stub");
  });

  it("hooks the allocator below the collector where it is whole, and folds __new", async () => {
    const module = await compile("--runtime", "incremental", "--debug");
    const plan = findAllocator(module);
    expect(plan.how).toBe("names");
    expect(plan.collector).toContain("incremental collector");
    expect(short(pictureOf(plan))).toEqual(["as_free tlsf/__free pointer 0", "as_new tlsf/__alloc size 0"]);
    expect(short(namesOf(module, plan.wrappers))).toEqual(
      expect.arrayContaining(["itcms/__new", "itcms/step", "itcms/__renew"]),
    );
    expect(short(namesOf(module, plan.internals))).toEqual(
      expect.arrayContaining(["tlsf/insertBlock", "tlsf/allocateBlock"]),
    );
  });

  it("hooks __realloc, too, where the runtime moves blocks by it", async () => {
    const plan = findAllocator(await compile("--runtime", "minimal", "--debug", "--exportRuntime"));
    expect(short(pictureOf(plan)).sort()).toEqual([
      "as_free tlsf/__free pointer 0",
      "as_new tlsf/__alloc size 0",
      "as_renew tlsf/__realloc pointer 0 size 1",
    ]);
  });

  it("hooks objects in optimised builds, where blocks only come back through the free list", async () => {
    for (const runtimeExports of [[], ["--exportRuntime"]]) {
      const module = await compile("--runtime", "incremental", "--debug", "-O3", ...runtimeExports);
      const plan = findAllocator(module);
      expect(short(pictureOf(plan))).toEqual([
        "as_new itcms/__new size 0",
        "as_free tlsf/insertBlock pointer 1 offset 20",
      ]);
      // The collector calls insertBlock for garbage. If the collector counted as a part of the allocator, its frees would be missed.
      expect(short(namesOf(module, plan.internals))).not.toContain("itcms/step");
      expect(short(namesOf(module, plan.wrappers))).toContain("itcms/step");
    }
  });

  it("hooks blocks where the minimal runtime's __alloc and __free are inlined", async () => {
    const plan = findAllocator(await compile("--runtime", "minimal", "--debug", "-O3"));
    expect(short(pictureOf(plan))).toEqual([
      "as_free tlsf/insertBlock pointer 1 offset 4",
      "as_new tlsf/allocateBlock size 1 offset 4",
    ]);
    expect(plan.notes.join(" ")).toContain("grows in place");
  });

  it.each(["incremental", "minimal"])(
    "finds the same functions of the %s runtime by its exports alone",
    async (runtime) => {
      for (const level of ["-O1", "-O2", "-O3", "-O3z"]) {
        const options = ["--runtime", runtime, "--exportRuntime", level];
        const bare = findAllocator(await compile(...options));
        expect(bare.how, level).toBe("exports");
        // The names differ: binaryen removes some functions of one build.
        const kinds = bare.functions.map(({ kind, pointerOffset }) => [kind, pointerOffset]).sort();
        const [allocate, release] = runtime === "minimal" ? [4, 4] : [0, 20];
        expect(kinds, level).toEqual([
          ["allocate", allocate],
          ["release", release],
        ]);
      }
    },
  );

  it("knows that the stub runtime never frees", async () => {
    for (const options of [["--debug"], ["-O3", "--exportRuntime"]]) {
      const plan = findAllocator(await compile("--runtime", "stub", ...options));
      expect(plan.functions.map(({ role }) => role)).toContain("as_new");
      expect(plan.functions.map(({ kind }) => kind)).not.toContain("release");
      expect(plan.collector).toContain("never frees");
    }
  });

  it("says what is missing where neither names nor the runtime's exports are there", async () => {
    const bare = findAllocator(await compile("--runtime", "incremental", "-O3"));
    expect(bare.how).toBe("none");
    expect(bare.notes.join(" ")).toContain("build it with --debug or --exportRuntime");
    const unoptimised = findAllocator(await compile("--runtime", "minimal", "--exportRuntime"));
    expect(unoptimised.how).toBe("none");
    expect(unoptimised.notes.join(" ")).toContain(
      "The free function of AssemblyScript's collector was not found",
    );
  });
});
