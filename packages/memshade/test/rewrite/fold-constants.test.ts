import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { foldConstants } from "../../src/rewrite/link/fold-constants.ts";
import { decodeModule, reencodeModule } from "../../src/wasm/index.ts";
import { wat } from "../support/assemble.ts";

const module = (body: string, result = "") =>
  wat(`(module
    (import "layout" "yes" (global $yes i32))
    (import "layout" "no" (global $no i32))
    (import "layout" "size" (global $size i32))
    (import "layout" "unknown" (global $unknown i32))
    (memory (export "memory") 1)
    (func (export "run") (param $p i32) (param $q i32) ${result} (local $l i32) (local $w i64) ${body}))`);

const VALUES = [1, 0, 0x12345, undefined];

/** Code of the only function. */
function codeOf(bytes: Uint8Array): string {
  const decoded = decodeModule(bytes);
  const { codeStart, end } = decoded.bodies[0];
  return Buffer.from(decoded.bytes.subarray(codeStart, end)).toString("hex");
}

const folded = (body: string, result?: string) =>
  codeOf(reencodeModule(foldConstants(decodeModule(module(body, result)), VALUES)));
const code = (body: string, result?: string) => codeOf(module(body, result));

/** Expects that what is left of `body` is `left`, and that this is a valid module. */
function expectLeft(body: string, left: string, result?: string): void {
  expect(folded(body, result)).toBe(code(left, result));
  const bytes = reencodeModule(foldConstants(decodeModule(module(body, result)), VALUES));
  expect(WebAssembly.validate(bytes as Uint8Array<ArrayBuffer>)).toBe(true);
}

const STORE = (at: string | number) => `(i32.store offset=${at} (local.get $p) (local.get $q))`;

describe("what constants decide", () => {
  it("is left out where it cannot run", () => {
    expectLeft(
      `(if (global.get $no) (then ${STORE(1)})) (if (global.get $yes) (then ${STORE(2)}) (else ${STORE(3)}))
       (if (global.get $no) (then ${STORE(4)}) (else ${STORE(5)}))`,
      `${STORE(2)} ${STORE(5)}`,
    );
  });

  it("decides what depends on it", () => {
    const inner =
      "(if (result i32) (global.get $yes) (then (i32.eqz (global.get $no))) (else (local.get $p)))";
    expectLeft(`(if ${inner} (then ${STORE(1)}) (else ${STORE(2)}))`, STORE(1));
    expectLeft(
      "(i64.mul (i64.extend_i32_u (i32.const -2)) (i64.const 3))",
      "(i64.const 12884901882)",
      "(result i64)",
    );
  });

  it("stays where it is not known", () => {
    const body = `(if (global.get $unknown) (then ${STORE(1)})) (if (local.get $p) (then ${STORE(2)}) (else ${STORE(3)}))
      (i32.store (local.get $q) (global.get $size))`;
    expectLeft(body, body);
  });

  it("leaves no trace of zeros that are added", () => {
    expectLeft(
      "(i32.or (local.get $p) (i32.and (global.get $no) (global.get $size)))",
      "(local.get $p)",
      "(result i32)",
    );
  });

  it("chooses operands", () => {
    const select = (condition: string) => `(select (i32.const 5) (i32.const 6) ${condition})`;
    expectLeft(select("(global.get $yes)"), "(i32.const 5)", "(result i32)");
    expectLeft(select("(global.get $no)"), "(i32.const 6)", "(result i32)");
    expectLeft("(select (local.get $p) (i32.const 6) (global.get $yes))", "(local.get $p)", "(result i32)");
    const unknown = "(select (local.get $p) (i32.const 6) (global.get $no))";
    expectLeft(unknown, unknown, "(result i32)");
  });
});

describe("branches", () => {
  it("lead where they led when blocks around them are gone", () => {
    expectLeft(
      `(block $out (if (global.get $yes) (then (block $in (br_if $in (local.get $p)) (br_if $out (local.get $q)) ${STORE(1)}))))`,
      `(block $out (block $in (br_if $in (local.get $p)) (br_if $out (local.get $q)) ${STORE(1)}))`,
    );
    expectLeft(
      `(block $a (block $b (if (global.get $yes) (then (br_table $a $b $a (local.get $p))))))`,
      `(block $a (block $b (br_table $a $b $a (local.get $p))))`,
    );
  });

  it("keep the block that they leave", () => {
    expectLeft(
      `(if $out (global.get $yes) (then (br_if $out (local.get $p)) ${STORE(1)}) (else ${STORE(2)}))`,
      `(block $out (br_if $out (local.get $p)) ${STORE(1)})`,
    );
    expectLeft(
      `(if $out (global.get $no) (then ${STORE(2)}) (else (br_table $out (local.get $p))))`,
      `(block $out (br_table $out (local.get $p)))`,
    );
  });

  it("are taken or not when that is known", () => {
    expectLeft(`(block $out (br_if $out (global.get $no)) ${STORE(1)})`, `(block $out ${STORE(1)})`);
    expectLeft(
      `(block $out (br_if $out (global.get $yes)) ${STORE(1)}) ${STORE(2)}`,
      `(block $out (br $out)) ${STORE(2)}`,
    );
  });

  it("have nothing behind them", () => {
    expectLeft(`(if (global.get $yes) (then (return))) ${STORE(1)}`, "(return)");
    expectLeft(
      `(if (local.get $p) (then (if (global.get $yes) (then (unreachable) ${STORE(1)}) (else ${STORE(2)})) ${STORE(3)}) (else ${STORE(4)})) ${STORE(5)}`,
      `(if (local.get $p) (then (unreachable)) (else ${STORE(4)})) ${STORE(5)}`,
    );
    expectLeft(
      `(block $out (if $kept (global.get $yes) (then (br_if $kept (local.get $p)) (br $out) ${STORE(1)}) (else ${STORE(2)})) ${STORE(3)})`,
      `(block $out (block $kept (br_if $kept (local.get $p)) (br $out)) ${STORE(3)})`,
    );
  });
});

