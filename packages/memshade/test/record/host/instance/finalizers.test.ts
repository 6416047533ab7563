import { describe, expect, it } from "vitest";
import { addCollection, type BlockCollection } from "../../../../src/profile/model/collection.ts";
import { hookFinalizers, watchFinalizers } from "../../../../src/record/host/instance/finalizers.ts";
import { watchInstance } from "../../../../src/record/host/loader.ts";
import { SHADOW_MEMORY } from "../../../../src/record/tools/host-interface.ts";
import { instrument } from "../../../../src/record/tools/instrument.ts";
import { wat } from "../../../support/assemble.ts";
import { BUMP } from "../../../support/profiled.ts";

const NO_COLLECTION: BlockCollection = { blocks: 0, bytes: 0, lifetime: 0 };

const MODULE = wat(`(module (memory 32 32) ${BUMP}
  (func (export "small") (result i32) (call $malloc (i32.const 24)))
  (func (export "large") (result i32) (call $malloc (i32.const 4000)))
  (func (export "release") (param i32) (call $free (local.get 0))))`);

interface Exports {
  small(): number;
  large(): number;
  release(block: number): void;
}

class FakeRegistry {
  readonly #callback: (held: unknown) => void;

  constructor(callback: (held: unknown) => void) {
    this.#callback = callback;
  }

  collect(...held: readonly number[]): void {
    for (const one of held) this.#callback(one);
  }
}

const scope = { FinalizationRegistry: FakeRegistry as unknown as typeof FinalizationRegistry };
hookFinalizers(scope);
const Registry = scope.FinalizationRegistry as unknown as typeof FakeRegistry;

async function collectedBy(run: (exports: Exports) => unknown): Promise<Record<number, BlockCollection>> {
  const { bytes, info } = instrument(MODULE);
  const { instance } = await WebAssembly.instantiate(bytes as BufferSource);
  const watched = watchInstance(instance, bytes);
  watchFinalizers(instance.exports[SHADOW_MEMORY] as WebAssembly.Memory, info);
  await run(instance.exports as unknown as Exports);
  const recorded = watched.readProfile();
  const found: Record<number, BlockCollection> = {};
  for (const { collected } of recorded.run.heap!.sites) {
    if (collected === undefined) continue;
    const size = collected.bytes / collected.blocks;
    found[size] = addCollection(found[size] ?? NO_COLLECTION, collected);
  }
  return found;
}

describe("what JavaScript's collector gives back", () => {
  it("is told from what the program frees", async () => {
    const collected = await collectedBy(async ({ small, large, release }) => {
      const registry = new Registry((block) => release(block as number));
      const blocks = [large(), large(), large()];
      const others = Array.from({ length: 10 }, small);
      for (const block of others) release(block);
      registry.collect(...blocks);
      await Promise.resolve();
    });
    // Three blocks; 12, 11 and 10 other blocks were allocated after them.
    expect(collected).toEqual({ 4000: { blocks: 3, bytes: 12_000, lifetime: 12 + 11 + 10 } });
  });

  it("ends with the callbacks: code that runs after them frees by itself", async () => {
    const collected = await collectedBy(async ({ large, release }) => {
      const registry = new Registry((block) => release(block as number));
      const [dropped, kept] = [large(), large()];
      registry.collect(dropped);
      await Promise.resolve();
      release(kept);
    });
    expect(collected).toEqual({ 4000: { blocks: 1, bytes: 4000, lifetime: 1 } });
  });

  it("adds up over several times that the collector came", async () => {
    const collected = await collectedBy(async ({ small, release }) => {
      const registry = new Registry((block) => release(block as number));
      for (let time = 0; time < 5; time++) {
        registry.collect(small(), small());
        await Promise.resolve();
      }
    });
    expect(collected).toMatchObject({ 24: { blocks: 10, bytes: 240 } });
  });
});

describe("a registry that is watched", () => {
  it("hands on what is held, and refuses what the engine refuses", () => {
    const seen: unknown[] = [];
    new Registry((held) => seen.push(held)).collect(7, 8);
    expect(seen).toEqual([7, 8]);
    expect(new Registry(() => {})).toBeInstanceOf(FakeRegistry);
    const real = { FinalizationRegistry };
    hookFinalizers(real);
    expect(() => new real.FinalizationRegistry(undefined as never)).toThrow(TypeError);
    expect(real.FinalizationRegistry.name).toBe("FinalizationRegistry");
  });
});
