import binaryen from "binaryen";
import { describe, expect, it } from "vitest";
import { OPCODES } from "../../../src/code/wasm/index.ts";
import { ByteWriter } from "../../../src/ground/bytes/writer.ts";
import type { Operator } from "./reference/operators.ts";
import { writeInstruction } from "./reference/write-instruction.ts";
import { assemble, firstBody, printedBody } from "./support.ts";

const VALUE_TYPES = new Set(["i32", "i64", "f32", "f64", "v128"]);

/** Ids of instructions that an assembler wrote and that decode to the same name. */
const confirmed = new Set<number>();

function confirm(operators: Operator[], bytes: Uint8Array): void {
  for (const operator of operators) {
    confirmed.add(operator.id);
    const writer = new ByteWriter();
    writeInstruction(writer, operator.id, operator.immediates);
    expect(writer.finish()).toEqual(bytes.slice(operator.offset, operator.end));
  }
}

/** Immediate as text and the operand types, for instructions whose use follows from their table row alone. */
function generate(row: (typeof OPCODES)[number]): { body: string; printed: string } | undefined {
  const [, name, immediate, signature, , access] = row as readonly string[] as [number, ...string[]];
  const [popped, pushed] = signature.split("->").map((side) => side.trim().split(" ").filter(Boolean));
  const operands = popped.map((type) => (type === "addr" ? "i32" : type));
  const results = pushed.map((type) => (type === "addr" ? "i32" : type));
  if (![...operands, ...results].every((type) => VALUE_TYPES.has(type))) return undefined;
  const align = access?.split(" ")[1];
  const immediates: Partial<Record<string, string>> = {
    None: "",
    Memarg: ` offset=24 align=${align}`,
    MemargLane: ` offset=24 align=${align} 1`,
    Lane: " 1",
    Shuffle: " 0 1 2 3 4 5 6 7 24 25 26 27 28 29 30 31",
  };
  if (immediate === "MemargLane" && align === "8") immediates.MemargLane = ` offset=24 align=8 0`;
  const text = immediates[immediate];
  if (text === undefined || row[0] < 0x20) return undefined;
  const gets = operands.map((_, index) => `local.get ${index}`).join(" ");
  const params = operands.map((type) => `(param ${type})`).join(" ");
  const result = results.length === 0 ? "" : `(result ${results.join(" ")})`;
  return { body: `(func ${params} ${result} ${gets} ${name}${text})`, printed: `${name}${text}` };
}

describe("instructions whose immediates follow from the table", () => {
  const assembleWide = (name: string) => name.includes("128") || name.includes("mul_wide");
  for (const row of OPCODES) {
    const generated = generate(row);
    if (generated === undefined) continue;
    it(`${generated.printed} is read as an assembler wrote it`, () => {
      const text = `(module (memory 1) ${generated.body})`;
      const bytes = row[4] === "wide-arithmetic" && assembleWide(row[1]) ? modernize(text) : assemble(text);
      const operator = firstBody(bytes).at(-1) as Operator;
      expect(printedBody(bytes).at(-1)).toBe(generated.printed);
      expect(operator.id).toBe(row[0]);
      confirm([operator], bytes);
    });
  }
});

const PRELUDE = `
  (type $unary (func (param i32) (result i32)))
  (import "env" "f" (func $imported (param i32) (result i32)))
  (memory $m0 1) (memory $m1 1) (memory $m2 i64 1)
  (table $t0 4 funcref) (table $t1 4 externref)
  (global $g0 i32 (i32.const 0)) (global $g1 (mut i64) (i64.const 0))
  (tag $tag0 (param i32)) (tag $tag1 (param i32))
  (elem $e0 func $imported) (elem $e1 func $imported)
  (data $d0 "a") (data $d1 "b")`;

