import { describe, expect, it } from "vitest";
import { decodeModule } from "../../../src/code/wasm/index.ts";
import { instrument } from "../../../src/record/tools/index.ts";
import { wat } from "../../support/assemble.ts";
import { type Call, expectTransparent } from "../../support/behaviour.ts";
import { EXACT, MERGED, Watched } from "../../support/counters.ts";

const module = (body: string, rest = "") =>
  wat(`(module (memory (export "memory") 1 1) ${rest}
    (func (export "run") (param $p i32) (param $q i32) (result i32) (local $i i32) (local $w i64) (local $r i32)
      ${body} (local.get $r)))`);

const P = 1024;
const Q = 2048;
const LOAD_P = "(local.set $r (i32.add (local.get $r) (i32.load (local.get $p))))";
const STORE_P = "(i32.store (local.get $p) (local.get $r))";
const ZERO_Q: Call = ["run", P, 0];
const NONZERO_Q: Call = ["run", P, Q];

function expectSame(body: string, rest = ""): number {
  return expectTransparent(module(body, rest), [ZERO_Q, NONZERO_Q, ["run", P + 3, 1], ["run", Q, P]]).total;
}

describe("accesses with one base", () => {
  const merged = (body: string): Record<number, number> => {
    const watched = new Watched(module(body), MERGED);
    watched.call("run", P, Q);
    return watched.counts();
  };

  it("share a counter inside a basic block", () => {
    const fields =
      "(i32.store offset=8 (local.get $p) (i32.const 1)) (i32.store offset=40 (local.get $p) (i32.const 1))";
    expect(merged(`${LOAD_P} ${fields} ${LOAD_P}`)).toEqual({ [P]: 4 });
    expect(merged(`${fields} (i32.store (local.get $q) (i32.const 1)) ${LOAD_P}`)).toEqual({
      [P + 8]: 3,
      [Q]: 1,
    });
    expect(
      merged(
        `(local.set $i (i32.add (local.get $p) (i32.const 16))) (i32.store (local.get $i) (i32.const 1)) ${LOAD_P}`,
      ),
    ).toEqual({ [P + 16]: 2 });
  });

  it("do not share one across branches, calls and loop headers", () => {
    expect(expectSame(`${LOAD_P} (if (local.get $q) (then ${LOAD_P} ${LOAD_P})) ${LOAD_P}`)).toBe(
      4 * 2 + 2 * 3,
    );
    expectSame(`${LOAD_P} (block (br_if 0 (local.get $q)) ${LOAD_P} ${STORE_P}) ${LOAD_P}`);
    expectSame(`${LOAD_P} (block ${LOAD_P} (br 0)) ${LOAD_P}`);
    expectSame(`${LOAD_P} (call $stop) ${LOAD_P}`, "(func $stop)");
  });

  it("go on sharing through a block that nothing leaves early", () => {
    expect(merged(`${LOAD_P} (block ${LOAD_P} (block ${STORE_P})) ${LOAD_P}`)).toEqual({ [P]: 4 });
  });

  it("are told apart once the local has another value", () => {
    expect(merged(`${LOAD_P} (local.set $p (local.get $q)) ${LOAD_P}`)).toEqual({ [P]: 1, [Q]: 1 });
    expect(
      merged(`${LOAD_P} (local.set $p (i32.load (local.get $q))) (local.set $p (i32.const 512)) ${LOAD_P}`),
    ).toEqual({ 512: 1, [P]: 1, [Q]: 1 });
    expectSame(`(if (local.get $q) (then (local.set $p (local.get $q))) (else ${LOAD_P})) ${LOAD_P}`);
  });

  it("keep their place when the local changes between the address and the access", () => {
    expect(merged("(i32.store (local.get $p) (local.tee $p (local.get $q)))")).toEqual({ [P]: 1 });
    expect(
      merged(
        "(i32.store offset=4 (local.get $p) (block (result i32) (local.set $p (i32.const 8)) (i32.const 1)))",
      ),
    ).toEqual({ [P]: 1 });
    expectSame(
      "(i32.store (local.get $p) (if (result i32) (local.get $q) (then (local.set $p (i32.const 8)) (i32.const 1)) (else (i32.const 2))))",
    );
    expectSame(
      "(i32.store (local.tee $i (local.get $p)) (loop (result i32) (local.set $i (i32.add (local.get $i) (i32.const 8))) (i32.store (local.get $i) (i32.const 1)) (br_if 0 (i32.lt_u (local.get $i) (i32.const 2000))) (i32.const 3)))",
    );
  });
});

