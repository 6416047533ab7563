import type { Instrumented, InstrumentedInfo, InstrumentOptions, ShadowLayout } from "../../tools/index.ts";
import { type ToolOptions, toInstrumentOptions } from "../../tools/run-options.ts";
import type { RewrittenModule } from "../instance/instantiation-observer.ts";
import { LearnedRuns } from "../learned-runs.ts";
import { memoryShortage } from "../memory-need.ts";
import { customSectionsOf } from "./custom-sections.ts";
import { ModuleCache, rewriter } from "./module-cache.ts";
import { initialMemory } from "./module-file.ts";
import { type ModuleOrigin, moduleName } from "./module-name.ts";
import { nativeSha256 } from "./native-sha256.ts";

export interface ModuleFacts {
  /** SHA-256 of the bytes, in hexadecimal. */
  key: string;
  path: string | null;
  glue: string;
  /** Script that compiles it, if no file with its bytes is known. */
  script?: string | undefined;
  /** Tables of the last instantiated module, for libraries that are loaded into its memory. */
  beside?: ShadowLayout | undefined;
  /** Reason for leaving the waste tool out; undefined: it is used. */
  reason?: string | undefined;
  /** Returns true if the engine finds the bytes valid. Called before they are rewritten. */
  isValid(): boolean;
}

/** Rewrites the modules of a program for the requested tools. */
export class ModuleWeaver {
  readonly #tools: ToolOptions;
  readonly #cache: ModuleCache;
  readonly #onAllocatorOption: (mismatch: string | undefined) => void;

  /**
   * @param onAllocatorOption is called with the reason if `--allocator` does not fit a module, else with undefined
   * @param store as for `ModuleCache`
   */
  constructor(
    tools: ToolOptions,
    onAllocatorOption: (mismatch: string | undefined) => void,
    store?: (path: string, bytes: Uint8Array) => void,
  ) {
    this.#tools = tools;
    this.#cache = new ModuleCache(tools.cache, store);
    this.#onAllocatorOption = onAllocatorOption;
  }

  nameOf(bytes: Uint8Array, origin: ModuleOrigin): string {
    return moduleName(bytes, origin, nativeSha256);
  }

  /** @throws FormatError if the bytes are no valid module */
  first(bytes: Uint8Array, name: string, facts: ModuleFacts): RewrittenModule {
    if (customSectionsOf(bytes, "memshade").length > 0)
      throw new Error("it is instrumented already; read its profile with the loader");
    const shortage = () => this.shortage("The module's memory begins with", () => initialMemory(bytes));
    return this.weave(bytes, name, { ...facts, reason: facts.reason ?? shortage() });
  }

  weave(bytes: Uint8Array, name: string, facts: ModuleFacts): RewrittenModule {
    const { key, path, glue, script, beside, reason } = facts;
    const { bytes: rewritten, info } = this.#instrument(bytes, facts, {
      ...new LearnedRuns(this.#tools.learn).added(toInstrumentOptions(this.#tools), bytes),
      name,
      script,
      ...(glue === "" ? {} : { glue }),
      sharedShadow: true,
      acrossThreads: true,
      beside,
      leftOut: reason === undefined ? undefined : { waste: reason },
    });
    return { bytes: rewritten, tracked: { info, key, path, original: bytes, glue } };
  }

  /** Returns a sentence if there is too little memory for the waste tool. */
  shortage(subject: string, bytes: () => number): string | undefined {
    const shortage = memoryShortage(bytes, this.#tools);
    if (shortage === undefined) return undefined;
    const { figures, help } = shortage;
    return `${subject} ${figures}: the waste tool records nothing of this module. To record it, ${help}.`;
  }

  /** Rewrites a module. If `--allocator` does not fit it, the option is ignored. */
  #instrument(bytes: Uint8Array, { key, isValid }: ModuleFacts, options: InstrumentOptions): Instrumented {
    const instrument = (all: InstrumentOptions) => this.#cache.instrument(bytes, all, key, isValid);
    const { allocator, ...otherOptions } = options;
    if (allocator === undefined) return instrument(otherOptions);
    try {
      const instrumented = instrument(options);
      this.#onAllocatorOption(undefined);
      return instrumented;
    } catch (error) {
      if (!(error instanceof rewriter().AllocatorMismatch)) throw error;
      this.#onAllocatorOption(error.message);
      return instrument(otherOptions);
    }
  }
}

/** Returns a key that identifies a module in all threads, from its description. */
export function moduleKey({ buildId, originalBytes }: InstrumentedInfo): string {
  return `${buildId}:${originalBytes}`;
}