const WRITTEN_WITH_WABT: [printed: string, func: string][] = [
  ["unreachable", "(func unreachable)"],
  ["nop", "(func nop)"],
  ["block", "(func block end)"],
  ["block (result f64)", "(func block (result f64) f64.const 0 end drop)"],
  ["block (result externref)", "(func block (result externref) ref.null extern end drop)"],
  ["loop (type 0)", "(func i32.const 0 loop (type $unary) end drop)"],
  ["if (result i32)", "(func i32.const 0 if (result i32) i32.const 1 else i32.const 2 end drop)"],
  ["else", "(func i32.const 0 if nop else nop end)"],
  ["end", "(func block end)"],
  ["try", "(func try catch_all end)"],
  ["catch 1", "(func try catch $tag0 drop catch $tag1 drop end)"],
  ["catch_all", "(func try catch_all end)"],
  ["rethrow 1", "(func try catch_all block rethrow 1 end end)"],
  ["delegate 0", "(func try try delegate 0 catch_all end)"],
  ["throw 1", "(func i32.const 0 throw $tag1)"],
  ["throw_ref", "(func (param exnref) local.get 0 throw_ref)"],
  [
    "try_table (result i32) (catch 1 0) (catch_all 1)",
    "(func block block (result i32) try_table (result i32) (catch $tag1 0) (catch_all 1) i32.const 0 end end drop end)",
  ],
  [
    "try_table (catch_ref 0 0) (catch_all_ref 1)",
    "(func (local exnref) block (result exnref) block (result i32 exnref) try_table (catch_ref $tag0 0) (catch_all_ref 1) end return end local.set 0 drop local.get 0 end drop)",
  ],
  ["br 1", "(func block block br 1 end end)"],
  ["br_if 1", "(func block block i32.const 0 br_if 1 end end)"],
  ["br_table 0 1 1 2", "(func block block i32.const 0 br_table 0 1 1 2 end end)"],
  ["br_table 1", "(func block i32.const 0 br_table 1 end)"],
  ["return", "(func return)"],
  ["call 0", "(func i32.const 0 call $imported drop)"],
  ["call_indirect 0 (type 0)", "(func i32.const 0 i32.const 0 call_indirect (type $unary) drop)"],
  ["return_call 0", "(func (result i32) i32.const 0 return_call $imported)"],
  [
    "return_call_indirect 0 (type 0)",
    "(func (result i32) i32.const 0 i32.const 0 return_call_indirect (type $unary))",
  ],
  ["drop", "(func i32.const 0 drop)"],
  ["select", "(func i32.const 0 i32.const 0 i32.const 0 select drop)"],
  [
    "select (result externref)",
    "(func ref.null extern ref.null extern i32.const 0 select (result externref) drop)",
  ],
  ["local.get 200", `(func (local ${"i32 ".repeat(201)}) local.get 200 drop)`],
  ["local.set 0", "(func (local i32) i32.const 0 local.set 0)"],
  ["local.tee 0", "(func (local i32) i32.const 0 local.tee 0 drop)"],
  ["global.get 0", "(func global.get $g0 drop)"],
  ["global.set 1", "(func i64.const 0 global.set $g1)"],
  ["table.get 1", "(func i32.const 0 table.get $t1 drop)"],
  ["table.set 1", "(func i32.const 0 ref.null extern table.set $t1)"],
  ["i32.load 1 offset=4 align=4", "(func i32.const 0 i32.load $m1 offset=4 drop)"],
  [
    "i64.store 2 offset=18446744073709551615 align=1",
    "(func i64.const 0 i64.const 0 i64.store $m2 offset=18446744073709551615 align=1)",
  ],
  ["v128.load8_lane 1 align=1 15", "(func i32.const 0 v128.const i64x2 0 0 v128.load8_lane $m1 15 drop)"],
  ["memory.size 1", "(func memory.size $m1 drop)"],
  ["memory.grow 1", "(func i32.const 0 memory.grow $m1 drop)"],
  ["memory.copy 1 0", "(func i32.const 0 i32.const 0 i32.const 0 memory.copy $m1 $m0)"],
  ["memory.fill 1", "(func i32.const 0 i32.const 0 i32.const 0 memory.fill $m1)"],
  ["memory.init 1 0", "(func i32.const 0 i32.const 0 i32.const 0 memory.init $m1 $d0)"],
  ["data.drop 1", "(func data.drop $d1)"],
  ["table.init 0 1", "(func i32.const 0 i32.const 0 i32.const 0 table.init $t0 $e1)"],
  ["elem.drop 1", "(func elem.drop $e1)"],
  ["table.copy 0 0", "(func i32.const 0 i32.const 0 i32.const 0 table.copy $t0 $t0)"],
  ["table.grow 1", "(func ref.null extern i32.const 0 table.grow $t1 drop)"],
  ["table.size 1", "(func table.size $t1 drop)"],
  ["table.fill 1", "(func i32.const 0 ref.null extern i32.const 0 table.fill $t1)"],
  ["i32.const -2147483648", "(func i32.const 0x80000000 drop)"],
  ["i64.const -9223372036854775808", "(func i64.const 0x8000000000000000 drop)"],
  ["f32.const -0", "(func f32.const -0 drop)"],
  ["f64.const nan:0x7ff4000000000001", "(func f64.const nan:0x4000000000001 drop)"],
  ["f64.const -inf", "(func f64.const -inf drop)"],
  [
    "v128.const i8x16 0x01 0x00 0x00 0x00 0x02 0x00 0x00 0x00 0x03 0x00 0x00 0x00 0xff 0xff 0xff 0xff",
    "(func v128.const i32x4 1 2 3 -1 drop)",
  ],
  ["ref.null extern", "(func ref.null extern drop)"],
  ["ref.is_null", "(func ref.null extern ref.is_null drop)"],
  ["ref.func 0", "(func ref.func $imported drop)"],
  ["atomic.fence", "(func atomic.fence)"],
];