describe("structured control flow", () => {
  it("blocks, ifs and loops with several parameters and results", () => {
    const pair = "(type $pair (func (param i32 i32) (result i32 i32)))";
    expectSame(
      `(local.get $p) (local.get $q)
       (block (type $pair) (i32.store offset=4) (local.get $p) (i32.const 9))
       (if (type $pair) (local.get $q)
         (then (i32.store offset=8) (local.get $p) (i32.load offset=8 (local.get $p)))
         (else (i32.store8 offset=9) (i32.const 640) (i32.const 3)))
       (loop (type $pair) (i32.store offset=12) (local.get $p) (i32.load offset=12 (local.get $p))
         (br_if 0 (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 5))))
       (i32.store offset=16)`,
      pair,
    );
  });

  it("an address below other results is counted where it points", () => {
    const functions = `
      (func $two (result i32 i32) (i32.const 800) (i32.const 16))
      (func $far (result i32 i32) (i32.const 808) (i32.const -1))
      (func $four (result i32 i64 i32 f64) (i32.const 816) (i64.const 5) (i32.const 824) (f64.const 7))`;
    const bytes = module(
      `(call $two) (i32.store)
       (call $far) (i32.store offset=4)
       (call $four) (f64.store) (i64.store)
       (local.get $p) (local.get $q) (block (param i32 i32) (i32.store offset=8))
       (local.get $p) (local.get $p) (call $two) (drop) (i32.store) (i32.load) (local.set $r)`,
      functions,
    );
    expectTransparent(bytes, [ZERO_Q, NONZERO_Q]);
    const watched = new Watched(bytes, EXACT);
    watched.call("run", P, Q);
    expect(watched.counts()).toEqual({ 800: 1, 808: 1, 816: 1, 824: 1, [P]: 2, [P + 8]: 1 });
  });

  it("br_table in all directions", () => {
    const bytes = module(`
      (block $out
        (block $three (block $two (block $one
          (loop $again
            ${LOAD_P}
            (local.set $i (i32.add (local.get $i) (i32.const 1)))
            (br_table $again $one $two $three $out (i32.rem_u (i32.add (local.get $i) (local.get $q)) (i32.const 5)))))
          ${STORE_P} ${LOAD_P} (br $out))
          ${LOAD_P})
        (i32.store offset=4 (local.get $p) (i32.const 3)) ${LOAD_P})
      ${LOAD_P}`);
    expectTransparent(
      bytes,
      [0, 1, 2, 3, 4, 5, 9].map((q): Call => ["run", P, q]),
    );
  });

  it("return, unreachable and code that nothing reaches", () => {
    expectSame(`${LOAD_P} (if (local.get $q) (then ${STORE_P} (return (local.get $i)))) ${LOAD_P}`);
    expectSame(
      `(block ${LOAD_P} (br 0) ${LOAD_P} (i32.store (i32.const 4)) (drop (i32.load)) (block (loop (br 1) (f64.store))) ${LOAD_P}) ${LOAD_P}`,
    );
    expectSame(
      `${LOAD_P} (return (i32.load offset=4 (local.get $p))) (i32.store) (i32.load) (loop (result i32) ${LOAD_P} (br 0) (i64.store) (i32.load)) (drop) (select) (if (then (unreachable) (i32.load) (drop)) (else (br 0) (i32.store)))`,
    );
    expectSame(
      `(block (block (br 1) (if (result i32) (i32.load) (then (unreachable)) (else (unreachable) (i32.load))) (drop))) ${LOAD_P}`,
    );
    expectTransparent(module(`${LOAD_P} (if (local.get $q) (then (unreachable) (i32.store))) ${LOAD_P}`), [
      NONZERO_Q,
      ZERO_Q,
      ["run", 65533, 0],
    ]);
  });

  it("select, tee chains, drops and addresses that are loaded themselves", () => {
    expectSame(`(i32.store (select (local.get $p) (i32.const 3000) (local.get $q)) (i32.const 7)) ${LOAD_P}`);
    expectSame(
      `(i32.store (local.tee $i (local.tee $r (i32.add (local.get $p) (i32.const 4)))) (i32.const 7)) (i32.store (local.get $i) (i32.const 8)) (i32.store offset=4 (local.get $r) (i32.const 8)) (local.set $r (i32.const 1))`,
    );
    expectSame(
      `(i32.store (local.get $p) (i32.const 640)) (i32.store (i32.load (local.get $p)) (i32.const 648)) (local.set $r (i32.load (i32.load (i32.load (local.get $p)))))`,
    );
    expectSame(
      "(i32.store (i32.add (i32.load (i32.const 0)) (i32.const 4)) (i32.load (i32.add (i32.load (i32.const 0)) (i32.const 4))))",
    );
  });
});

