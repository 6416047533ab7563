import {
  END_REASONS,
  type EndReason,
  endsWithCall,
  isSignalTrampoline,
  ModuleMap,
  pltStep,
  type ReadCode,
  Registers,
  SMALL_RULE,
  StackImage,
  smallRuleAt,
  UNCHANGED,
  Unwinder,
  type UnwindOptions,
  type UnwindTarget,
  unwindTarget,
} from "../../../code/unwind/index.ts";
import { bytesOfBase64 } from "../../../ground/bytes/base64.ts";
import type { ByteSource } from "../../../ground/bytes/byte-source.ts";
import { FormatError } from "../../../ground/bytes/errors.ts";
import { getU64 } from "../../../ground/bytes/numbers.ts";
import {
  AARCH64_REGISTERS,
  type Decompressor,
  type PerfFork,
  type PerfHeader,
  type PerfMapping,
  type PerfName,
  type PerfRecords,
  type PerfRecordsWasm,
  type PerfSample,
  readPerfData,
  X86_64_REGISTERS,
} from "../../../profile/formats/perf-data/index.ts";
import { agreeing, counted } from "../../../profile/model/counted.ts";
import type { SampledPlace } from "../../../profile/model/native-stacks.ts";
import type { ProcessArchitecture } from "../../../profile/model/process-image.ts";
import { SAMPLES_BASE64 } from "../assembly.generated.ts";
import { MappedModule, NativeFile, type ObjectSource } from "../native-file.ts";
import type { KernelText } from "./kallsyms.ts";

/** Place in the code of a process, with cached data for its next occurrence. */
export class CodePlace {
  /** Address in the process: in callers inside the call. */
  readonly address: number;
  readonly module: MappedModule | undefined;
  named: SampledPlace | undefined;
  /** Cache for a profile's frames of this place, outermost first. */
  frames: readonly number[] | undefined;

  constructor(address: number, module: MappedModule | undefined) {
    this.address = address;
    this.module = module;
  }

  /** Address as perf shows it: the offset in the file. Generated code has no file. */
  get shownAddress(): number {
    return this.address + (this.module?.shownOffset ?? 0);
  }
}

/** Offset of the return address from the CFA in rules that WebAssembly handles. */
const RETURN_OFFSET = -8;

export interface SampleWalkOptions {
  readonly unwinding?: UnwindOptions | undefined;
  /**
   * Receives the addresses of all samples as text, like `perf script -F ip --no-inline`, instead of single samples.
   */
  readonly onText?: ((text: Uint8Array) => void) | undefined;
}

export interface RecordedProcesses {
  readonly header: PerfHeader;
  readonly processes: PerfProcesses;
}

/**
 * Walks the stacks of samples in WebAssembly (`assembly/`). The module calls back for data that it needs the first
 * time, and for the full unwinder if simple rules are not enough.
 */
class SampleWalks {
  readonly wasm: SamplesWasm;
  readonly #records: PerfRecords;
  readonly #onText: SampleWalkOptions["onText"];
  readonly #unwinding: UnwindOptions;
  readonly #start: () => RecordedProcesses;
  #header: PerfHeader | undefined;
  #processes: PerfProcesses | undefined;
  #target: UnwindTarget | undefined;
  #registers: SampleRegisters[] = [];
  #places: CodePlace[] = [];
  readonly #kernelTexts = new Map<number, string>();
  /** Frames of the last sample, overwritten by the next one. */
  readonly frames: CodePlace[] = [];

  /** @param start called at the first record, when everything before it was read */
  constructor(
    records: PerfRecords,
    { unwinding = {}, onText }: SampleWalkOptions,
    start: () => RecordedProcesses,
  ) {
    this.#records = records;
    this.#onText = onText;
    this.#unwinding = unwinding;
    this.#start = start;
    this.wasm = instantiateSamples(records.wasm, {
      start: () => this.#begin(),
      nameFile: (name, nameBytes, id, idBytes) => this.#nameFile(name, nameBytes, id, idBytes),
      openMapping: (mapping) => this.#openMapping(mapping),
      findRule: (file, address) => this.#findRule(file, address),
      isReturnAddress: (file, address) => this.#isReturnAddress(file, address),
      unwind: () => this.#unwind(),
      write: (address, bytes) => this.#onText?.(this.#bytes(address, bytes).slice()),
      forgetPlaces: () => {
        this.#places = [];
      },
    });
  }

