import { describe, expect, it } from "vitest";
import { binaryenTool, wat, watByBinaryen } from "../../support/assemble.ts";
import { type Call, expectTransparent } from "../../support/behaviour.ts";
import { BUMP, Profiled } from "../../support/profiled.ts";

const TYPES = "(type $alloc (func (param i32) (result i32))) (type $release (func (param i32)))";
const ALLOCATOR = "malloc=malloc,free=free";

/** A module whose function `run` allocates and releases with the given expressions. */
const using = (
  fields: string,
  malloc: (size: string) => string,
  free: (block: string) => string,
) => `(module ${TYPES}
  (memory (export "memory") 1 1) ${BUMP} ${fields}
  (func $run (export "run") (param $n i32) (result i32) (local $p i32)
    (loop $more
      ${free(malloc("(i32.const 24)"))}
      (local.set $p ${malloc("(local.get $n)")})
      (i32.store (local.get $p) (local.get $n))
      (br_if $more (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (i32.load (local.get $p))))`;

function expectAllCounted(bytes: Uint8Array): void {
  expectTransparent(bytes, [["run", 3]], { allocator: ALLOCATOR });
  const profiled = new Profiled(bytes, { options: { allocator: ALLOCATOR } });
  expect(profiled.call("run", 5)).toBe(1);
  expect(profiled.heap).toMatchObject({ allocations: 10, frees: 5, liveBlocks: 5, heapAccesses: 6 });
  for (const { stack } of profiled.contexts()) expect(stack).toEqual(["run"]);
}

