import vm from "node:vm";
import { describe, expect, it } from "vitest";
import { hookWebAssembly } from "../../../../src/record/host/instance/hook-webassembly.ts";
import type {
  InstantiationObserver,
  RewrittenModule,
  TrackedModule,
} from "../../../../src/record/host/instance/instantiation-observer.ts";
import type { InstrumentedInfo } from "../../../../src/record/tools/index.ts";
import { assemble } from "../../../cli/support/programs.ts";

const ORIGINAL = assemble(
  '(module (memory (export "memory") 1) (func (export "f") (result i32) (i32.const 1)))',
);
/** A replacement for the instrumented module: it has one more export. */
const REWRITTEN = assemble(
  '(module (memory (export "memory") 1) (func (export "f") (result i32) (i32.const 1)) (memory (export "memshade.memory") 1))'.replace(
    '(memory (export "memshade.memory") 1)',
    '(func (export "memshade.memory"))',
  ),
);
const BROKEN = Uint8Array.of(...REWRITTEN.subarray(0, 8), 99, 0);

interface Seen {
  rewritten: number;
  rejected: number;
  instantiated: string[][];
}

/** A separate WebAssembly namespace, hooked with an observer that replaces `ORIGINAL` by `replacement`. */
function hooked(
  replacement: Uint8Array | undefined,
  wasm = vm.runInNewContext("WebAssembly") as typeof WebAssembly,
): { wasm: typeof WebAssembly; seen: Seen } {
  const seen: Seen = { rewritten: 0, rejected: 0, instantiated: [] };
  const info = { hiddenExports: ["memshade.memory"] } as unknown as InstrumentedInfo;
  const observer: InstantiationObserver = {
    rewrite(bytes) {
      if (replacement === undefined || Buffer.compare(bytes, ORIGINAL) !== 0) return undefined;
      seen.rewritten++;
      const tracked: TrackedModule = { info, key: "k", path: null, original: bytes };
      return { bytes: replacement, tracked };
    },
    rejected: () => void seen.rejected++,
    rewriteFor: () => undefined,
    instantiated: (exports) => void seen.instantiated.push(Object.keys(exports)),
    recognize: () => undefined,
    sharedShadow: () => undefined,
  };
  hookWebAssembly(wasm, observer);
  return { wasm, seen };
}

const ALL = ["memory", "f", "memshade.memory"];

