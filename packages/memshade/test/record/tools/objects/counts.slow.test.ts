import { describe, expect, it } from "vitest";
import { readObjects } from "../../../../src/profile/model/objects.ts";
import { profile } from "../../../../src/record/host/profile.ts";
import type { ObjectsOptions } from "../../../../src/record/tools/options.ts";
import { binaryenTool, watByBinaryen } from "../../../support/assemble.ts";
import { record } from "../../../support/recorded.ts";
import { moduleText, RandomProgram } from "./random-program.ts";

const ARGUMENTS = [0, 5, 10, 15];

/** Counts of a profile, in the interpreter's terms. */
function countsOf(text: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { types } of readObjects(text).parts)
    for (const { name, kind, objects, elements, fields } of types) {
      counts.set(`new ${name}`, objects);
      if (kind === "array") counts.set(`elements of ${name}`, elements);
      for (const field of fields) {
        const of = kind === "array" ? `${name}` : `${name}.${field.name}`;
        counts.set(`read ${of}`, field.reads);
        counts.set(`write ${of}`, field.writes);
      }
    }
  return new Map([...counts].filter(([, count]) => count > 0).sort());
}

function objectsOf(module: Uint8Array, name: string, objects: ObjectsOptions): string {
  const calls = ARGUMENTS.map((argument) => [name, argument] as const);
  const { profile, behaviour } = record(module, calls, { tools: ["objects"], objects });
  expect(behaviour.trapped).toBe(false);
  return String(profile.toolFiles.find((file) => file.name === "objects.json")?.contents);
}

describe.skipIf(binaryenTool("wasm-as") === undefined)("random programs", () => {
  const programs = Array.from({ length: 40 }, (_, seed) => new RandomProgram(`program${seed}`, seed + 1));
  const module = binaryenTool("wasm-as") === undefined ? undefined : watByBinaryen(moduleText(programs));

  it.each(programs)("$name makes and uses as many objects as an interpreter counts", (program) => {
    const expected = new Map<string, number>();
    for (const argument of ARGUMENTS)
      for (const [key, count] of program.run(argument)) expected.set(key, (expected.get(key) ?? 0) + count);
    const wanted = new Map([...expected].filter(([, count]) => count > 0).sort());
    expect(countsOf(objectsOf(module!, program.name, { sampleBytes: 256 }))).toEqual(wanted);
  });

  it("are counted alike with and without samples, and allocations alike without fields", () => {
    const [program] = programs;
    const withSamples = countsOf(objectsOf(module!, program!.name, { sampleBytes: 64 }));
    expect(countsOf(objectsOf(module!, program!.name, { sampleBytes: 0 }))).toEqual(withSamples);
    const alone = countsOf(objectsOf(module!, program!.name, { sampleBytes: 0, fields: false }));
    expect(alone).toEqual(new Map([...withSamples].filter(([key]) => /^(new|elements)/.test(key))));
  });

  it("give the same exact counts in every run, byte for byte", () => {
    for (const { name } of programs.slice(0, 5))
      expect(objectsOf(module!, name, { sampleBytes: 0 })).toBe(objectsOf(module!, name, { sampleBytes: 0 }));
  });
});

it.skipIf(binaryenTool("wasm-as") === undefined)(
  "objects of constant expressions are counted beside numbers of all kinds",
  () => {
    const module = watByBinaryen(`(module
      (type $bytes (array (mut i8)))
      (global (mut i32) (i32.const -2147483648))
      (global (mut i64) (i64.const -9223372036854775808))
      (global (mut f64) (f64.const -0x1.fffffffffffffp+1023))
      (global (mut f32) (f32.const nan:0x7fffff))
      (global $made (ref $bytes) (array.new_default $bytes (i32.const 200)))
      (func (export "run") (param i32) (result i32) (array.len (global.get $made))))`);
    const { parts } = readObjects(objectsOf(module, "run", { sampleBytes: 0 }));
    expect(parts[0]!.types).toMatchObject([{ kind: "array", objects: 1, elements: 200 }]);
  },
);

it.skipIf(binaryenTool("wasm-as") === undefined)(
  "arrays of constant expressions have the lengths that globals give them, also those of the host",
  async () => {
    const module = watByBinaryen(`(module
      (type $bytes (array (mut i8)))
      (type $pair (struct (field (ref $bytes)) (field i32)))
      (import "host" "length" (global $given i32))
      (global $ten i32 (i32.const 10))
      (global $made (ref $bytes) (array.new_default $bytes (global.get $ten)))
      (global (ref $pair) (struct.new $pair (array.new $bytes (i32.const 7) (global.get $given)) (i32.const 3)))
      (global (ref $bytes) (array.new $bytes (i32.const 7) (i32.add (global.get $given) (i32.mul (global.get $ten) (i32.const 2)))))
      (global (ref $bytes) (array.new_fixed $bytes 3 (i32.const 1) (i32.const 2) (i32.const 3)))
      (func (export "run") (result i32) (array.len (global.get $made))))`);
    const { toolFiles } = await profile(
      module,
      async (instantiate) => {
        const { exports } = await instantiate({ host: { length: 5 } });
        expect((exports.run as () => number)()).toBe(10);
        await instantiate({ host: { length: 100 } });
      },
      { tools: ["objects"] },
    );
    const { contents } = toolFiles.find((file) => file.name === "objects.json")!;
    const [part] = readObjects(String(contents)).parts;
    const bytes = part!.types.find(({ kind }) => kind === "array");
    expect(bytes).toMatchObject({ objects: 8, elements: 2 * 10 + 105 + (105 + 2 * 20) + 2 * 3 });
  },
);