describe("an allocation is counted however malloc is called", () => {
  const table = "(table $t 8 funcref)";
  const indirect = (index: number) => (size: string) =>
    `(call_indirect $t (type $alloc) ${size} (i32.const ${index}))`;
  const release = (index: number) => (block: string) =>
    `(call_indirect $t (type $release) ${block} (i32.const ${index}))`;

  it("directly", () => {
    expectAllCounted(
      wat(
        using(
          "",
          (size) => `(call $malloc ${size})`,
          (block) => `(call $free ${block})`,
        ),
      ),
    );
  });

  it.each([
    ["0: active, table 0, functions", `${table} (elem (i32.const 2) func $malloc $free)`, ""],
    ["1: passive, functions", `${table} (elem $e func $malloc $free)`, "init"],
    [
      "2: active, a table by index, functions",
      `(table $zero 1 funcref) ${table} (elem (table $t) (i32.const 2) func $malloc $free)`,
      "",
    ],
    ["3: declared, functions", `${table} (elem declare func $malloc $free)`, "set"],
    [
      "4: active, table 0, expressions",
      `${table} (elem (i32.const 2) funcref (ref.func $malloc) (item ref.func $free))`,
      "",
    ],
    ["5: passive, expressions", `${table} (elem $e funcref (ref.func $malloc) (ref.func $free))`, "init"],
    [
      "6: active, a table by index, expressions",
      `(table $zero 1 funcref) ${table} (elem (table $t) (i32.const 2) funcref (ref.func $malloc) (ref.func $free))`,
      "",
    ],
    [
      "7: declared, expressions",
      `${table} (elem declare funcref (ref.func $malloc) (ref.func $free))`,
      "set",
    ],
  ])("through a table filled by an element segment of kind %s", (_kind, fields, how) => {
    const fill = {
      init: "(table.init $t $e (i32.const 2) (i32.const 0) (i32.const 2)) (elem.drop $e)",
      set: "(table.set $t (i32.const 2) (ref.func $malloc)) (table.set $t (i32.const 3) (ref.func $free))",
      "": "",
    }[how];
    expectAllCounted(wat(using(`${fields} (func $fill ${fill}) (start $fill)`, indirect(2), release(3))));
  });

  it("through a table that another one was copied to, grown and filled", () => {
    const fields = `${table} (table $u 2 funcref) (elem (table $u) (i32.const 0) func $malloc $free)
      (func $fill (table.copy $t $u (i32.const 4) (i32.const 0) (i32.const 2)) (drop (table.grow $t (table.get $t (i32.const 4)) (i32.const 2))))
      (start $fill)`;
    expectAllCounted(wat(using(fields, indirect(9), release(5))));
  });

  it("through a table whose offset is a global", () => {
    const fields = `(global $base i32 (i32.const 3)) ${table} (elem (offset (i32.add (global.get $base) (i32.const 1))) func $malloc $free)`;
    expectAllCounted(wat(using(fields, indirect(4), release(5))));
  });

  it("by a tail call in a function of its own", () => {
    const fields = `(func $get (param i32) (result i32) (return_call $malloc (local.get 0))) (func $put (param i32) (return_call $free (local.get 0)))`;
    const bytes = wat(
      using(
        fields,
        (size) => `(call $get ${size})`,
        (block) => `(call $put ${block})`,
      ),
    );
    expectAllCounted(bytes);
  });

  it("by an indirect tail call in a function of its own", () => {
    const fields = `${table} (elem (i32.const 0) $malloc $free)
      (func $get (param i32) (result i32) (return_call_indirect $t (type $alloc) (local.get 0) (i32.const 0)))
      (func $put (param i32) (return_call_indirect $t (type $release) (local.get 0) (i32.const 1)))`;
    expectAllCounted(
      wat(
        using(
          fields,
          (size) => `(call $get ${size})`,
          (block) => `(call $put ${block})`,
        ),
      ),
    );
  });

  const installed = binaryenTool("wasm-as") !== undefined;
  if (!installed)
    console.warn("SKIPPED: binaryen is not installed, nothing assembles typed function references");

  it.skipIf(!installed)("through references of function type, in globals, locals, structs and arrays", () => {
    const bytes = watByBinaryen(`(module ${TYPES}
      (type $box (struct (field $f (mut (ref null $alloc))) (field i32)))
      (type $list (array (mut (ref null $alloc))))
      (memory (export "memory") 1 1) ${BUMP}
      (elem declare func $malloc $free $tail)
      (global $g (mut (ref null $alloc)) (ref.func $malloc))
      (table $typed 2 (ref null $alloc))
      (func $tail (type $alloc) (return_call_ref $alloc (local.get 0) (global.get $g)))
      (func $refs (export "refs") (result i32) (local $f (ref null $alloc)) (local $box (ref null $box)) (local $list (ref null $list))
        (local.set $f (ref.func $malloc))
        (drop (call_ref $alloc (i32.const 8) (local.get $f)))
        (drop (call_ref $alloc (i32.const 8) (global.get $g)))
        (local.set $box (struct.new $box (ref.func $malloc) (i32.const 3)))
        (drop (call_ref $alloc (i32.const 8) (struct.get $box $f (local.get $box))))
        (local.set $list (array.new $list (ref.func $malloc) (i32.const 3)))
        (array.set $list (local.get $list) (i32.const 1) (ref.func $tail))
        (drop (call_ref $alloc (i32.const 8) (array.get $list (local.get $list) (i32.const 2))))
        (drop (call_ref $alloc (i32.const 8) (array.get $list (local.get $list) (i32.const 1))))
        (drop (call_ref $alloc (i32.const 8) (ref.as_non_null (global.get $g))))
        (table.set $typed (i32.const 1) (ref.func $malloc))
        (drop (call_indirect $typed (type $alloc) (i32.const 8) (i32.const 1)))
        (call_ref $release (call $malloc (i32.const 8)) (ref.func $free))
        (i32.const 8)))`);
    expectTransparent(bytes, [["refs"]], { allocator: ALLOCATOR });
    const profiled = new Profiled(bytes, { options: { allocator: ALLOCATOR } });
    expect(profiled.call("refs")).toBe(8);
    expect(profiled.heap).toMatchObject({ allocations: 8, frees: 1 });
    expect(new Set(profiled.contexts().map(({ stack }) => stack.join()))).toEqual(new Set(["refs"]));
  });

  it.skipIf(!installed)("in modules of garbage-collected types, whose code does what it did", () => {
    const bytes = watByBinaryen(`(module (memory (export "memory") 1 1)
      (rec (type $node (sub (struct (field $value i32) (field $next (mut (ref null $node))))))
           (type $leaf (sub $node (struct (field i32) (field (mut (ref null $node))) (field f64)))))
      (type $bytes (array (mut i8)))
      (func $sum (param $n (ref null $node)) (param $p i32) (result i32)
        (i32.store (local.get $p) (i32.const 1))
        (block $end (result i32)
          (block $null
            (br $end (i32.add
              (struct.get $node $value (br_on_null $null (local.get $n)))
              (call $sum (struct.get $node $next (local.get $n)) (i32.add (local.get $p) (i32.const 4))))))
          (i32.load (local.get $p))))
      (func (export "list") (param $p i32) (result i32)
        (call $sum (struct.new $node (i32.const 5) (struct.new $leaf (i32.const 7) (ref.null $node) (f64.const 1))) (local.get $p)))
      (func (export "cast") (param $p i32) (result i32) (local $n (ref null $node))
        (local.set $n (if (result (ref null $node)) (i32.load (local.get $p)) (then (struct.new $leaf (i32.const 7) (ref.null $node) (f64.const 1))) (else (struct.new_default $node))))
        (i32.store offset=8 (local.get $p) (i32.const 5))
        (drop
          (block $is (result (ref $leaf))
            (i32.store offset=16 (local.get $p) (i32.const 3))
            (drop (br_on_cast $is (ref null $node) (ref $leaf) (local.get $n)))
            (return (i32.load offset=8 (local.get $p)))))
        (i32.load offset=8 (local.get $p)))
      (func (export "array") (param $p i32) (result i32) (local $a (ref null $bytes)) (local $i i32)
        (local.set $a (array.new_fixed $bytes 3 (i32.const 1) (i32.const 2) (i32.load (local.get $p))))
        (loop $more
          (i32.store8 offset=64 (local.get $p) (array.get_u $bytes (local.get $a) (local.get $i)))
          (local.set $p (i32.add (local.get $p) (i32.const 1)))
          (br_if $more (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (array.len (local.get $a)))))
        (i32.load offset=61 (local.get $p))))`);
    const calls: Call[] = [
      ["list", 512],
      ["cast", 512],
      ["cast", 2048],
      ["array", 1024],
    ];
    expectTransparent(bytes, calls);
  });
});

