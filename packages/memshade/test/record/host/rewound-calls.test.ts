import { expect, it } from "vitest";
import { readRaw } from "../../../src/profile/formats/memprof-raw/index.ts";
import { profile } from "../../../src/record/host/profile.ts";
import type { Profile } from "../../../src/record/host/run/recorder.ts";
import { wat } from "../../support/assemble.ts";
import { BUMP } from "../../support/profiled.ts";

const ALLOCATE = "(drop (call $malloc (i32.const 8)))";

/** Code as Asyncify makes it: a waiting call is left by returning, and made again to resume. */
const MODULE = wat(`(module (import "host" "wait" (func $wait)) (memory 32 32) ${BUMP}
  (global $state (mut i32) (i32.const 0))
  (func (export "asyncify_start_unwind") (param i32) (global.set $state (i32.const 1)))
  (func (export "asyncify_stop_unwind") (global.set $state (i32.const 0)))
  (func (export "asyncify_start_rewind") (param i32) (global.set $state (i32.const 2)))
  (func (export "asyncify_stop_rewind") (global.set $state (i32.const 0)))
  (func $before ${ALLOCATE})
  (func $after ${ALLOCATE})
  (func (export "load") (param i32)
    (if (i32.eqz (global.get $state)) (then (if (local.get 0) (then (call $before)))))
    (call $wait)
    (if (global.get $state) (then (return)))
    (call $after))
  (func (export "quick") ${ALLOCATE}))`);

type Exports = Record<string, (...operands: number[]) => void>;

/** A model of the glue of such modules: one wait at a time for each data structure. */
class Glue {
  exports: Exports = {};
  #isRewinding = false;
  #data = 0;
  #isLeft = false;

  readonly wait = (): void => {
    if (this.#isRewinding) {
      this.#isRewinding = false;
      this.exports.asyncify_stop_rewind();
      return;
    }
    this.#isLeft = true;
    this.exports.asyncify_start_unwind(this.#data);
  };

  /** Calls the export, and returns a function that resumes the call after it has been left. */
  call(data: number, before: number): () => void {
    this.#data = data;
    this.exports.load(before);
    expect(this.#isLeft).toBe(true);
    this.#isLeft = false;
    this.exports.asyncify_stop_unwind();
    return function goOn(this: Glue) {
      this.#isRewinding = true;
      this.exports.asyncify_start_rewind(data);
      this.exports.load(before);
    }.bind(this);
  }
}

async function record(run: (glue: Glue) => void): Promise<Profile> {
  const glue = new Glue();
  return profile(
    MODULE,
    async (instantiate) => {
      glue.exports = (await instantiate({ host: { wait: glue.wait } })).exports as unknown as Exports;
      run(glue);
    },
    { name: "m", hostStacks: "exact" },
  );
}

/** Blocks by the two innermost JavaScript functions of their path that are not part of the glue. */
function callers({ run, raw }: Profile): Record<string, number> {
  const start = BigInt(run.host!.start);
  const found: Record<string, number> = {};
  for (const { pcs, mib } of readRaw(raw).contexts) {
    const host = pcs.filter((pc) => pc >= start).map((pc) => run.host!.frames[Number(pc - start) - 1].name);
    const path = host
      .filter((name) => name !== "call")
      .slice(0, 2)
      .join(" < ");
    found[path] = (found[path] ?? 0) + mib.allocCount;
  }
  return found;
}

it("what a call does that was left and goes on has the callers of the call", async () => {
  const recorded = await record(function program(glue) {
    const first = () => glue.call(16, 1);
    const second = () => glue.call(32, 0);
    const [one, other] = [first(), second()];
    const between = () => glue.exports.quick();
    between();
    other();
    one();
  });
  expect(callers(recorded)).toEqual({
    "first < program": 2,
    "second < program": 1,
    "between < program": 1,
  });
});

/** Properties of an instance's exports that a program can observe; dynamic linkers put all functions into a table. */
function looksOf({ exports }: WebAssembly.Instance): unknown[] {
  const table = new WebAssembly.Table({ element: "anyfunc", initial: 1 });
  const names: string[] = [];
  for (const name in exports) names.push(name);
  expect(names).toEqual(Reflect.ownKeys(exports));
  return names.map((name) => {
    const value = exports[name] as () => void;
    table.set(0, value);
    expect(table.get(0)).toBe(value);
    expect(value).toBeInstanceOf(Function);
    return { ...Object.getOwnPropertyDescriptor(exports, name), value: [name, value.name, value.length] };
  });
}

it("the program sees the exports that it has alone, which fit into tables and are imported by their type", async () => {
  const plain = new WebAssembly.Instance(new WebAssembly.Module(MODULE as BufferSource), {
    host: { wait() {} },
  });
  const sideModule = new WebAssembly.Module(
    wat(`(module (import "main" "asyncify_start_unwind" (func $unwind (param i32)))
      (func (export "leave") (call $unwind (i32.const 16))))`) as BufferSource,
  );
  let looks: unknown[] = [];
  const recorded = await record(function program(glue) {
    looks = looksOf({ exports: glue.exports } as unknown as WebAssembly.Instance);
    const side = new WebAssembly.Instance(sideModule, { main: glue.exports });
    const start = glue.exports.asyncify_start_unwind;
    glue.exports = { ...glue.exports, asyncify_start_unwind: side.exports.leave as typeof start };
    const first = () => glue.call(16, 1);
    const goOn = first();
    goOn();
  });
  expect(looks).toEqual(looksOf(plain));
  expect(callers(recorded)).toEqual({ "first < program": 2 });
});
