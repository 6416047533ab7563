import { bytesOfBase64 } from "../../../../src/ground/bytes/base64.ts";
import {
  Header,
  MODULE_BYTES,
  Module,
  NextWord,
  Place,
  STACK_FRAME_BYTES,
  StackFrame,
  TEXT_BYTES,
  Text,
  THREAD_BYTES,
  Thread,
} from "../../../../src/record/native/layout.ts";
import { NATIVE_RUNTIME_BASE64 } from "../../../../src/record/native/runtime.generated.ts";
import { FakeKernel } from "./fake-kernel.ts";
import { FakeMemory } from "./fake-memory.ts";
import { type FakeObject, FakeObjects } from "./fake-objects.ts";

const RUNTIME = new WebAssembly.Module(bytesOfBase64(NATIVE_RUNTIME_BASE64) as BufferSource);
const PAGES = 65536;
const TLS_WORDS = 8;
/** Addresses in the process: parts of the image, and linear memory. */
export const TEXT = 0x7e00_0000_0000;
const SCRATCH = 0x7e00_0001_0000;
const SLOT = 0x7e00_0002_0000;
/** Byte of the C library that is set while there is one thread. */
const ALONE = SCRATCH + 4000;
const LINEAR = 0x7e01_0000_0000;
const FIRST_THREAD = 100;

/** Origin of a call: its return address, where that is stored, and the frame pointer. */
export interface CallSite {
  readonly address: number;
  readonly place: number;
  readonly framePointer: number;
}

/** Behaviour of the C library's functions; each is undefined until a test sets it. */
export interface FakeLibrary {
  fork?: () => number;
  execve?: (path: number, values: number, environment: number) => number;
  execvpe?: (name: number, values: number, environment: number) => number;
  fexecve?: (file: number, values: number, environment: number) => number;
  __cxa_atexit?: (callback: number, argument: number, object: number) => number;
  __cxa_at_quick_exit?: (callback: number, object: number) => number;
  _exit?: (status: number) => void;
  malloc?: (size: number) => number;
  calloc?: (count: number, size: number) => number;
  realloc?: (old: number, size: number) => number;
  reallocarray?: (old: number, count: number, size: number) => number;
  memalign?: (alignment: number, size: number) => number;
  aligned_alloc?: (alignment: number, size: number) => number;
  posix_memalign?: (result: number, alignment: number, size: number) => number;
  valloc?: (size: number) => number;
  pvalloc?: (size: number) => number;
  free?: (block: number) => void;
  malloc_usable_size?: (block: number) => number;
  mallinfo2?: (result: number) => number;
  dlclose?: (handle: number) => number;
  mmap?: (address: number, length: number) => number;
  munmap?: (address: number, length: number) => number;
  mremap?: (old: number, oldLength: number, length: number, flags: number, address: number) => number;
  mlockall?: (flags: number) => number;
  operatorNew?: (size: number) => number;
  operatorNewNothrow?: (size: number, tag: number) => number;
  operatorNewAligned?: (size: number, alignment: number) => number;
  operatorNewAlignedNothrow?: (size: number, alignment: number, tag: number) => number;
  mallocx?: (size: number, flags: number) => number;
  rallocx?: (old: number, size: number, flags: number) => number;
  dallocx?: (block: number, flags: number) => void;
  sdallocx?: (block: number, size: number, flags: number) => void;
  pthread_create?: (result: number, attributes: number, start: number, argument: number) => number;
  thrd_create?: (result: number, start: number, argument: number) => number;
  sigaction?: (signal: number, action: number, old: number) => number;
  signal?: (signal: number, handler: number) => number;
  pthread_sigmask?: (how: number, set: number, old: number) => number;
  sigprocmask?: (how: number, set: number, old: number) => number;
}