describe("instructions with structure, assembled by wabt", () => {
  it.each(WRITTEN_WITH_WABT)("%s", (printed, func) => {
    const bytes = assemble(`(module ${PRELUDE} ${func})`);
    expect(printedBody(bytes)).toContain(printed);
    confirm(firstBody(bytes), bytes);
  });
});

function modernize(text: string): Uint8Array {
  const module = binaryen.parseText(text);
  try {
    module.setFeatures(binaryen.Features.All);
    expect(module.validate()).toBe(1);
    return module.emitBinary();
  } finally {
    module.dispose();
  }
}

const STRUCT = "(type $s (struct (field i32) (field (mut i64)) (field i8)))";
const BYTES = "(type $b (array (mut i8)))";
const WORDS = "(type $w (array (mut i32)))";
const ARRAY_OPERANDS = "(param $a (ref null $w))";

/** Instruction as printed, then the module; every module is small enough to see its indices. */
const WRITTEN_WITH_BINARYEN: [printed: string, fields: string][] = [
  ["call_ref 0", "(type $f (func)) (func (type $f) (call_ref $f (ref.func 0))) (elem declare func 0)"],
  [
    "return_call_ref 0",
    "(type $f (func)) (func (type $f) (return_call_ref $f (ref.func 0))) (elem declare func 0)",
  ],
  ["ref.as_non_null", "(func (param externref) (result (ref extern)) (ref.as_non_null (local.get 0)))"],
  ["br_on_null 0", "(func (param externref) (block $l (drop (br_on_null $l (local.get 0)))))"],
  [
    "br_on_non_null 0",
    "(func (param externref) (result (ref extern)) (block $l (result (ref extern)) (br_on_non_null $l (local.get 0)) (unreachable)))",
  ],
  ["ref.eq", "(func (param eqref eqref) (result i32) (ref.eq (local.get 0) (local.get 1)))"],
  ["ref.null none", "(func (result anyref) (ref.null none))"],
  ["ref.null noextern", "(func (result externref) (ref.null noextern))"],
  ["ref.null nofunc", "(func (result funcref) (ref.null nofunc))"],
  [
    "struct.new 0",
    `${STRUCT} (func (result (ref $s)) (struct.new $s (i32.const 1) (i64.const 2) (i32.const 3)))`,
  ],
  ["struct.new_default 0", `${STRUCT} (func (result (ref $s)) (struct.new_default $s))`],
  ["struct.get 0 1", `${STRUCT} (func (param (ref $s)) (result i64) (struct.get $s 1 (local.get 0)))`],
  ["struct.get_s 0 2", `${STRUCT} (func (param (ref $s)) (result i32) (struct.get_s $s 2 (local.get 0)))`],
  ["struct.get_u 0 2", `${STRUCT} (func (param (ref $s)) (result i32) (struct.get_u $s 2 (local.get 0)))`],
  ["struct.set 0 1", `${STRUCT} (func (param (ref $s)) (struct.set $s 1 (local.get 0) (i64.const 1)))`],
  ["array.new 0", `${WORDS} (func (result (ref $w)) (array.new $w (i32.const 7) (i32.const 3)))`],
  ["array.new_default 0", `${WORDS} (func (result (ref $w)) (array.new_default $w (i32.const 3)))`],
  [
    "array.new_fixed 0 2",
    `${WORDS} (func (result (ref $w)) (array.new_fixed $w 2 (i32.const 7) (i32.const 3)))`,
  ],
  [
    "array.new_data 0 0",
    `${BYTES} (data $d "abc") (func (result (ref $b)) (array.new_data $b $d (i32.const 0) (i32.const 3)))`,
  ],
  [
    "array.new_elem 0 0",
    `(type $fs (array (mut funcref))) (elem $e func $f) (func $f (result (ref $fs)) (array.new_elem $fs $e (i32.const 0) (i32.const 1)))`,
  ],
  [
    "array.get 0",
    `${WORDS} (func ${ARRAY_OPERANDS} (result i32) (array.get $w (local.get $a) (i32.const 1)))`,
  ],
  [
    "array.get_s 0",
    `${BYTES} (func (param (ref $b)) (result i32) (array.get_s $b (local.get 0) (i32.const 1)))`,
  ],
  [
    "array.get_u 0",
    `${BYTES} (func (param (ref $b)) (result i32) (array.get_u $b (local.get 0) (i32.const 1)))`,
  ],
  [
    "array.set 0",
    `${WORDS} (func ${ARRAY_OPERANDS} (array.set $w (local.get $a) (i32.const 1) (i32.const 2)))`,
  ],
  ["array.len", `${WORDS} (func ${ARRAY_OPERANDS} (result i32) (array.len (local.get $a)))`],
  [
    "array.fill 0",
    `${WORDS} (func ${ARRAY_OPERANDS} (array.fill $w (local.get $a) (i32.const 1) (i32.const 2) (i32.const 3)))`,
  ],
  [
    "array.copy 0 0",
    `${WORDS} (func ${ARRAY_OPERANDS} (array.copy $w $w (local.get $a) (i32.const 1) (local.get $a) (i32.const 2) (i32.const 3)))`,
  ],
  [
    "array.init_data 0 0",
    `${BYTES} (data $d "abc") (func (param (ref $b)) (array.init_data $b $d (local.get 0) (i32.const 0) (i32.const 0) (i32.const 3)))`,
  ],
  [
    "array.init_elem 0 0",
    `(type $fs (array (mut funcref))) (elem $e func $f) (func $f (param (ref $fs)) (array.init_elem $fs $e (local.get 0) (i32.const 0) (i32.const 0) (i32.const 1)))`,
  ],
  ["ref.test (ref 0)", `${STRUCT} (func (param anyref) (result i32) (ref.test (ref $s) (local.get 0)))`],
  ["ref.test (ref null i31)", "(func (param anyref) (result i32) (ref.test (ref null i31) (local.get 0)))"],
  ["ref.cast (ref struct)", "(func (param anyref) (result structref) (ref.cast (ref struct) (local.get 0)))"],
  [
    "ref.cast (ref null array)",
    "(func (param anyref) (result arrayref) (ref.cast (ref null array) (local.get 0)))",
  ],
  [
    "br_on_cast 0 (ref null any) (ref i31)",
    "(func (param anyref) (result anyref) (block $l (result anyref) (br_on_cast $l anyref (ref i31) (local.get 0))))",
  ],
  [
    "br_on_cast_fail 0 (ref null any) (ref null eq)",
    "(func (param anyref) (result anyref) (block $l (result anyref) (br_on_cast_fail $l anyref (ref null eq) (local.get 0))))",
  ],
  ["any.convert_extern", "(func (param externref) (result anyref) (any.convert_extern (local.get 0)))"],
  ["extern.convert_any", "(func (param anyref) (result externref) (extern.convert_any (local.get 0)))"],
  ["ref.i31", "(func (result i31ref) (ref.i31 (i32.const 5)))"],
  ["i31.get_s", "(func (param i31ref) (result i32) (i31.get_s (local.get 0)))"],
  ["i31.get_u", "(func (param i31ref) (result i32) (i31.get_u (local.get 0)))"],
  [
    "block (result (ref null 0))",
    `${STRUCT} (func (param (ref null $s)) (result (ref null $s)) (block $l (result (ref null $s)) (br_if $l (local.get 0) (i32.const 0))))`,
  ],
];

describe("instructions with structure, assembled by binaryen", () => {
  it.each(WRITTEN_WITH_BINARYEN)("%s", (printed, fields) => {
    const bytes = modernize(`(module ${fields})`);
    expect(printedBody(bytes)).toContain(printed);
    confirm(firstBody(bytes), bytes);
  });
});

describe("the instructions above", () => {
  it("are all that the table has", () => {
    const missing = OPCODES.filter(([id]) => !confirmed.has(id)).map(([, name]) => name);
    expect(missing).toEqual([]);
  });
});