  #begin(): void {
    const { header, processes } = this.#start();
    this.#header = header;
    this.#processes = processes;
    this.#target = processes.target;
    const { framePointers, scan, maxFrames = Number.POSITIVE_INFINITY } = this.#unwinding;
    this.wasm.begin(
      this.#records.wasm.SAMPLE.value,
      this.#onText === undefined ? 0 : 1,
      this.#target.architecture === "x86_64" ? 1 : 0,
      framePointers !== false && scan !== true ? 1 : 0,
      Math.min(maxFrames, 2 ** 31 - 1),
    );
    this.setEvents();
  }

  setEvents(): void {
    const target = this.#target;
    if (target === undefined) return;
    const { events } = this.#header!;
    this.#registers = events.map(({ userRegisters }) => new SampleRegisters(target, userRegisters));
    const at = this.wasm.beginLayouts(events.length);
    const { view } = this.#records;
    for (const [event, registers] of this.#registers.entries())
      for (const [index, register] of [target.pc, target.stackPointer, target.framePointer].entries())
        view.setInt32(at + 16 * event + 4 * index, registers.offsetOf(register), true);
  }

  setBuildIds(): void {
    this.wasm.forgetNames();
  }

  /** End reason of the last sample's stack; undefined if the stack was not unwound. */
  get end(): EndReason | undefined {
    return END_REASONS[this.wasm.end.value];
  }

  readFrames(): void {
    const { frames } = this;
    const count = this.wasm.frameCount.value;
    const { view } = this.#records;
    const start = this.wasm.frames.value;
    frames.length = count;
    for (let index = 0; index < count; index++) {
      const number = view.getUint32(start + 4 * index, true);
      frames[index] = this.#places[number] ?? this.#addPlace(number);
    }
  }

  /** Returns the kernel addresses of the last sample's frames, in hexadecimal, innermost first. */
  kernelFrames(): string[] {
    const { view } = this.#records;
    const start = this.wasm.kernel.value;
    return Array.from({ length: this.wasm.kernelCount.value }, (_, index) => {
      const high = view.getUint32(start + 8 * index + 4, true);
      const low = view.getUint32(start + 8 * index, true);
      // The key is the distance from the end of the address space; it is exact for all kernel addresses.
      const key = (high - 2 ** 32) * 2 ** 32 + low;
      let text = this.#kernelTexts.get(key);
      if (text === undefined) {
        text = hexadecimal(high, low);
        if (Number.isSafeInteger(key)) this.#kernelTexts.set(key, text);
      }
      return text;
    });
  }

  #addPlace(number: number): CodePlace {
    const { view } = this.#records;
    const at = this.wasm.places.value + number * this.wasm.PLACE_BYTES.value;
    const high = view.getUint32(at + 4, true);
    // The value −1 precedes a return address of 0; other large values are no addresses and may be rounded.
    const address = high === 0xffff_ffff ? -1 : high * 2 ** 32 + view.getUint32(at, true);
    const place = new CodePlace(address, this.#process().modules.find(address));
    this.#places[number] = place;
    return place;
  }

  #bytes(address: number, length: number): Uint8Array {
    return new Uint8Array(this.#records.view.buffer, address, length);
  }

  #nameFile(name: number, nameBytes: number, buildId: number, buildIdBytes: number): number {
    const path = utf8.decode(this.#bytes(name, nameBytes));
    const id =
      buildIdBytes === 0
        ? this.#header!.buildIds.get(path)
        : Buffer.from(this.#records.view.buffer, buildId, buildIdBytes).toString("hex");
    const processes = this.#processes!;
    const number = processes.numberOfFile(path, id);
    return (number << 1) | (processes.files[number]!.isAnonymous ? 1 : 0);
  }

  #process(): PerfProcess {
    const { wasm } = this;
    const { view } = this.#records;
    const processes = this.#processes!;
    const process = processes.process(view.getInt32(this.#records.wasm.SAMPLE.value + 12, true));
    const version = wasm.processVersion();
    if (process.version === version) return process;
    process.version = version;
    process.modules.remove(0, Number.POSITIVE_INFINITY);
    const bytes = wasm.MAPPING_BYTES.value;
    const first = wasm.processMappings();
    for (let index = 0; index < wasm.processMappingCount(); index++)
      process.modules.add(this.#moduleAt(first + index * bytes));
    return process;
  }

  #moduleAt(mapping: number): MappedModule {
    const { view } = this.#records;
    const file = this.#processes!.files[view.getUint32(mapping + 32, true)]!;
    const [start, end, fileOffset] = [0, 8, 16].map((at) => getU64(view, mapping + at));
    return new MappedModule(file, start!, end!, fileOffset!);
  }

  #openMapping(mapping: number): void {
    this.wasm.setMapping(mapping, this.#moduleAt(mapping).bias);
  }

  #findRule(number: number, address: number): void {
    const file = this.#processes!.files[number]!;
    const { table } = file;
    const rule = table && smallRuleAt(table, address, true);
    if (rule === undefined || rule.kind === SMALL_RULE.uncovered) {
      const isKnown = hasKnownCode((at, length) => file.codeAt(at, length), address);
      this.wasm.setRule(isKnown ? SMALL_RULE.other : SMALL_RULE.uncovered, 0, 0);
    } else if (rule.kind === SMALL_RULE.other || rule.kind === SMALL_RULE.outermost) {
      this.wasm.setRule(rule.kind, 0, 0);
    } else {
      const { kind, cfaOffset, returnOffset, framePointerOffset } = rule;
      const isWalked = returnOffset === RETURN_OFFSET && framePointerOffset !== 0;
      const framePointer = framePointerOffset === UNCHANGED ? 0 : framePointerOffset;
      this.wasm.setRule(isWalked ? kind : SMALL_RULE.other, cfaOffset, framePointer);
    }
  }

  #isReturnAddress(number: number, address: number): boolean {
    const file = this.#processes!.files[number]!;
    if (file.table === undefined || file.table.find(address - 1) === 0) return false;
    const code = file.codeAt(address - 7, 7);
    return code.length < 7 || endsWithCall(code);
  }

  #unwind(): number {
    const { event, registers, stack } = this.#records.sample();
    const { unwinder } = this.#process();
    const layout = this.#registers[event]!;
    const start = layout.address(registers!, unwinder.target.stackPointer);
    const { frames, end } = unwinder.unwind(layout.read(registers!), new StackImage(start, stack!));
    const at = this.wasm.reserveAddresses(frames.length);
    const { view } = this.#records;
    for (const [index, { lookupAddress }] of frames.entries())
      view.setFloat64(at + 8 * index, lookupAddress, true);
    return (frames.length << 8) | END_REASONS.indexOf(end);
  }
}