describe("unusual function bodies", () => {
  it("empty ones, ones without accesses, a module of nothing else", () => {
    const empty = wat(
      `(module (memory 1 1) (func (export "nothing")) (func (export "same") (param i32) (result i32) (local.get 0)))`,
    );
    const { bytes } = instrument(empty, MERGED);
    expectTransparent(empty, [["nothing"], ["same", 4]]);
    const [before, after] = [decodeModule(empty), decodeModule(bytes)];
    after.bodies.slice(0, 2).forEach((body, i) => {
      const own = before.bodies[i];
      expect(bytes.subarray(body.start, body.end)).toEqual(empty.subarray(own.start, own.end));
    });
  });

  it("hundreds of locals of all types, so that indices take two bytes", () => {
    const locals = Array.from(
      { length: 300 },
      (_, i) => `(local $l${i} ${["i32", "i64", "f32", "f64", "v128"][i % 5]})`,
    );
    const bytes =
      wat(`(module (memory (export "memory") 1 1) (func (export "run") (param $p i32) (param $q i32) (result i32)
      ${locals.join(" ")}
      (local.set $l295 (i32.add (local.get $p) (i32.const 8)))
      (i32.store (local.get $l295) (local.get $q))
      (loop (i32.store8 offset=3 (local.get $l295) (i32.const 1)) (local.set $l295 (i32.add (local.get $l295) (i32.const 3)))
        (br_if 0 (i32.lt_u (local.tee $l290 (i32.add (local.get $l290) (i32.const 1))) (i32.const 20))))
      (f64.store (i32.mul (local.get $p) (i32.const 2)) (local.get $l298))
      (v128.store (i32.mul (local.get $p) (i32.const 3)) (local.get $l299))
      (i32.add (i32.load (i32.mul (local.get $p) (i32.const 2))) (i32.load (local.get $l295)))))`);
    expectTransparent(bytes, [NONZERO_Q, ZERO_Q]);
  });

  it("operand stacks higher than a block of the simulation's columns", () => {
    const depth = 3000;
    const bytes = module(
      `${"(i32.load (local.get $p))".repeat(depth)} ${"(i32.add)".repeat(depth - 1)} (local.set $r)
       ${"(local.get $p)".repeat(1500)} (i32.const 0) ${"(i32.add)".repeat(1500)} (local.set $i)`,
    );
    expect(expectTransparent(bytes, [NONZERO_Q]).total).toBe(depth);
  });

  it("nesting deeper than a block of the simulation's columns, and very many loops", () => {
    const deep = 1000;
    // The text of such a module exceeds the assembler's limits, so the bytes are given: (drop (i32.load (local.get 0))) in every block.
    const load = [0x20, 0, 0x28, 2, 0, 0x1a];
    const open = Array.from({ length: deep }, (_, i) => [i % 3 === 0 ? 0x03 : 0x02, 0x40, ...load]);
    const code = [0, ...open.flat(), ...Array(deep).fill(0x0b), 0x41, 0, 0x0b];
    const nested = withBodies(module(""), [code]);
    expect(expectTransparent(nested, [NONZERO_Q]).total).toBe(deep);
    const loop = `(local.set $i (i32.const 3)) (loop ${LOAD_P} (br_if 0 (local.tee $i (i32.sub (local.get $i) (i32.const 1)))))`;
    expect(expectTransparent(module(loop.repeat(400)), [NONZERO_Q]).total).toBe(1200);
  });

  it("bodies with more insertions than fit any first guess", () => {
    const many = Array.from(
      { length: 3000 },
      (_, i) => `(i32.store (i32.load offset=${i % 64} (local.get $p)) (i32.const 0))`,
    );
    expectTransparent(module(many.join(" ")), [ZERO_Q]);
  });
});

const pad = (value: number) =>
  [0, 7, 14, 21].map((shift) => ((value >>> shift) & 127) | 128).concat((value >>> 28) & 127);

/** The module with other bodies, each given as the bytes of its locals and code. */
function withBodies(bytes: Uint8Array, bodies: readonly number[][]): Uint8Array {
  const section = decodeModule(bytes).sections.find(({ id }) => id === 10) as {
    start: number;
    payloadEnd: number;
  };
  const payload = [...pad(bodies.length), ...bodies.flatMap((body) => [...pad(body.length), ...body])];
  const before = bytes.subarray(0, section.start);
  return Uint8Array.of(
    ...before,
    10,
    ...pad(payload.length),
    ...payload,
    ...bytes.subarray(section.payloadEnd),
  );
}

/** Pads every number in the bodies to five bytes: sizes, counts of locals, indices and offsets. */
function padded(bytes: Uint8Array): Uint8Array {
  const bodies = decodeModule(bytes).bodies.map((body) => {
    const code: number[] = [...pad(0)];
    for (let at = body.codeStart; at < body.end; ) {
      const byte = bytes[at];
      // The bodies contain only local.get and call, i32.load and i32.store, drop and end.
      const [indexed, accesses] = [byte === 0x20 || byte === 0x10, byte === 0x28 || byte === 0x36];
      if (indexed) code.push(byte, ...pad(bytes[at + 1]));
      else if (accesses) code.push(byte, bytes[at + 1], ...pad(bytes[at + 2]));
      else code.push(byte);
      at += indexed ? 2 : accesses ? 3 : 1;
    }
    return code;
  });
  return withBodies(bytes, bodies);
}

it("numbers padded to more bytes than they need", () => {
  const bytes = wat(`(module (memory (export "memory") 1 1)
    (func $f (export "run") (param i32) (param i32) (result i32)
      (i32.store offset=9 (local.get 0) (local.get 1)) (drop (i32.load offset=3 (local.get 1))) (call $g (local.get 0)))
    (func $g (param i32) (result i32) (i32.load offset=9 (local.get 0))))`);
  const long = padded(bytes);
  expect(long.length).toBeGreaterThan(bytes.length + 30);
  expect(expectTransparent(long, [NONZERO_Q]).total).toBe(3);
});