/** Statements that write to memory what they see, in random nests of known and unknown conditions. */
function statement(depth: number, labels: number): fc.Arbitrary<string> {
  const leaf = fc
    .tuple(fc.integer({ min: 0, max: 60 }), expression(2))
    .map(([at, value]) => `(i32.store offset=${at * 4} (i32.const 0) ${value})`);
  if (depth === 0) return leaf;
  const inner = (more: number) =>
    fc.array(statement(depth - 1, labels + more), { maxLength: 3 }).map((all) => all.join(" "));
  const branch = fc
    .tuple(
      fc.nat(Math.max(labels - 1, 0)),
      expression(1),
      fc.constantFrom("br", "br_if", "br_table", "return"),
    )
    .map(([label, condition, kind]) => {
      if (labels === 0 || kind === "return") return `(if ${condition} (then (return)))`;
      if (kind === "br") return `(br ${label})`;
      return kind === "br_if" ? `(br_if ${label} ${condition})` : `(br_table 0 ${label} ${condition})`;
    });
  return fc.oneof(
    leaf,
    branch,
    inner(1).map((body) => `(block ${body})`),
    fc.tuple(expression(2), inner(1), inner(1)).map(([c, a, b]) => `(if ${c} (then ${a}) (else ${b}))`),
    fc.tuple(expression(2), inner(1)).map(([c, a]) => `(if ${c} (then ${a}))`),
  );
}

function expression(depth: number): fc.Arbitrary<string> {
  const leaf = fc.oneof(
    fc.constantFrom(
      "(global.get $yes)",
      "(global.get $no)",
      "(global.get $size)",
      "(global.get $unknown)",
      "(local.get $p)",
    ),
    fc.integer({ min: -3, max: 40 }).map((value) => `(i32.const ${value})`),
  );
  if (depth === 0) return leaf;
  const next = expression(depth - 1);
  const binary = "add sub mul and or xor shl shr_s shr_u eq ne lt_s lt_u gt_s gt_u le_s le_u ge_s ge_u".split(
    " ",
  );
  const wide = "add sub mul and or xor shl shr_u".split(" ");
  return fc.oneof(
    leaf,
    fc.tuple(fc.constantFrom(...binary), next, next).map(([op, a, b]) => `(i32.${op} ${a} ${b})`),
    fc
      .tuple(fc.constantFrom(...wide), next, next, fc.constantFrom("s", "u"))
      .map(
        ([op, a, b, sign]) =>
          `(i32.wrap_i64 (i64.shr_u (i64.${op} (i64.extend_i32_${sign} ${a}) (i64.extend_i32_u ${b})) (i64.const 7)))`,
      ),
    fc
      .tuple(fc.constantFrom("eq", "ne"), next, next)
      .map(([op, a, b]) => `(i64.${op} (i64.extend_i32_s ${a}) (i64.extend_i32_s ${b}))`),
    next.map((a) => `(i32.eqz ${a})`),
    fc.tuple(next, next, next).map(([a, b, c]) => `(select ${a} ${b} ${c})`),
    fc.tuple(next, next, next).map(([c, a, b]) => `(if (result i32) ${c} (then ${a}) (else ${b}))`),
  );
}

/** What a run leaves in memory. */
async function memoryAfter(bytes: Uint8Array, p: number): Promise<string> {
  const [yes, no, size] = VALUES;
  const { instance } = await WebAssembly.instantiate(bytes as Uint8Array<ArrayBuffer>, {
    layout: { yes, no, size, unknown: 7 } as WebAssembly.ModuleImports,
  });
  (instance.exports.run as (p: number, q: number) => void)(p, 3);
  return Buffer.from((instance.exports.memory as WebAssembly.Memory).buffer, 0, 256).toString("hex");
}

it("random functions do what they did", async () => {
  const body = fc.array(statement(4, 0), { minLength: 1, maxLength: 5 }).map((all) => all.join("\n"));
  await fc.assert(
    fc.asyncProperty(body, fc.constantFrom(0, 1, 9, -1), async (text, p) => {
      const bytes = module(text);
      const less = reencodeModule(foldConstants(decodeModule(bytes), VALUES));
      expect(await memoryAfter(less, p)).toBe(await memoryAfter(bytes, p));
    }),
    { numRuns: 400 },
  );
}, 60_000);