describe("functions seen from outside", () => {
  const module = wat(`(module ${TYPES}
    (import "host" "imported" (func $imported (param i32) (result i32)))
    (import "host" "value" (global $value i32))
    (memory 1 1) ${BUMP}
    (table (export "table") 4 funcref)
    (elem (i32.const 0) $make $malloc $imported)
    (global (export "make_reference") funcref (ref.func $make))
    (global (export "imported_reference") funcref (ref.func $imported))
    (export "again" (func $imported)) (export "value" (global $value))
    (func $make (export "make") (export "make_too") (param i32) (result i32)
      (i32.add (call $malloc (i32.const 8)) (local.get 0)))
    (func (export "give") (result funcref) (ref.func $make))
    (func (export "take") (param funcref) (result i32)
      (table.set (i32.const 3) (local.get 0)) (call_indirect (type $alloc) (i32.const 40) (i32.const 3))))`);
  const imports = () => ({
    host: { imported: (n: number) => n * 2, value: new WebAssembly.Global({ value: "i32" }, 11) },
  });

  it("are one object under all their names, in tables and in globals", () => {
    const { exports } = new Profiled(module, { imports });
    const { make, make_too, make_reference, table, give, again, imported_reference, malloc } =
      exports as never as Record<string, never>;
    expect(make_too).toBe(make);
    expect((make_reference as WebAssembly.Global).value).toBe(make);
    expect((table as WebAssembly.Table).get(0)).toBe(make);
    expect((table as WebAssembly.Table).get(1)).toBe(malloc);
    expect((give as () => unknown)()).toBe(make);
    expect((imported_reference as WebAssembly.Global).value).toBe(again);
    expect((again as (n: number) => number)(21)).toBe(42);
    expect((exports.value as never as WebAssembly.Global<"i32">).value).toBe(11);
  });

  it("are profiled by whichever way they are called", () => {
    const profiled = new Profiled(module, { imports });
    const { make, make_too, make_reference, table, give, take, again } = profiled.exports as never as Record<
      string,
      (...n: unknown[]) => unknown
    >;
    const get = (i: number) => (table as never as WebAssembly.Table).get(i) as (n: number) => number;
    make(8);
    make_too(8);
    (make_reference as never as WebAssembly.Global<"anyfunc">).value?.(8);
    get(0)(8);
    (give() as (n: number) => number)(8);
    expect(profiled.stacks()).toEqual({ make: 5 });
    get(1)(8);
    expect(profiled.stacks()).toEqual({ make: 5, malloc: 1 });
    take(make);
    take(get(1));
    take(again);
    expect(profiled.stacks()).toEqual({ make: 5, malloc: 1, "make < take": 1, take: 1 });
  });

  it("do not use up the stack of frames, however often a table's function is called", () => {
    const profiled = new Profiled(module, { imports, options: { maxBlocks: 2 } });
    const make = (profiled.exports.table as never as WebAssembly.Table).get(0) as (n: number) => number;
    const { stack, endBytes } = profiled.info.layout as { stack: number; endBytes: number };
    for (let i = 0; i < 100; i++) make(8);
    const used = new Uint32Array(profiled.shadow.buffer, stack, (endBytes - stack) / 4).findLastIndex(
      (word) => word !== 0,
    );
    expect(used).toBeLessThan(4);
    expect(profiled.heap.allocations).toBe(100);
  });
});

