import { homedir } from "node:os";
import { join } from "node:path";
import type { ZstdDecompress } from "node:zlib";
import { readNotes } from "../../../code/objects/index.ts";
import { attempt } from "../../../ground/bytes/dispensable.ts";
import { entryOf } from "../../../ground/bytes/entries.ts";
import type { Decompressed, Decompressor } from "../../../profile/formats/perf-data/index.ts";
import { groupDigits } from "../../../profile/model/counted.ts";
import type {
  KernelPlace,
  NamedSample,
  NativeFunction,
  NativeRecording,
  SampledPlace,
  SymbolOffset,
} from "../../../profile/model/native-stacks.ts";
import { readRegular } from "../../load/file.ts";
import { missingFiles } from "../named-image.ts";
import { type FrameNamer, type NamedAddress, preferAsPerf, symbolAt, withoutParameters } from "../names.ts";
import { MappedModule, type NativeFile } from "../native-file.ts";
import { type KernelNamer, KernelSymbols, type KernelText } from "./kallsyms.ts";
import type { CodePlace, PerfStacks, SampleStack } from "./sample-walks.ts";

const MOST_COPIED = 65_528;

/** Counts the stacks that perf cut: their outer frames are beyond the copied bytes. */
export class CutStacks {
  #unwound = 0;
  #cut = 0;
  #longest = 0;

  add({ sample: { stack, stackRoom }, end }: SampleStack): void {
    if (end === undefined || stack === undefined) return;
    this.#unwound++;
    // A copy smaller than requested is the whole stack.
    if (end !== "memory" || stack.length < stackRoom) return;
    this.#cut++;
    this.#longest = Math.max(this.#longest, stackRoom);
  }