interface RuntimeExports {
  malloc(size: bigint): bigint;
  calloc(count: bigint, size: bigint): bigint;
  realloc(old: bigint, size: bigint): bigint;
  reallocarray(old: bigint, count: bigint, size: bigint): bigint;
  memalign(alignment: bigint, size: bigint): bigint;
  aligned_alloc(alignment: bigint, size: bigint): bigint;
  posix_memalign(result: bigint, alignment: bigint, size: bigint): number;
  valloc(size: bigint): bigint;
  pvalloc(size: bigint): bigint;
  free(block: bigint): void;
  malloc_usable_size(block: bigint): bigint;
  dlclose(handle: bigint): number;
  mmap(
    address: bigint,
    length: bigint,
    protection: bigint,
    flags: bigint,
    file: bigint,
    offset: bigint,
  ): bigint;
  munmap(address: bigint, length: bigint): number;
  mremap(old: bigint, oldLength: bigint, length: bigint, flags: bigint, address: bigint): bigint;
  mlockall(flags: number): number;
  operatorNew(size: bigint): bigint;
  operatorNewAligned(size: bigint, alignment: bigint): bigint;
  mallocx(size: bigint, flags: number): bigint;
  rallocx(old: bigint, size: bigint, flags: number): bigint;
  sdallocx(block: bigint, size: bigint, flags: number): void;
  memory_open(): bigint;
  at_exit(argument: bigint): void;
  end_program(argument: bigint): void;
  exit_now(status: bigint): void;
  exit_program(status: bigint): void;
  initialize(count: number, args: bigint, environment: bigint): void;
  finalize(): void;
  pthread_create(result: bigint, attributes: bigint, start: bigint, argument: bigint): number;
  thrd_create(result: bigint, start: bigint, argument: bigint): number;
  begin_thread(pair: bigint): void;
  sample_handler(signal: number, info: bigint, context: bigint): void;
  sigaction(signal: number, action: bigint, old: bigint): number;
  signal(signal: number, handler: bigint): bigint;
  pthread_sigmask(how: number, set: bigint, old: bigint): number;
  sigprocmask(how: number, set: bigint, old: bigint): number;
}

/** A process with the runtime in it, run by V8: models of memory, kernel and C library serve its imports. */
export class FakeProcess {
  readonly memory = new FakeMemory();
  readonly objects = new FakeObjects(this.memory);
  readonly linear = new WebAssembly.Memory({ initial: PAGES, maximum: PAGES });
  readonly view = new DataView(this.linear.buffer);
  readonly kernel = new FakeKernel(this.memory);
  readonly hooks: RuntimeExports;
  library: FakeLibrary = {};
  site: CallSite = { address: 0, place: 0, framePointer: 0 };
  thread = FIRST_THREAD;
  /** Target and argument of the jump by which a function was left. */
  left: { to: number; argument: number } | undefined;
  readonly #tls = new Map<number, BigUint64Array>();

  constructor() {
    this.memory.mapView(LINEAR, this.view);
    this.memory.map(TEXT, new Uint8Array(TEXT_BYTES));
    for (const place of [SCRATCH, SLOT]) this.memory.map(place, new Uint8Array(4096));
    this.memory.write(TEXT + Text.memory, new TextEncoder().encode("/run/heap."));
    this.memory.write(TEXT + Text.program, new TextEncoder().encode("/proc/self/exe"));
    this.memory.write(TEXT + Text.command, new TextEncoder().encode("/proc/self/cmdline"));
    // The C library finds the object that an address lies in.
    this.memory.store64(TEXT + Text.next + 8 * NextWord.findObject, 1n);
    this.memory.write(TEXT + Text.tables, new TextEncoder().encode("/tables/"));
    this.kernel.threadOf = () => this.thread;
    const instance = new WebAssembly.Instance(RUNTIME, {
      env: { memory: this.linear },
      native: this.#imports(),
    });
    this.hooks = instance.exports as unknown as RuntimeExports;
    this.open();
  }

  open(): void {
    this.memory.store64(SLOT, BigInt(LINEAR));
    this.view.setUint32(Header.process, this.kernel.process, true);
  }

  /** State while the C library has only one thread. */
  beAlone(): void {
    this.memory.write(ALONE, Uint8Array.of(1));
    this.memory.store64(TEXT + Text.isSingleThreaded, BigInt(ALONE));
  }

  load(object: FakeObject, tables?: Uint8Array): void {
    const buildId = this.objects.load(object);
    if (tables !== undefined) this.kernel.files.set(`/tables/${buildId}`, tables);
  }

  header(field: number): number {
    return this.view.getUint32(field, true);
  }

  /** Linear address of the thread that began as number `index`. */
  threadAt(index: number): number {
    return Place.threads + index * THREAD_BYTES;
  }

  /** Return addresses of a thread's last stack, innermost first, and its `WalkEnd`. */
  stack(index = 0): { frames: number[]; end: number } {
    const thread = this.threadAt(index);
    const count = this.view.getUint32(thread + Thread.frames, true);
    const frames = Array.from({ length: count }, (_, i) =>
      Number(
        this.view.getBigUint64(
          thread + Thread.stack + (count - 1 - i) * STACK_FRAME_BYTES + StackFrame.address,
          true,
        ),
      ),
    );
    return { frames, end: this.view.getUint32(thread + Thread.end, true) };
  }