describe("tail calls", () => {
  const chain = (call: (name: string, index: number) => string) =>
    wat(`(module ${TYPES} (memory 1 1) ${BUMP} (table 2 funcref) (elem (i32.const 0) $even $odd)
      (func $even (export "even") (type $alloc)
        (if (i32.eqz (local.get 0)) (then (return (call $malloc (i32.const 8)))))
        ${call("$odd", 1)})
      (func $odd (export "odd") (type $alloc) ${call("$even", 0)})
      (func $hidden (param i32) (result i32) ${call("$even", 0)})
      (func $run (export "run") (param i32) (result i32) (call $hidden (local.get 0))))`);
  const LESS = "(i32.sub (local.get 0) (i32.const 1))";

  it.each([
    // A function that made a tail call by name is still on the path; a function that made one through a table is not.
    ["by name", chain((name) => `(return_call ${name} ${LESS})`), "even < hidden < run"],
    [
      "through a table",
      chain((_, i) => `(return_call_indirect (type $alloc) ${LESS} (i32.const ${i}))`),
      "even < run",
    ],
  ])("%s take no stack, however long they go on", (_how, bytes, inside) => {
    const profiled = new Profiled(bytes);
    expect([profiled.call("even", 1_000_000), profiled.call("run", 1_000_001)]).toEqual([4096, 4128]);
    expect(profiled.stacks()).toEqual({ even: 1, [inside]: 1 });
  });
});

describe("a start function", () => {
  const module = wat(`(module (memory (export "memory") 1 1) ${BUMP}
    (data (i32.const 100) "hello")
    (global $block (export "block") (mut i32) (i32.const 0))
    (func $prepare (global.set $block (call $malloc (i32.load8_u (i32.const 100)))))
    (func $start (call $prepare) (i32.store (global.get $block) (i32.const 5)) (drop (call $malloc (i32.const 3))))
    (start $start)
    (func (export "run") (result i32) (call $free (global.get $block)) (i32.load (global.get $block))))`);

  it("is profiled, though nobody listens yet", () => {
    expectTransparent(module, [["run"]], { allocator: ALLOCATOR });
    const profiled = new Profiled(module);
    expect(profiled.stacks()).toEqual({ "prepare < start": 1, start: 1 });
    profiled.call("run");
    expect(profiled.heap).toMatchObject({ allocations: 2, frees: 1, heapAccesses: 1, otherAccesses: 2 });
  });
});