const utf8 = new TextDecoder();

/**
 * True if the code at an address, or right after it, is a stub or trampoline that the unwinder recognises by its
 * bytes.
 */
function hasKnownCode(readCode: ReadCode, address: number): boolean {
  const isTrampoline = (at: number) => isSignalTrampoline("x86_64", at, readCode);
  return isTrampoline(address) || isTrampoline(address + 1) || pltStep(address, readCode) !== undefined;
}

function hexadecimal(high: number, low: number): string {
  const digits = low.toString(16);
  return high === 0 ? digits : high.toString(16) + digits.padStart(8, "0");
}

/** Name of the kernel's mapping in a recording, with the symbol whose address it gives. */
const KERNEL_TEXT = /^\[kernel\.kallsyms\](\w+)$/;

/** Number of processes kept ready for walks; recordings of a whole machine have thousands. */
const MOST_READY = 8;

class PerfProcess {
  readonly modules = new ModuleMap<MappedModule>();
  version = -1;
  readonly #make: (modules: ModuleMap) => Unwinder;
  #unwinder: Unwinder | undefined;

  constructor(make: (modules: ModuleMap) => Unwinder) {
    this.#make = make;
  }

  get unwinder(): Unwinder {
    this.#unwinder ??= this.#make(this.modules);
    return this.#unwinder;
  }

  releaseMemory(): void {
    this.#unwinder = undefined;
  }
}

/** Processes of a recording at the current time: their mappings and the names of their threads. */
class PerfProcesses {
  kernelText: KernelText | undefined;
  readonly target: UnwindTarget;
  readonly #architecture: ProcessArchitecture;
  readonly #objects: ObjectSource;
  readonly #options: UnwindOptions;
  readonly #processes = new Map<number, PerfProcess>();
  readonly #names = new Map<number, string>();
  readonly #files: NativeFile[] = [];
  readonly #fileNumbers = new Map<string, number>();
  /** Recently used processes, the latest one last. */
  readonly #ready: PerfProcess[] = [];

  constructor(architecture: ProcessArchitecture, objects: ObjectSource, options: UnwindOptions) {
    this.#architecture = architecture;
    this.target = unwindTarget(architecture)!;
    this.#options = options;
    this.#objects = objects;
  }

  get files(): readonly NativeFile[] {
    return this.#files;
  }

  numberOfFile(path: string, buildId: string | undefined): number {
    const key = `${buildId ?? ""} ${path}`;
    let number = this.#fileNumbers.get(key);
    if (number === undefined) {
      number = this.#files.push(new NativeFile(path, buildId, this.#objects)) - 1;
      this.#fileNumbers.set(key, number);
    }
    return number;
  }