describe("a hooked WebAssembly namespace", () => {
  it("tells the observer of all exports and the program of its own", async () => {
    const { wasm, seen } = hooked(REWRITTEN);
    const { module, instance } = await wasm.instantiate(ORIGINAL);
    expect(Object.keys(instance.exports)).toEqual(["memory", "f"]);
    expect(wasm.Module.exports(module).map(({ name }) => name)).toEqual(["memory", "f"]);
    expect((instance.exports.f as () => number)()).toBe(1);
    expect(seen).toEqual({ rewritten: 1, rejected: 0, instantiated: [ALL] });
  });

  it("compiles once and instantiates many times", () => {
    const { wasm, seen } = hooked(REWRITTEN);
    const module = new wasm.Module(ORIGINAL);
    for (let i = 0; i < 3; i++) expect(Object.keys(new wasm.Instance(module).exports)).toHaveLength(2);
    expect(seen).toMatchObject({ rewritten: 1, instantiated: [ALL, ALL, ALL] });
  });

  it("instantiates what was rewritten anew where a memory from outside is larger than what tools can follow", async () => {
    const imports = '(import "env" "memory" (memory 1 4)) (func (export "f") (result i32)';
    const original = assemble(`(module ${imports} (i32.const 1)))`);
    const info = { hiddenExports: [] } as unknown as InstrumentedInfo;
    const rewritten = (result: number): RewrittenModule => ({
      bytes: assemble(`(module ${imports} (i32.const ${result})))`),
      tracked: { info, key: String(result), path: null, original },
    });
    const anew = rewritten(3);
    const instantiated: string[] = [];
    const wasm = vm.runInNewContext("WebAssembly") as typeof WebAssembly;
    hookWebAssembly(wasm, {
      rewrite: () => rewritten(2),
      rewriteFor: (_, { env }) =>
        (env!.memory as WebAssembly.Memory).buffer.byteLength > 2 * 65536 ? anew : undefined,
      rejected: () => {},
      instantiated: (_, { key }) => void instantiated.push(key),
      recognize: () => undefined,
      sharedShadow: () => undefined,
    });
    const of = ({ exports }: WebAssembly.Instance): unknown => (exports.f as () => number)();
    const withPages = (initial: number) => ({
      env: { memory: new wasm.Memory({ initial, maximum: 4 }) },
    });
    const module = new wasm.Module(original);
    expect(of(new wasm.Instance(module, withPages(2)))).toBe(2);
    expect(of(new wasm.Instance(module, withPages(3)))).toBe(3);
    expect(of(await wasm.instantiate(module, withPages(3)))).toBe(3);
    expect(of((await wasm.instantiate(original, withPages(3))).instance)).toBe(3);
    expect(instantiated).toEqual(["2", "3", "3", "3"]);
  });

  it("takes the bytes as they are at the call, whatever happens to them later", async () => {
    const { wasm, seen } = hooked(REWRITTEN);
    const bytes = ORIGINAL.slice();
    const compiled = wasm.compile(bytes);
    bytes.fill(0);
    expect(wasm.Module.exports(await compiled)).toHaveLength(2);
    expect(seen.rewritten).toBe(1);
  });

  it("falls back to the original when the rewritten module does not compile", async () => {
    const { wasm, seen } = hooked(BROKEN);
    const modules = [
      new wasm.Module(ORIGINAL),
      await wasm.compile(ORIGINAL),
      (await wasm.instantiate(ORIGINAL)).module,
    ];
    for (const module of modules) expect(wasm.Module.exports(module)).toHaveLength(2);
    expect(seen).toEqual({ rewritten: 3, rejected: 3, instantiated: [] });
  });

  it.each([
    ["Out of memory: Cannot allocate Wasm memory for new instance", [["memory", "f"], 2]],
    ["Import #0: module is not an object", ["RangeError", 0]],
  ])(
    "falls back to the original when the rewritten module finds no room for its memories: %s",
    async (words, right) => {
      const full = vm.runInNewContext("WebAssembly") as typeof WebAssembly;
      const { Instance, instantiate } = full;
      const { exports: exportsOf } = full.Module;
      const refuse = (module: WebAssembly.Module): void => {
        if (exportsOf(module).length === ALL.length) throw new RangeError(words);
      };
      full.Instance = new Proxy(Instance, {
        construct(target, given) {
          refuse(given[0]);
          return Reflect.construct(target, given);
        },
      });
      full.instantiate = (async (module: WebAssembly.Module) => {
        refuse(module);
        return instantiate(module);
      }) as typeof instantiate;
      const { wasm, seen } = hooked(REWRITTEN, full);
      const made = async (make: () => Promise<WebAssembly.Instance>) =>
        make().then(
          ({ exports }) => Object.keys(exports),
          ({ name }: Error) => name,
        );
      const module = new wasm.Module(ORIGINAL);
      expect(await made(async () => new wasm.Instance(module))).toEqual(right[0]);
      expect(await made(() => wasm.instantiate(module))).toEqual(right[0]);
      expect(seen.rejected).toBe(right[1]);
      expect(seen.instantiated).toEqual([]);
    },
  );

  it("leaves modules alone that the observer does not want", () => {
    const { wasm, seen } = hooked(undefined);
    const instance = new wasm.Instance(new wasm.Module(REWRITTEN));
    expect(Object.keys(instance.exports)).toEqual(ALL);
    expect(seen.instantiated).toEqual([]);
  });

  it("lets an error of the start function through without running it again", async () => {
    let calls = 0;
    const text = (more: string) =>
      assemble(`(module (import "h" "start" (func $start)) ${more} (start $start))`);
    const { wasm, seen } = hooked(undefined);
    const imports = {
      h: {
        start() {
          calls++;
          throw new wasm.CompileError("from the program");
        },
      },
    };
    await expect(wasm.instantiate(text(""), imports)).rejects.toThrow("from the program");
    expect(calls).toBe(1);
    expect(seen.rejected).toBe(0);
  });

  it("keeps classes, names and subclasses", () => {
    const { wasm } = hooked(REWRITTEN);
    class Own extends wasm.Module {
      readonly mine = true;
    }
    const own = new Own(ORIGINAL);
    expect([own instanceof Own, own instanceof wasm.Module, own.mine]).toEqual([true, true, true]);
    expect(Object.keys(new wasm.Instance(own).exports)).toEqual(["memory", "f"]);
    expect(own.constructor).toBe(Own);
    expect([wasm.Module.name, wasm.Module.length, wasm.compile.name]).toEqual(["Module", 1, "compile"]);
    expect(() => (wasm.Module as unknown as (b: Uint8Array) => void)(ORIGINAL)).toThrow(
      /must be invoked with 'new'/,
    );
  });
});
