import { createRequire } from "node:module";
import { describe, expect, it } from "vitest";
import { decodeModule, functionType } from "../../../../src/code/wasm/index.ts";
import { namesOfImports, touchesNoMemory } from "../../../../src/record/tools/waste/pass/sites.ts";

/*
 * Compares the whole memory before and after each call of JavaScript functions of real packages that are assumed to touch no memory.
 * Functions that call the module back are excluded, because the module itself writes memory then.
 */

const CALLS_BACK = /^invoke_/;
/** Number of compared calls of one function: comparing a memory takes time. */
const LOOKED_AT = 40;

type Called = Map<string, { calls: number; wrote: number }>;

/** Surrounds the known functions of all modules instantiated during `run`. */
async function watched(run: () => Promise<void>): Promise<Called> {
  const { instantiate, Instance } = WebAssembly;
  const called: Called = new Map();
  const watchedImports = (bytes: Uint8Array, imports: WebAssembly.Imports) => {
    const holder: { memory?: WebAssembly.Memory | undefined } = {};
    const module = decodeModule(bytes);
    const names = namesOfImports(module);
    const functions = module.imports.filter(({ kind }) => kind === "function");
    const given: WebAssembly.Imports = { ...imports };
    for (const [index, { module: from, field }] of functions.entries()) {
      const name = names[index]!;
      if (CALLS_BACK.test(name) || !touchesNoMemory(name, functionType(module, index))) continue;
      const host = imports[from]![field] as (...args: unknown[]) => unknown;
      given[from] = { ...given[from], [field]: surrounded(name, host, holder) };
    }
    return { given, holder };
  };
  const surrounded = (
    name: string,
    host: (...args: unknown[]) => unknown,
    holder: { memory?: WebAssembly.Memory | undefined },
  ) => {
    const of = { calls: 0, wrote: 0 };
    called.set(name, of);
    return (...args: unknown[]) => {
      if (++of.calls > LOOKED_AT || holder.memory === undefined) return host(...args);
      const before = Buffer.from(new Uint8Array(holder.memory.buffer).slice().buffer);
      try {
        return host(...args);
      } finally {
        const now = Buffer.from(holder.memory.buffer, 0, before.length);
        if (before.compare(now) !== 0) of.wrote++;
      }
    };
  };
  const memoryOf = ({ exports }: WebAssembly.Instance) =>
    Object.values(exports).find((one) => one instanceof WebAssembly.Memory);
  WebAssembly.instantiate = (async (source: unknown, imports: WebAssembly.Imports = {}) => {
    if (source instanceof WebAssembly.Module) return instantiate(source, imports);
    const bytes = source instanceof Uint8Array ? source : new Uint8Array(source as ArrayBuffer);
    const { given, holder } = watchedImports(bytes, imports);
    const result = await instantiate(bytes as BufferSource, given);
    holder.memory = memoryOf(result.instance);
    return result;
  }) as typeof WebAssembly.instantiate;
  const { Module } = WebAssembly;
  const bytesOf = new WeakMap<WebAssembly.Module, Uint8Array>();
  WebAssembly.Module = new Proxy(Module, {
    construct(target, [bytes]) {
      const module = Reflect.construct(target, [bytes]);
      bytesOf.set(module, bytes);
      return module;
    },
  });
  WebAssembly.Instance = new Proxy(Instance, {
    construct(target, [module, imports]) {
      const bytes = bytesOf.get(module);
      if (bytes === undefined) return Reflect.construct(target, [module, imports]);
      const { given, holder } = watchedImports(bytes, imports);
      const instance = Reflect.construct(target, [module, given]);
      holder.memory = memoryOf(instance);
      return instance;
    },
  });
  try {
    await run();
  } finally {
    Object.assign(WebAssembly, { instantiate, Module, Instance });
  }
  return called;
}

const packages = createRequire(new URL("../../../../../../bench/package.json", import.meta.url));
const isThere = (name: string): boolean => {
  try {
    packages.resolve(name);
    return true;
  } catch {
    return false;
  }
};

/** Runs of packages, each of which must call some of those functions. */
const PROGRAMS: Readonly<Record<string, () => Promise<void>>> = {
  "brotli-wasm": async () => {
    const { compress, decompress } = packages("brotli-wasm");
    decompress(compress(new TextEncoder().encode("a text, a text and a text"), { quality: 5 }));
  },
  "@dimforge/rapier2d-compat": async () => {
    const Rapier = packages("@dimforge/rapier2d-compat");
    await Rapier.init();
    const world = new Rapier.World({ x: 0, y: -9.81 });
    world.createRigidBody(Rapier.RigidBodyDesc.dynamic().setTranslation(0, 2));
    for (let step = 0; step < 5; step++) world.step();
    world.free();
  },
};

describe("functions of toolchains' JavaScript that touch no memory", () => {
  for (const [name, run] of Object.entries(PROGRAMS))
    it.skipIf(!isThere(name))(`write none in ${name}`, async () => {
      const called = await watched(run);
      expect([...called.values()].reduce((sum, { calls }) => sum + calls, 0)).toBeGreaterThan(0);
      expect([...called].filter(([, { wrote }]) => wrote > 0)).toEqual([]);
    });
});