  /**
   * Returns a message with the number of cut stacks and a better recording option; empty if no stack was cut.
   */
  inWords(): string[] {
    if (this.#cut === 0) return [];
    const larger = this.#longest < MOST_COPIED ? `--call-graph dwarf,${MOST_COPIED} copies the most, ` : "";
    return [
      `${groupDigits(this.#cut)} of ${groupDigits(this.#unwound)} stacks were cut when recorded, their outer callers are missing: ` +
        `perf copied ${groupDigits(this.#longest)} bytes of them. ${larger}--call-graph lbr or fp copies no stack.`,
    ];
  }
}

const NT_GNU_BUILD_ID = 3;

/**
 * Loads the symbols of the kernel with a build id, from `perf record`'s copy, or from the running system if it has
 * the same kernel. Undefined if they are missing, or hidden from this user.
 */
export function loadKernelSymbols(
  buildId: string | undefined,
  reference: KernelText | undefined,
): KernelSymbols | undefined {
  if (buildId === undefined) return undefined;
  const cache = process.env.PERF_BUILDID_DIR ?? join(homedir(), ".debug");
  const places = [
    join(cache, ".build-id", buildId.slice(0, 2), buildId.slice(2), "kallsyms"),
    join(cache, "[kernel.kallsyms]", buildId, "kallsyms"),
  ];
  if (buildIdOfRunningKernel() === buildId) places.push("/proc/kallsyms");
  for (const place of places) {
    const text = contentOf(place);
    const symbols = text === undefined ? undefined : KernelSymbols.parse(text, reference);
    if (symbols !== undefined) return symbols;
  }
  return undefined;
}

function buildIdOfRunningKernel(): string | undefined {
  const notes = contentOf("/sys/kernel/notes");
  if (notes === undefined) return undefined;
  for (const { owner, type, content } of readNotes(notes))
    if (owner === "GNU" && type === NT_GNU_BUILD_ID) return Buffer.from(content).toString("hex");
  return undefined;
}

function contentOf(path: string): Buffer | undefined {
  return attempt(() => readRegular(path), undefined);
}

// The module is loaded on demand: few files are compressed, and loading delays each start.
const zlib = () => process.getBuiltinModule("node:zlib");

/** Size of pieces from Node's stream. With the default of 16 KiB most of the time is spent on passing them on. */
const CHUNK_BYTES = 2 ** 18;

export function nodeZstd(): Decompressor {
  const stream = zlib().createZstdDecompress({ chunkSize: CHUNK_BYTES });
  return decompressInPlace(stream) ?? decompressByStream(stream);
}

/** Interface that Node's synchronous functions (`zstdDecompressSync`) call for each piece of a buffer. */
interface StepwiseHandle {
  writeSync(
    flush: number,
    input: Uint8Array,
    inputOffset: number,
    inputBytes: number,
    output: Uint8Array,
    outputOffset: number,
    outputBytes: number,
  ): void;
}

/**
 * Decompresses in this thread, directly into the target. This takes a third of the time of the stream, which passes
 * each piece to another thread and allocates and copies the results. Node documents no such way for a stream that
 * continues, so the internal interface of its own functions is used.
 *
 * @returns undefined if this version of Node lacks the interface
 */
export function decompressInPlace(stream: ZstdDecompress): Decompressor | undefined {
  const { _handle: handle, _writeState: remainders } = stream as unknown as {
    _handle?: Partial<StepwiseHandle> | null;
    _writeState?: unknown;
  };
  if (
    typeof handle?.writeSync !== "function" ||
    !(remainders instanceof Uint32Array) ||
    remainders.length !== 2
  )
    return undefined;
  const { writeSync } = handle as StepwiseHandle;
  const { ZSTD_e_continue: flush } = zlib().constants;
  // A failure also causes an event later.
  stream.on("error", () => {});
  return (input, room): Decompressed => {
    if (stream.errored) throw stream.errored;
    writeSync.call(handle, flush, input, 0, input.length, room, 0, room.length);
    if (stream.errored) throw stream.errored;
    const [roomLeft = 0, inputLeft = 0] = remainders;
    return { read: input.length - inputLeft, written: room.length - roomLeft };
  };
}

export function decompressByStream(stream: ZstdDecompress): Decompressor {
  const pieces: Uint8Array[] = [];
  let failure: Error | undefined;
  // A damaged stream reports an error event; the callback of the write may never come.
  let fail: (error: Error) => void = () => {};
  stream.on("data", (piece: Uint8Array) => pieces.push(piece));
  stream.on("error", (error) => {
    failure = error;
    fail(error);
  });
  const write = (input: Uint8Array) =>
    new Promise<void>((resolve, reject) => {
      fail = reject;
      stream.write(input, (error) => (error ? reject(error) : resolve()));
    });
  return async (input, room) => {
    if (failure !== undefined) throw failure;
    if (input.length > 0) await write(input);
    let written = 0;
    for (let piece = pieces[0]; piece !== undefined && written < room.length; piece = pieces[0]) {
      const part = piece.subarray(0, room.length - written);
      room.set(part, written);
      written += part.length;
      if (part.length === piece.length) pieces.shift();
      else pieces[0] = piece.subarray(part.length);
    }
    return { read: input.length, written };
  };
}

/** Adds names to samples. Names of places are looked up on demand, once for all processes. */
export class SampleNamer {
  readonly #namer: FrameNamer;
  readonly #kernelNamer: KernelNamer | undefined;
  readonly #kernelPlaces = new Map<string, KernelPlace>();
  /** Symbols by file and address in it. */
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
    return entryOf(this.#kernelPlaces, address, () => {
      const named = this.#kernelNamer?.name(address, kernelText);
      return { address, symbol: named, module: named?.module, text: undefined };
    });
  }

  /** Returns the symbol that perf would show at an address of a file. */
  shownSymbol(file: NativeFile, address: number): SymbolOffset | undefined {
    const cached = entryOf(this.#symbols, file, () => new Map());
    let symbol = cached.get(address);
    if (symbol === undefined && !cached.has(address)) {
      const found = symbolAt(file, address, preferAsPerf);
      symbol = found && {
        name: withoutParameters(this.#namer.demangle(found.name)),
        offset: address - found.address,
      };
      cached.set(address, symbol);
    }
    return symbol;
  }

  names(file: NativeFile, address: number): NamedAddress {
    return this.#namer.name(file, address);
  }
}

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
