import { expect } from "vitest";
import { type InstrumentOptions, instrument } from "../../src/record/tools/index.ts";
import { EXACT, type GranuleCount, MERGED, Watched } from "./counters.ts";
import { countNaively, naiveCounts } from "./naive-counters.ts";

export type Call = readonly [name: string, ...operands: unknown[]];

/** Imports of a module, new for every run, and a record of their use. */
export interface Host {
  imports: WebAssembly.Imports;
  /** State to compare after the calls: memories, tables, globals, and logs. */
  state?: Record<string, unknown>;
  connect?(exports: WebAssembly.Exports): void;
  begin?(): void;
  caughtTrap?(): boolean;
}

export interface Behaviour {
  results: string[];
  state: Record<string, string>;
  /** True if a trap has ended a call, or a call inside it. */
  trapped: boolean;
}

/** Instantiates the module and makes the calls, one after another, even after a failed one. */
export function behaviourOf(instance: WebAssembly.Instance, calls: readonly Call[], host: Host): Behaviour {
  const results = calls.map(([name, ...operands]) => {
    host.begin?.();
    try {
      return describe((instance.exports[name] as (...operands: unknown[]) => unknown)(...operands));
    } catch (thrown) {
      return describeThrown(thrown);
    }
  });
  const state: Record<string, string> = {};
  const shown = { ...instance.exports, ...host.state };
  for (const [name, value] of Object.entries(shown)) {
    if (name.startsWith("memshade.") || name.startsWith("naive.")) continue;
    state[name] = describe(value);
  }
  const trapped = host.caughtTrap?.() === true || results.some((result) => result.startsWith("trap"));
  return { results, state, trapped };
}

function describe(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(describe).join(", ")}]`;
  if (typeof value === "bigint") return `${value}n`;
  if (value instanceof WebAssembly.Memory)
    return `memory of ${value.buffer.byteLength} bytes, hash ${hashOf(new Int32Array(value.buffer))}`;
  if (value instanceof WebAssembly.Table) return `table of ${value.length}`;
  if (value instanceof WebAssembly.Global)
    try {
      return `global ${describe((value as WebAssembly.Global<"i32">).value)}`;
    } catch {
      return "global that JavaScript cannot read";
    }
  if (value instanceof WebAssembly.Tag) return "tag";
  return typeof value === "function" ? `function of ${value.length}` : String(value);
}

function hashOf(words: Int32Array): number {
  let hash = 0;
  for (let i = 0; i < words.length; i++)
    if (words[i] !== 0) hash = (Math.imul(hash ^ words[i], 0x01000193) + i) | 0;
  return hash;
}

export function describeThrown(thrown: unknown): string {
  if (thrown instanceof WebAssembly.RuntimeError) return `trap: ${thrown.message}`;
  if (thrown instanceof WebAssembly.Exception) return "exception";
  if (thrown instanceof Error) return `threw ${thrown.name}: ${thrown.message}`;
  return `threw ${String(thrown)}`;
}

export interface Variant {
  name: string;
  options: InstrumentOptions;
}

/** Variants of instrumentation for a module with the given allocator, or without one. */
export function variantsOf(allocator?: string): Variant[] {
  const counters: Variant[] = [
    { name: "exact", options: EXACT },
    { name: "merged", options: MERGED },
    { name: "default", options: { countersOnly: true } },
  ];
  if (allocator === undefined) return counters;
  const small = { allocator, maxContexts: 8, maxBlocks: 16 };
  return [
    ...counters,
    { name: "profiled", options: small },
    { name: "profiled, exact", options: { ...small, exactHistogram: true } },
    { name: "profiled, everything", options: { ...small, includeStack: true, includeAllocator: true } },
  ];
}

const NO_HOST = (): Host => ({ imports: {} });

function run(
  bytes: Uint8Array,
  calls: readonly Call[],
  makeHost: () => Host,
): [WebAssembly.Instance, Behaviour] {
  const host = makeHost();
  const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes as BufferSource), host.imports);
  host.connect?.(instance.exports);
  return [instance, behaviourOf(instance, calls, host)];
}

/** Behaviour of the plain module, and its accesses when each is counted separately. */
export function runNaively(
  bytes: Uint8Array,
  calls: readonly Call[],
  makeHost: () => Host = NO_HOST,
): { behaviour: Behaviour; counts: Record<number, GranuleCount>; total: number } {
  const [, behaviour] = run(bytes, calls, makeHost);
  const [instance, counted] = run(countNaively(bytes), calls, makeHost);
  expect(counted).toEqual(behaviour);
  const counts = naiveCounts(instance);
  return { behaviour, counts, total: Object.values(counts).reduce((sum, { count }) => sum + count, 0) };
}

/**
 * Expects that the module behaves the same in every instrumentation, and that its counters equal those of a naive count:
 * per granule in exact mode, in sum in merged mode. Counters are not compared in runs that trap, because accesses that share a counter
 * are counted ahead.
 */
export function expectTransparent(
  bytes: Uint8Array,
  calls: readonly Call[],
  options: { host?: () => Host; allocator?: string } = {},
): { results: string[]; total: number; trapped: boolean } {
  const makeHost = options.host ?? NO_HOST;
  const { behaviour, counts, total } = runNaively(bytes, calls, makeHost);
  const { results, trapped } = behaviour;
  for (const { name, options: variant } of variantsOf(options.allocator)) {
    if (!variant.countersOnly) {
      const { bytes: rewritten } = instrument(bytes, variant);
      expect(run(rewritten, calls, makeHost)[1], name).toEqual(behaviour);
      continue;
    }
    const host = makeHost();
    const watched = new Watched(bytes, variant, host.imports);
    host.connect?.(watched.instance.exports);
    expect(behaviourOf(watched.instance, calls, host), name).toEqual(behaviour);
    if (trapped) continue;
    if (variant === EXACT) expect(watched.granules(), name).toEqual(counts);
    if (variant === MERGED) expect(watched.total(), name).toBe(total);
    expect(watched.total(), name).toBeLessThanOrEqual(total);
  }
  return { results, total, trapped };
}