  process(pid: number): PerfProcess {
    let process = this.#processes.get(pid);
    if (process === undefined) {
      process = new PerfProcess((own) => new Unwinder(this.#architecture, this.#options, own));
      this.#processes.set(pid, process);
    }
    if (this.#ready.at(-1) === process) return process;
    const at = this.#ready.indexOf(process);
    if (at >= 0) this.#ready.splice(at, 1);
    this.#ready.push(process);
    if (this.#ready.length > MOST_READY) this.#ready.shift()?.releaseMemory();
    return process;
  }

  /** Returns the name of a thread; perf's substitute if it has none. */
  nameOf(tid: number): string {
    return this.#names.get(tid) ?? `:${tid}`;
  }

  mapKernel({ path, fileOffset }: PerfMapping): void {
    const [, symbol] = KERNEL_TEXT.exec(path) ?? [];
    // The value is rounded, but kernel addresses are multiples of more than the lost bits.
    if (symbol !== undefined) this.kernelText = { symbol, address: fileOffset - 2 ** 64 };
  }

  rename({ tid, name }: PerfName): void {
    this.#names.set(tid, name);
  }

  fork({ tid, parentTid }: PerfFork): void {
    const name = this.#names.get(parentTid);
    if (name !== undefined) this.#names.set(tid, name);
  }
}

/** Exports of `assembly/`. Addresses are in the memory that it shares with the reader of records. */
interface SamplesWasm
  extends Readonly<
    Record<
      | "kernel"
      | "kernelCount"
      | "frames"
      | "frameCount"
      | "end"
      | "foreignSamples"
      | "damagedSamples"
      | "addresses"
      | "places"
      | "PLACE_BYTES"
      | "MAPPING_BYTES",
      WebAssembly.Global<"i32">
    >
  > {
  begin(sample: number, isText: number, isWalked: number, isGuessed: number, maxFrames: number): void;
  beginLayouts(events: number): number;
  reserveAddresses(count: number): number;
  nextRecord(): number;
  /** Returns the number that changes with the mappings of the last sample's process. */
  processVersion(): number;
  processMappings(): number;
  processMappingCount(): number;
  forgetNames(): void;
  setMapping(mapping: number, bias: number): void;
  setRule(rule: number, cfaOffset: number, framePointerOffset: number): void;
  finishText(): void;
}

/** Imports of `assembly/`; each function answers by a call of the `SamplesWasm` function given here. */
interface SamplesHost {
  /** calls `begin`, at the first record */
  start(): void;
  /** Returns the number of a file << 1, + 1 if the name is for memory without a file; `buildId` may have no bytes. */
  nameFile(name: number, nameBytes: number, buildId: number, buildIdBytes: number): number;
  /** calls `setMapping` */
  openMapping(mapping: number): void;
  /** calls `setRule`, for an address of a file (SVMA) */
  findRule(file: number, address: number): void;
  /** True if an address of a file (SVMA) could be a return address. */
  isReturnAddress(file: number, address: number): boolean;
  /** Unwinds the last sample into `addresses`: returns their number << 8 | the index of the end reason. */
  unwind(): number;
  /** Receives text in a buffer that is overwritten afterwards. */
  write(address: number, bytes: number): void;
  /** Called when places were cleared and their numbers begin anew. */
  forgetPlaces(): void;
}

let compiled: WebAssembly.Module | undefined;

function instantiateSamples(records: PerfRecordsWasm, host: SamplesHost): SamplesWasm {
  compiled ??= new WebAssembly.Module(bytesOfBase64(SAMPLES_BASE64));
  const { memory, next, decode, allocate } = records;
  const imports = { env: { memory }, records: { next, decode, allocate }, host: { ...host } };
  return new WebAssembly.Instance(compiled, imports).exports as unknown as SamplesWasm;
}

/** Registers in the words of a sample, for one set of recorded registers. */
export class SampleRegisters {
  /** DWARF number of each word; −1 for registers that unwinding does not need. */
  readonly #numbers: readonly number[];
  readonly #registers: Registers;

  constructor(target: UnwindTarget, [low, high]: readonly [number, number]) {
    this.#registers = new Registers(target);
    const registerOrder = target.architecture === "aarch64" ? AARCH64_REGISTERS : X86_64_REGISTERS;
    const numbers: number[] = [];
    for (let bit = 0; bit < 64; bit++)
      if (((bit < 32 ? low >>> bit : high >>> (bit - 32)) & 1) === 1) numbers.push(registerOrder[bit] ?? -1);
    this.#numbers = numbers;
  }

  /** Returns the offset of a register among those of a sample; −1 if it was not recorded. */
  offsetOf(register: number): number {
    const index = this.#numbers.indexOf(register);
    return index < 0 ? -1 : 8 * index;
  }

  /** Returns the register of a sample as an address; NaN if it was not recorded, or is no address. */
  address(words: DataView, register: number): number {
    const index = this.#numbers.indexOf(register);
    if (index < 0) return Number.NaN;
    const high = words.getUint32(8 * index + 4, true);
    return high < 2 ** 21 ? high * 2 ** 32 + words.getUint32(8 * index, true) : Number.NaN;
  }

  read(words: DataView): Registers {
    const registers = this.#registers;
    const numbers = this.#numbers;
    registers.known.fill(0);
    for (let index = 0; index < numbers.length; index++) {
      const number = numbers[index]!;
      if (number < 0) continue;
      registers.setHalves(number, words.getUint32(8 * index, true), words.getUint32(8 * index + 4, true));
    }
    return registers;
  }
}

export interface SampleStack {
  readonly sample: PerfSample;
  readonly threadName: string;
  /** Kernel addresses in hexadecimal, innermost first; the program's frames called them. */
  readonly kernel: readonly string[];
  readonly kernelText: KernelText | undefined;
  /** Frames, innermost first; overwritten by the next sample. */
  readonly frames: readonly CodePlace[];
  /** Reason why an unwound stack ends; undefined if the kernel recorded the calls, or no calls are known. */
  readonly end: EndReason | undefined;
}

interface PerfStacksOptions {
  readonly zstd: () => Decompressor;
  readonly options?: UnwindOptions;
  /** Called for each sample in the order of time. */
  readonly onSample?: (stack: SampleStack, header: PerfHeader) => void;
  /** Receives the addresses of all samples as text instead, like `perf script -F ip --no-inline`. */
  readonly onText?: ((text: Uint8Array) => void) | undefined;
}

export interface PerfStacks {
  readonly header: PerfHeader;
  readonly files: readonly NativeFile[];
  /** Number of samples lost while recording. */
  readonly lost: number;
  readonly gaps: readonly string[];
}

/** Unwinds the samples of perf.data, one by one. */
export async function unwindPerfData(
  source: ByteSource,
  objects: ObjectSource,
  { zstd, onSample, onText, options = {} }: PerfStacksOptions,
): Promise<PerfStacks> {
  let processes: PerfProcesses | undefined;
  let walks: SampleWalks | undefined;
  let lost = 0;
  const { header, gaps } = await readPerfData(source, {
    zstd,
    takeSamples: (records, recordHeader) => {
      walks = new SampleWalks(records, { unwinding: options, onText }, () => {
        processes = new PerfProcesses(architectureOf(recordHeader), objects, options);
        return { header: recordHeader, processes };
      });
      return walks;
    },
    onRecord: (record, recordHeader) => {
      switch (record.kind) {
        case "lost":
          lost += record.count;
          break;
        case "mmap":
          processes!.mapKernel(record);
          break;
        case "comm":
          processes!.rename(record);
          break;
        case "fork":
          processes!.fork(record);
          break;
        case "sample":
          onSample?.(stackOf(record, walks!, processes!), recordHeader);
          break;
      }
    },
  });
  walks?.wasm.finishText();
  const other = walks?.wasm.foreignSamples.value ?? 0;
  return {
    header,
    files: [...(processes?.files ?? [])],
    lost,
    gaps:
      other === 0
        ? gaps
        : [
            ...gaps,
            `${counted(other, "sample")} of 32-bit programs ${agreeing(other, "was", "were")} not unwound.`,
          ],
  };
}

function stackOf(sample: PerfSample, walks: SampleWalks, processes: PerfProcesses): SampleStack {
  walks.readFrames();
  return {
    sample,
    threadName: processes.nameOf(sample.tid),
    kernel: walks.kernelFrames(),
    kernelText: processes.kernelText,
    frames: walks.frames,
    end: walks.end,
  };
}

/** Returns the architecture from the file, else derived from the recorded registers. */
function architectureOf({ architecture, events }: PerfHeader): ProcessArchitecture {
  if (architecture !== undefined) return architecture;
  const masks = events.map(({ userRegisters }) => userRegisters).filter(([low]) => low !== 0);
  if (masks.some(([, high]) => high === 1)) return "aarch64";
  if (masks.length === 0 || masks.some(([low]) => (low & 0xff0fff) === 0xff0fff)) return "x86_64";
  throw new FormatError("unsupported", 0, "perf.data header", "it does not say for which machine it is");
}
