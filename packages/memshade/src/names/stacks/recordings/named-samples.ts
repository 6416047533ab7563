import type {
  KernelPlace,
  NamedSample,
  NativeFunction,
  NativeRecording,
  SampledPlace,
  SymbolOffset,
} from "../../../profile/model/native-stacks.ts";
import { missingFiles } from "../named-image.ts";
import { type FrameNamer, type NamedAddress, preferAsPerf, symbolAt, withoutParameters } from "../names.ts";
import { MappedModule, type NativeFile } from "../native-file.ts";
import type { KernelNamer, KernelText } from "./kallsyms.ts";
import type { CodePlace, PerfStacks, SampleStack } from "./sample-walks.ts";

/** Gives samples names: those of their places are found when they are asked for, each once for all processes. */
export class SampleNamer {
  readonly #namer: FrameNamer;
  readonly #kernelNamer: KernelNamer | undefined;
  readonly #kernelPlaces = new Map<string, KernelPlace>();
  /** By file and address in it. */
  readonly #symbols = new Map<NativeFile, Map<number, SymbolOffset | undefined>>();

  constructor(namer: FrameNamer, kernelNamer?: KernelNamer) {
    this.#namer = namer;
    this.#kernelNamer = kernelNamer;
  }

  name({ sample, threadName, kernel, kernelText, frames, end }: SampleStack): NamedSample {
    const { pid, tid, time, event, period } = sample;
    return {
      threadName,
      pid,
      tid,
      time,
      event,
      period,
      end,
      kernel: kernel.map((address) => this.#kernelPlace(address, kernelText)),
      frames: frames.map((place) => {
        place.named ??= new NamedPlace(place, pid, this);
        return place.named;
      }),
    };
  }

  #kernelPlace(address: string, kernelText: KernelText | undefined): KernelPlace {
    let place = this.#kernelPlaces.get(address);
    if (place === undefined) {
      const named = this.#kernelNamer?.name(address, kernelText);
      place = { address, symbol: named, module: named?.module, text: undefined };
      this.#kernelPlaces.set(address, place);
    }
    return place;
  }

  /** The symbol that perf would show at an address of a file. */
  shownSymbol(file: NativeFile, address: number): SymbolOffset | undefined {
    let known = this.#symbols.get(file);
    if (known === undefined) {
      known = new Map();
      this.#symbols.set(file, known);
    }
    let symbol = known.get(address);
    if (symbol === undefined && !known.has(address)) {
      const found = symbolAt(file, address, preferAsPerf);
      symbol = found && {
        name: withoutParameters(this.#namer.demangle(found.name)),
        offset: address - found.address,
      };
      known.set(address, symbol);
    }
    return symbol;
  }

  names(file: NativeFile, address: number): NamedAddress {
    return this.#namer.name(file, address);
  }
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
  readonly #namer: SampleNamer;
  text: string | undefined;

  constructor(place: CodePlace, pid: number, namer: SampleNamer) {
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
    return module && this.#namer.shownSymbol(module.file, this.address - module.bias);
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
    return module && this.#namer.names(module.file, this.address - module.bias);
  }
}
