import type {
  KernelPlace,
  NamedSample,
  NativeFunction,
  NativeRecording,
  SampledPlace,
  SymbolOffset,
} from "../../model/native-stacks.ts";
import { missingFiles } from "../named-image.ts";
import type { FrameNamer, NamedAddress } from "../names/frame-namer.ts";
import { withoutParameters } from "../names/function-name.ts";
import { preferAsPerf, symbolAt } from "../names/name-frames.ts";
import { MappedModule } from "../native-file.ts";
import type { CodePlace } from "./code-place.ts";
import type { KernelNamer } from "./kernel-symbols.ts";
import type { PerfStacks, SampleStack } from "./perf-stacks.ts";

/** A sample with names; those of its places are found when they are asked for, each once. */
export function nameSample(
  { sample, threadName, kernel, kernelText, frames, end }: SampleStack,
  namer: FrameNamer,
  kernelNamer?: KernelNamer,
): NamedSample {
  const { pid, tid, time, event, period } = sample;
  return {
    ...{ threadName, pid, tid, time, event, period, end },
    kernel: kernel.map((address): KernelPlace => {
      const named = kernelNamer?.name(address, kernelText);
      return { address, symbol: named, module: named?.module };
    }),
    frames: frames.map((place) => {
      place.named ??= new NamedPlace(place, pid, namer);
      return place.named;
    }),
  };
}

/** What is to be told of a recording besides its samples. */
export function describeRecording({ header, files, lost, gaps }: PerfStacks): NativeRecording {
  return {
    architecture: header.architecture,
    command: header.commandLine,
    events: header.events.map(({ name }) => name),
    lost,
    notes: gaps,
    missing: missingFiles(files),
  };
}

class NamedPlace implements SampledPlace {
  readonly #place: CodePlace;
  readonly #pid: number;
  readonly #namer: FrameNamer;
  text: string | undefined;

  constructor(place: CodePlace, pid: number, namer: FrameNamer) {
    this.#place = place;
    this.#pid = pid;
    this.#namer = namer;
  }

  get address(): number {
    return this.#place.address;
  }

  get shownAddress(): number {
    return this.#place.shownAddress;
  }

  get module(): string | undefined {
    return this.#mapped?.name;
  }

  get object(): string | undefined {
    const file = this.#mapped?.file;
    return file?.isAnonymous && file.path !== "" ? `/tmp/perf-${this.#pid}.map` : file?.path;
  }

  get fileOffset(): number | undefined {
    const module = this.#mapped;
    return module && this.address - module.start + module.fileOffset;
  }

  get shownSymbol(): SymbolOffset | undefined {
    const module = this.#mapped;
    const own = this.address - (module?.bias ?? 0);
    const symbol = module && symbolAt(module.file, own, preferAsPerf);
    return (
      symbol && {
        name: withoutParameters(this.#namer.demangle(symbol.name)),
        offset: own - symbol.address,
      }
    );
  }

  get symbol(): SymbolOffset | undefined {
    return this.#names?.symbol;
  }

  get functions(): readonly NativeFunction[] {
    const functions = this.#names?.frames ?? [];
    return functions.map(({ function: name, file, line, inlined }, index) => ({
      function: index === functions.length - 1 ? name && withoutParameters(name) : name,
      file,
      line,
      inlined,
    }));
  }

  get #mapped(): MappedModule | undefined {
    const { module } = this.#place;
    return module instanceof MappedModule ? module : undefined;
  }

  get #names(): NamedAddress | undefined {
    const module = this.#mapped;
    return module && this.#namer.name(module.file, this.address - module.bias);
  }
}
