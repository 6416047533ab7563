import { expect } from "vitest";
import { readRaw } from "../../src/profile/formats/memprof-raw/index.ts";
import { readRun } from "../../src/profile/model/read-run.ts";
import { readWaste } from "../../src/profile/model/waste.ts";
import { readWorkingSet } from "../../src/profile/model/working-set/read-working-set.ts";
import { connectHost } from "../../src/record/host/instance/host-calls.ts";
import { guardImports } from "../../src/record/host/instance/host-frames.ts";
import { type Profile, profileFiles, Recorder } from "../../src/record/host/run/recorder.ts";
import { type InstrumentOptions, instrument } from "../../src/record/tools/index.ts";
import type { InstanceHandle } from "../../src/record/tools/session.ts";
import { type Behaviour, behaviourOf, type Call, type Host, type Variant } from "./behaviour.ts";

export interface Recorded {
  behaviour: Behaviour;
  profile: Profile;
}

const NO_HOST = (): Host => ({ imports: {} });

export function record(
  module: Uint8Array,
  calls: readonly Call[],
  options: InstrumentOptions,
  makeHost: () => Host = NO_HOST,
): Recorded {
  const { behaviour, recorder } = run(module, calls, options, makeHost);
  const profile = recorder.takeProfile({ kind: "exit", exitCode: 0 });
  for (const { name, contents } of profileFiles(profile)) {
    if (name === "run.json") readRun(String(contents));
    if (name === "heap.memprofraw") readRaw(contents as Uint8Array);
  }
  return { behaviour, profile };
}

function run(
  module: Uint8Array,
  calls: readonly Call[],
  options: InstrumentOptions,
  makeHost: () => Host,
): { behaviour: Behaviour; recorder: Recorder } {
  const { bytes, info } = instrument(module, { ...options, sharedShadow: true });
  const compiled = new WebAssembly.Module(bytes as BufferSource);
  const host = makeHost();
  const guarded = guardImports(host.imports, WebAssembly.Module.imports(compiled), info);
  const instance = new WebAssembly.Instance(compiled, guarded?.imports ?? host.imports);
  guarded?.connect(instance.exports);
  host.connect?.(instance.exports);
  const recorder = new Recorder({ tools: options, command: ["test"], program: "test" });
  let handle: InstanceHandle | undefined;
  const memories = connectHost(instance.exports, info, {
    flush: () => handle !== undefined && recorder.flush(handle),
  });
  handle = recorder.addInstance(memories, info, module, null);
  return { behaviour: behaviourOf(instance, calls, host), recorder };
}

/**
 * Figures that do not depend on a tool's mode or on other tools: accesses and lines of the working set, and the waste of each
 * site.
 */
export function figuresOf({ toolFiles }: Profile): Record<string, unknown> {
  const figures: Record<string, unknown> = {};
  for (const { name, contents } of toolFiles) {
    if (name === "workingset.json") {
      const { instances, unit } = readWorkingSet(String(contents));
      const [instance] = instances;
      figures.lines = instance?.total;
      if (unit === "accesses") figures.accesses = instance?.duration;
    }
    if (name === "waste.json") figures.waste = wasteBySite(String(contents));
  }
  return figures;
}

/** Sums by site over all contexts: operations, bytes written and read, dead by overwriting and at exit, silent operations. */
function wasteBySite(text: string): Record<string, number[]> {
  const { stores, loads } = readWaste(text);
  const sites: Record<string, number[]> = {};
  const add = (key: string, figures: number[]) => {
    const known = sites[key] ?? figures.map(() => 0);
    sites[key] = known.map((value, i) => value + figures[i]);
  };
  for (const store of stores)
    add(`store @${store.ips[0]?.address}`, [
      store.nof_stores,
      store.bytes_written,
      store.bytes_read,
      store.dead_overwritten,
      store.dead_deallocated,
      store.dead_exit,
      store.nof_silent,
      store.bytes_silent,
    ]);
  for (const load of loads)
    add(`load @${load.ips[0]?.address}`, [load.nof_loads, load.bytes_loaded, load.nof_silent]);
  return sites;
}

/** Expects that the module behaves the same with all of these tools, and that their data can be read back. */
export function expectSameBehaviour(
  module: Uint8Array,
  calls: readonly Call[],
  variants: readonly Variant[],
  makeHost: () => Host = NO_HOST,
): Profile[] {
  const plain = plainBehaviour(module, calls, makeHost);
  return variants.map(({ name, options }) => {
    const { behaviour, profile } = record(module, calls, options, makeHost);
    expect(behaviour, name).toEqual(plain);
    return profile;
  });
}

/** Expects only that the module behaves the same with all of these tools: many times faster. */
export function expectSameResults(
  module: Uint8Array,
  calls: readonly Call[],
  variants: readonly Variant[],
  makeHost: () => Host = NO_HOST,
): void {
  const plain = plainBehaviour(module, calls, makeHost);
  for (const { name, options } of variants)
    expect(run(module, calls, options, makeHost).behaviour, name).toEqual(plain);
}

function plainBehaviour(module: Uint8Array, calls: readonly Call[], makeHost: () => Host): Behaviour {
  const host = makeHost();
  const instance = new WebAssembly.Instance(new WebAssembly.Module(module as BufferSource), host.imports);
  host.connect?.(instance.exports);
  return behaviourOf(instance, calls, host);
}

/** Expects in addition that each tool's figures do not depend on the other tools. */
export function expectAgreement(
  module: Uint8Array,
  calls: readonly Call[],
  variants: readonly Variant[],
  makeHost: () => Host = NO_HOST,
): void {
  const told: Record<string, unknown> = {};
  expectSameBehaviour(module, calls, variants, makeHost).forEach((profile, i) => {
    for (const [figure, value] of Object.entries(figuresOf(profile))) {
      told[figure] ??= value;
      expect(value, `${figure} of ${variants[i].name}`).toEqual(told[figure]);
    }
  });
}
