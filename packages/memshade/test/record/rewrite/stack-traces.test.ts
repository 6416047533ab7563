import { describe, expect, it } from "vitest";
import { instrument } from "../../../src/record/tools/index.ts";
import { wat } from "../../support/assemble.ts";
import { BUMP } from "../../support/profiled.ts";

/** Functions of the module on the stack of a trap or of a host exception; repeats in a row once. */
function framesOf(bytes: Uint8Array, name: string): string[] {
  const module = new WebAssembly.Module(bytes as BufferSource);
  const imports = {
    env: {
      fail: () => {
        throw new Error("failed");
      },
    },
  };
  const instance = new WebAssembly.Instance(module, imports);
  try {
    (instance.exports[name] as () => void)();
  } catch (error) {
    const frames = [...(error as Error).stack!.matchAll(/at (?:\S*?\.)?(\S+) \(wasm:/g)].map(
      ([, frame]) => frame,
    );
    return frames.filter((frame, i) => frame !== frames[i - 1]);
  }
  throw new Error("nothing was thrown");
}

const PROGRAM = wat(`(module
  (import "env" "fail" (func $fail))
  (memory (export "memory") 1 1) ${BUMP}
  (table (export "table") 2 funcref) (elem (i32.const 0) $indirect)
  (func $inner (drop (call $malloc (i32.const 8))) (i32.store (i32.const -1) (i32.const 0)))
  (func $indirect (call $inner))
  (func $trap (export "trap") (call_indirect (i32.const 0)))
  (func $throw (export "throw") (drop (call $malloc (i32.const 8))) (call $fail))
  (func $recursive (param i32)
    (if (local.get 0) (then (call $recursive (i32.sub (local.get 0) (i32.const 1)))) (else (call $inner))))
  (func $deep (export "deep") (call $recursive (i32.const 2))))`);

describe("stack traces name the functions of an instrumented module as those of the plain one", () => {
  const { bytes } = instrument(PROGRAM);

  it.each(["trap", "throw", "deep"])("after %s", (name) => {
    const plain = framesOf(PROGRAM, name);
    expect(plain.length).toBeGreaterThan(0);
    expect(framesOf(bytes, name)).toEqual(plain);
  });
});
