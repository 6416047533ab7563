import { nativeSha256 } from "../../packages/memshade/src/record/host/module/native-sha256.ts";
import {
  type InstrumentOptions,
  instrument,
  readInstrumentedInfo,
  type WorkingSetLayout,
} from "../../packages/memshade/src/record/tools/index.ts";
import { glueOptions } from "./compare.ts";
import type { Scale, Workload } from "./programs.ts";
import { ModuleSubstitution } from "./substitution.ts";

/** Tables of the working-set tool in one instance. */
export interface WorkingSetInstance {
  memory: WebAssembly.Memory;
  layout: WorkingSetLayout;
}

/** A program that records its working set with given options. */
export class WorkingSetRecording extends ModuleSubstitution {
  readonly #workload: Workload;
  readonly #options: NonNullable<InstrumentOptions["workingset"]>;
  readonly #optionsOf: ReturnType<typeof glueOptions>;
  #instances: WorkingSetInstance[] = [];

  constructor(workload: Workload, options: NonNullable<InstrumentOptions["workingset"]>) {
    const optionsOf = glueOptions(workload);
    super(optionsOf);
    this.variant = "workingset";
    this.#workload = workload;
    this.#options = options;
    this.#optionsOf = optionsOf;
  }

  override rewritten(bytes: Uint8Array): Uint8Array {
    return instrument(bytes, {
      tools: ["workingset"],
      workingset: this.#options,
      sharedShadow: true,
      sha256: nativeSha256,
      ...this.#optionsOf(bytes),
    }).bytes;
  }

  protected override instantiated(module: WebAssembly.Module, exports: WebAssembly.Exports): void {
    const layout = readInstrumentedInfo(module)?.toolLayouts?.workingset as WorkingSetLayout | undefined;
    const memory = exports["memshade.workingset"];
    if (layout !== undefined && memory !== undefined)
      this.#instances.push({ memory: memory as WebAssembly.Memory, layout });
  }

  /** Runs the program once with new instances; returns their records, and the CPU time of the work, user and system. */
  async run(scale: Scale): Promise<{ instances: readonly WorkingSetInstance[]; cpuMs: number }> {
    this.install();
    this.#instances = [];
    try {
      const session = await this.#workload.load();
      globalThis.gc?.();
      const before = process.cpuUsage();
      await session.run(scale);
      const used = process.cpuUsage(before);
      return { instances: this.#instances, cpuMs: (used.user + used.system) / 1000 };
    } finally {
      this.uninstall();
    }
  }
}