  /** Address of a site in the process; the number itself if it is a mark. */
  addressOfSite(site: number): number {
    for (let i = 0; i < this.header(Header.modules); i++) {
      const at = Place.modules + i * MODULE_BYTES;
      const start = Number(this.view.getBigUint64(at + Module.start, true));
      const first = this.view.getUint32(at + Module.site, true);
      const bytes = Number(this.view.getBigUint64(at + Module.end, true)) - start;
      if (site >= first && site < first + bytes) return start + site - first;
    }
    return site;
  }

  setThreadWord(at: number, value: bigint): void {
    this.#words()[at / 8] = value;
  }

  #words(): BigUint64Array {
    const known = this.#tls.get(this.thread) ?? new BigUint64Array(TLS_WORDS);
    this.#tls.set(this.thread, known);
    return known;
  }

  #imports(): WebAssembly.ModuleImports {
    const { memory, kernel } = this;
    const words = () => this.#words();
    const library = Object.fromEntries(
      LIBRARY.map(([name, result]) => [
        name,
        (...operands: bigint[]) => {
          const called = this.library[name];
          if (called === undefined) throw new Error(`the program called ${name}`);
          const value = (called as (...numbers: number[]) => number)(...operands.map(Number));
          return result === "u64" ? BigInt.asIntN(64, BigInt(value)) : value;
        },
      ]),
    );
    const syscall = (number: bigint, ...operands: bigint[]) =>
      BigInt(kernel.call(Number(number), operands.map(Number)));
    return {
      ...library,
      load8: (at: bigint) => memory.load8(Number(at)),
      load32: (at: bigint) => memory.load32(Number(at)),
      load64: (at: bigint) => memory.load64(Number(at)),
      store8: (at: bigint, value: number) => memory.write(Number(at), Uint8Array.of(value)),
      store32: (at: bigint, value: number) => memory.store32(Number(at), value),
      store64: (at: bigint, value: bigint) => memory.store64(Number(at), value),
      // JavaScript has no vectors.
      load128: noVectors,
      store128: noVectors,
      syscall1: syscall,
      syscall2: syscall,
      syscall3: syscall,
      syscall4: syscall,
      syscall6: syscall,
      tlsLoad: (at: number) => words()[at / 8],
      tlsStore: (at: number, value: bigint) => {
        words()[at / 8] = value;
      },
      returnAddress: () => BigInt(this.site.address),
      stackPointer: () => BigInt(this.site.place),
      framePointer: () => BigInt(this.site.framePointer),
      text: () => BigInt(TEXT),
      scratch: () => BigInt(SCRATCH),
      memorySlot: () => BigInt(SLOT),
      jump: (to: bigint, argument: bigint) => {
        this.left = { to: Number(to), argument: Number(argument) };
      },
      // The image has no symbols to look up.
      dlsym: () => 0n,
      getauxval: () => 0n,
      _dl_find_object: (at: bigint, result: bigint) => this.objects.find(Number(at), Number(result)),
    };
  }
}

function noVectors(): never {
  throw new Error("nothing counts accesses here");
}

const LIBRARY = [
  ["fork", "u32"],
  ["execve", "u32"],
  ["execvpe", "u32"],
  ["fexecve", "u32"],
  ["__cxa_atexit", "u32"],
  ["__cxa_at_quick_exit", "u32"],
  ["_exit", "none"],
  ["malloc", "u64"],
  ["calloc", "u64"],
  ["realloc", "u64"],
  ["reallocarray", "u64"],
  ["memalign", "u64"],
  ["aligned_alloc", "u64"],
  ["posix_memalign", "u32"],
  ["valloc", "u64"],
  ["pvalloc", "u64"],
  ["free", "none"],
  ["malloc_usable_size", "u64"],
  ["mallinfo2", "u64"],
  ["dlclose", "u32"],
  ["mmap", "u64"],
  ["munmap", "u32"],
  ["mremap", "u64"],
  ["mlockall", "u32"],
  ["operatorNew", "u64"],
  ["operatorNewNothrow", "u64"],
  ["operatorNewAligned", "u64"],
  ["operatorNewAlignedNothrow", "u64"],
  ["mallocx", "u64"],
  ["rallocx", "u64"],
  ["dallocx", "none"],
  ["sdallocx", "none"],
  ["pthread_create", "u32"],
  ["thrd_create", "u32"],
  ["sigaction", "u32"],
  ["signal", "u64"],
  ["pthread_sigmask", "u32"],
  ["sigprocmask", "u32"],
] as const satisfies readonly (readonly [keyof FakeLibrary, string])[];
