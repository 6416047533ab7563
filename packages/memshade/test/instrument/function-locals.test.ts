import { expect, test } from "vitest";
import { FormatError } from "../../src/bytes/errors.ts";
import { instrument } from "../../src/instrument/index.ts";

/** A module with a memory and one function that declares `count` i32 locals (LEB bytes) and loads from address 0. */
function moduleWithLocals(count: readonly number[]): Uint8Array {
  const body = [1, ...count, 0x7f, 0x41, 0, 0x28, 2, 0, 0x1a, 0x0b];
  const code = [1, body.length, ...body];
  return Uint8Array.of(
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...[1, 4, 1, 0x60, 0, 0],
    ...[3, 2, 1, 0],
    ...[5, 3, 1, 0, 1],
    ...[10, code.length, ...code],
  );
}

test("a function with nearly as many locals as engines accept is rewritten", () => {
  const { bytes } = instrument(moduleWithLocals([0xc8, 0x86, 0x03]), { countersOnly: true });
  expect(WebAssembly.validate(bytes as BufferSource)).toBe(true);
});

test("four billion locals end in an error at once", () => {
  expect(() => instrument(moduleWithLocals([0xff, 0xff, 0xff, 0xff, 0x0f]), { countersOnly: true })).toThrow(
    FormatError,
  );
});
