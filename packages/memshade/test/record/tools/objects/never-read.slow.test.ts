import { describe, expect, it } from "vitest";
import { unreadFields } from "../../../../src/explain/analyses/objects.ts";
import { readObjects } from "../../../../src/profile/model/objects.ts";
import { binaryenTool, watByBinaryen } from "../../../support/assemble.ts";
import { record } from "../../../support/recorded.ts";

const TYPES = `
  (type $shape (sub (struct (field $id i32) (field $name i32))))
  (type $circle (sub $shape (struct (field $id i32) (field $name i32) (field $radius i32))))
  (type $square (sub $shape (struct (field $id i32) (field $name i32) (field $side i64))))`;
const MAKE = `
  (func $circle (result (ref $circle)) (struct.new $circle (i32.const 1) (i32.const 2) (i32.const 3)))
  (func $square (result (ref $square)) (struct.new $square (i32.const 1) (i32.const 2) (i64.const 3)))`;

function unreadOf(text: string): string[] {
  const module = watByBinaryen(`(module ${text})`);
  const { profile } = record(module, [["test"]], { tools: ["objects"], objects: { sampleBytes: 0 } });
  const file = profile.toolFiles.find(({ name }) => name === "objects.json")!;
  return unreadFields(readObjects(String(file.contents)))
    .map(({ name }) => name)
    .sort();
}

describe.skipIf(binaryenTool("wasm-as") === undefined)("a field that nobody reads", () => {
  it("is read in objects of all subtypes where a supertype is named", () => {
    const text = `${TYPES} ${MAKE} (func (export "test") (local $shape (ref $shape))
      (local.set $shape (call $circle)) (drop (struct.get $shape $id (local.get $shape))) (drop (call $square)) (drop (struct.get $circle $radius (call $circle)))
      (drop (struct.get $square $side (call $square))))`;
    expect(unreadOf(text)).toEqual(["shape.name"]);
  });

  it("is not read in objects of a type whose sibling's are", () => {
    const text = `${TYPES} ${MAKE} (func (export "test") (local $shape (ref $shape))
      (drop (struct.get $circle $name (call $circle))) (drop (struct.get $circle $radius (call $circle)))
      (local.set $shape (call $square)) (drop (struct.get $shape $id (local.get $shape))) (drop (struct.get $square $side (call $square))))`;
    expect(unreadOf(text)).toEqual(["square.name"]);
  });

  it("is read where a type that is the same by structure is named", () => {
    const text = `
      (rec (type $one (struct (field $value i32) (field $other i32))))
      (rec (type $two (struct (field $value i32) (field $other i32))))
      (func (export "test") (drop (struct.get $two $value (struct.new $one (i32.const 1) (i32.const 2)))))`;
    expect(unreadOf(text)).toHaveLength(1);
  });
});
