import { connectHost } from "../../src/record/host/instance/host-calls.ts";
import { guardHostFunctions } from "../../src/record/host/loader.ts";
import { profileFiles, Recorder } from "../../src/record/host/run/recorder.ts";
import { type InstrumentedInfo, type InstrumentOptions, instrument } from "../../src/record/tools/index.ts";
import type { InstanceHandle } from "../../src/record/tools/session.ts";

export interface Engine {
  compile(bytes: Uint8Array): WebAssembly.Module;
  instantiate(module: WebAssembly.Module, imports: WebAssembly.Imports): WebAssembly.Exports;
}

export const PLAIN: Engine = {
  compile: (bytes) => new WebAssembly.Module(bytes as BufferSource),
  instantiate: (module, imports) => new WebAssembly.Instance(module, imports).exports,
};

/** Rewrites every module first and records every instance, as embedders do with `memshade/loader`. */
export class Rewriting implements Engine {
  readonly #options: InstrumentOptions;
  readonly #recorder: Recorder;
  readonly #modules = new WeakMap<WebAssembly.Module, { info: InstrumentedInfo; original: Uint8Array }>();

  constructor(options: InstrumentOptions) {
    this.#options = options;
    this.#recorder = new Recorder({ tools: options, command: ["test"], program: "test" });
  }

  compile(original: Uint8Array): WebAssembly.Module {
    const { bytes, info } = instrument(original, { ...this.#options, sharedShadow: true });
    const module = new WebAssembly.Module(bytes as BufferSource);
    this.#modules.set(module, { info, original });
    return module;
  }

  instantiate(module: WebAssembly.Module, imports: WebAssembly.Imports): WebAssembly.Exports {
    const { info, original } = this.#modules.get(module) as { info: InstrumentedInfo; original: Uint8Array };
    const guarded = guardHostFunctions(imports, module);
    const { exports } = new WebAssembly.Instance(module, guarded?.imports ?? imports);
    guarded?.connect(exports);
    let handle: InstanceHandle | undefined;
    const memories = connectHost(exports, info, {
      flush: () => handle !== undefined && this.#recorder.flush(handle),
    });
    handle = this.#recorder.addInstance(memories, info, original, null);
    return exports;
  }

  /** Reads back all recorded data; throws if the data is unreadable. */
  readBack(): void {
    profileFiles(this.#recorder.takeProfile({ kind: "exit", exitCode: 0 }));
  }
}
