import { UserError } from "../../../ground/bytes/errors.ts";
import type { Architecture } from "../../objects/types.ts";
import { type UnwindTarget, unwindTarget } from "../architecture.ts";
import {
  continuesFrameChain,
  framePointerStep,
  isSignalTrampoline,
  looksLikeReturnAddress,
  mayBeTrampoline,
  pltStep,
  restoreSignalContext,
  type StubStep,
} from "./fallbacks.ts";
import { type EndReason, FOUND_BY, type FoundBy, type Frame, type UnwoundStack } from "./frames.ts";
import { Memory, PagedMemory, type ReadMemory, StackImage } from "./memory.ts";
import { type Module, ModuleMap } from "./modules.ts";
import { Registers } from "./registers.ts";
import {
  DEFAULT_SIGNATURE_MASK,
  isSignalFrame,
  RuleStep,
  SMALL_RULE,
  type StepResult,
  smallRuleAt,
  UNCHANGED,
} from "./rule-step.ts";

/** Bits of a frame's mark; the lowest three are the index in `FOUND_BY`. */
export const FRAME_MARK = { foundBy: 7, signal: 8, signed: 16, caller: 32 } as const;

/**
 * Stack in columns, innermost frame first, for callers that unwind many stacks without creating objects. The
 * columns can be reused for the next stack.
 */
export class StackColumns {
  count = 0;
  /** Program counters; of callers the return address. */
  pcs = new Float64Array(256);
  /** Canonical frame addresses; NaN if there is none. */
  cfas = new Float64Array(256);
  /** Marks of the frames (`FRAME_MARK`). A frame marked as `caller` must be looked up at `pc − 1`. */
  marks = new Uint8Array(256);

  clear(): void {
    this.count = 0;
  }

  push(pc: number, cfa: number, mark: number): void {
    if (this.count === this.pcs.length) this.#grow();
    this.pcs[this.count] = pc;
    this.cfas[this.count] = cfa;
    this.marks[this.count++] = mark;
  }

  #grow(): void {
    const capacity = 2 * this.count;
    const { pcs, cfas, marks } = this;
    this.pcs = new Float64Array(capacity);
    this.pcs.set(pcs);
    this.cfas = new Float64Array(capacity);
    this.cfas.set(cfas);
    this.marks = new Uint8Array(capacity);
    this.marks.set(marks);
  }
}

const CACHE_BITS = 12;

/**
 * Cache of small rules by address. Profiles repeat the same addresses, so that most frames need neither a search
 * nor the full rules.
 */
class RuleCache {
  readonly #modules: ModuleMap;
  readonly #addresses = new Float64Array(1 << CACHE_BITS).fill(Number.NaN);
  /**
   * Four numbers per slot: the kind, the offset of the CFA, and from the CFA the offsets of the return address and
   * the frame pointer.
   */
  readonly rules = new Int32Array(4 << CACHE_BITS);
  #version = -1;

  constructor(modules: ModuleMap) {
    this.#modules = modules;
  }

  refresh(): void {
    if (this.#version === this.#modules.version) return;
    this.#version = this.#modules.version;
    this.#addresses.fill(Number.NaN);
  }

  find(pc: number, isCaller: boolean): number {
    const address = isCaller ? pc - 1 : pc;
    const slot = Math.imul(address | 0, 0x9e3779b1) >>> (32 - CACHE_BITS);
    if (this.#addresses[slot] !== address) this.#fill(slot, address, isCaller);
    return slot << 2;
  }

  #fill(slot: number, address: number, isCaller: boolean): void {
    const { rules } = this;
    this.#addresses[slot] = address;
    const at = slot << 2;
    rules[at] = SMALL_RULE.other;
    const module = this.#modules.find(address);
    const table = module?.table;
    if (module === undefined || table === undefined) return;
    const rule = smallRuleAt(table, address - module.bias, isCaller);
    if (rule.kind === SMALL_RULE.other || rule.kind === SMALL_RULE.uncovered) return;
    if (mayBeTrampoline(address + 1, isCaller) && isTrampoline(module, address + 1)) return;
    rules[at] = rule.kind;
    if (rule.kind === SMALL_RULE.outermost) return;
    rules[at + 1] = rule.cfaOffset;
    rules[at + 2] = rule.returnOffset;
    rules[at + 3] = rule.framePointerOffset;
  }
}

function isTrampoline({ table, readCode }: Module, address: number): boolean {
  if (table === undefined || readCode === undefined) return false;
  return isSignalTrampoline(table.target.architecture, address, readCode);
}

const DEFAULT_MAX_FRAMES = 100_000;
const SCANNED_WORDS = 1024;
/** Maximum number of scans in one stack, so that a stack full of garbage ends. */
const MAX_SCANS = 32;
/** High halves from which on a value is no address, or no address of user space. */
const HIGH_LIMIT = 1 << 21;
const USER_HIGH_LIMIT = 1 << 16;
const FOUND_BY_CONTEXT = FOUND_BY.indexOf("context");
const FOUND_BY_CFI = FOUND_BY.indexOf("cfi");

const NO_MEMORY = new StackImage(0, new Uint8Array(0));

/** Walks stacks, one at a time; its buffers are reused for the next one. */
class Walk {
  readonly #target: UnwindTarget;
  readonly #modules: ModuleMap;
  readonly #cache: RuleCache;
  readonly #step = new RuleStep();
  #memory: Memory = NO_MEMORY;
  #options: UnwindOptions = {};
  #columns = new StackColumns();
  #registersOfFrames: Registers[] | undefined;
  #maxFrames = 0;
  #registers: Registers;
  #caller: Registers;
  #isCaller = false;
  #mark = FOUND_BY_CONTEXT;
  #lastCfa = Number.NaN;
  #lastKind: Frame["kind"] = "normal";
  /** Properties of the frame being left: its CFA, how its caller was found, and whether it is a signal trampoline. */
  #cfa = Number.NaN;
  #foundCaller: FoundBy = "cfi";
  #kind: Frame["kind"] = "normal";
  #wasSigned = false;
  /**
   * True if the frame being left has no caller: `makecontext` put the function's address on the stack, as the last
   * word.
   */
  #isPlaced = false;
  #scans = 0;
  /** Pairs of pc and CFA seen before the stack jumped. */
  #seen: Set<string> | undefined;

  constructor(target: UnwindTarget, modules: ModuleMap, cache: RuleCache) {
    this.#target = target;
    this.#modules = modules;
    this.#cache = cache;
    this.#registers = new Registers(target);
    this.#caller = new Registers(target);
  }

  walk(
    context: Registers,
    memory: Memory,
    options: UnwindOptions,
    columns: StackColumns,
    registersOfFrames: Registers[] | undefined,
  ): EndReason {
    this.#memory = memory;
    this.#options = options;
    this.#columns = columns;
    this.#registersOfFrames = registersOfFrames;
    this.#maxFrames = options.maxFrames ?? DEFAULT_MAX_FRAMES;
    this.#registers.copyFrom(context);
    this.#isCaller = false;
    this.#mark = FOUND_BY_CONTEXT;
    this.#lastCfa = Number.NaN;
    this.#lastKind = "normal";
    this.#scans = 0;
    this.#seen = undefined;
    return this.#run();
  }

  #run(): EndReason {
    const columns = this.#columns;
    const target = this.#target;
    for (;;) {
      if (this.#registersOfFrames === undefined) {
        const end = this.#runSmallRules();
        if (end !== undefined) return end;
      }
      if (columns.count >= this.#maxFrames) return "limit";
      const registers = this.#registers;
      const pc = registers.address(target.pc);
      if (Number.isNaN(pc)) return columns.count === 0 ? "no-rule" : "memory";
      if (pc === 0 && columns.count > 0) return "zero";
      const lookupAddress = this.#isCaller ? pc - 1 : pc;
      const module = this.#modules.find(lookupAddress);
      const result = this.#leave(registers, pc, lookupAddress, this.#isCaller, module);
      const isSignal = this.#kind === "signal" ? FRAME_MARK.signal : 0;
      const isPlaced = this.#isPlaced;
      const isCaller = this.#isCaller && !isPlaced ? FRAME_MARK.caller : 0;
      const hasCfa = result !== "outermost" || isPlaced;
      columns.push(pc, hasCfa ? this.#cfa : Number.NaN, this.#mark | isSignal | isCaller);
      this.#registersOfFrames?.push(registers.clone());
      if (result !== "stepped") return result;
      if (this.#repeats(pc, this.#lastCfa, this.#lastKind)) return "loop";
      this.#lastCfa = this.#cfa;
      this.#lastKind = this.#kind;
      this.#mark = FOUND_BY.indexOf(this.#foundCaller) | (this.#wasSigned ? FRAME_MARK.signed : 0);
      this.#isCaller = this.#kind !== "signal";
      this.#registers = this.#caller;
      this.#caller = registers;
    }
  }

  /**
   * Walks as long as rules need only the stack and frame pointers, which is nearly always. Other registers are not
   * recovered on the way. When it stops, the same steps are repeated with all registers.
   */
  #runSmallRules(): EndReason | undefined {
    const target = this.#target;
    const registers = this.#registers;
    const columns = this.#columns;
    const memory = this.#memory;
    const cache = this.#cache;
    const { rules } = cache;
    const first = columns.count;
    let pc = registers.address(target.pc);
    let sp = registers.address(target.stackPointer);
    if (Number.isNaN(pc) || Number.isNaN(sp) || !registers.known[target.framePointer]) return undefined;
    let fpLow = registers.low[target.framePointer];
    let fpHigh = registers.high[target.framePointer];
    let mark = this.#mark | (this.#isCaller ? FRAME_MARK.caller : 0);
    let lastCfa = Number.isNaN(this.#lastCfa) ? -1 : this.#lastCfa;
    while (columns.count < this.#maxFrames) {
      const at = cache.find(pc, (mark & FRAME_MARK.caller) !== 0);
      const kind = rules[at];
      if (kind === SMALL_RULE.other) break;
      if (kind === SMALL_RULE.outermost) {
        columns.push(pc, Number.NaN, mark);
        return "outermost";
      }
      let base = sp;
      if (kind === SMALL_RULE.framePointer) {
        if (fpHigh >= HIGH_LIMIT) break;
        base = fpHigh * 2 ** 32 + fpLow;
      }
      const cfa = base + rules[at + 1];
      if (cfa <= lastCfa || !memory.readWord(cfa + rules[at + 2])) break;
      const { low, high } = memory;
      if (high >= USER_HIGH_LIMIT) break;
      if (rules[at + 3] !== UNCHANGED) {
        if (!memory.readWord(cfa + rules[at + 3])) break;
        fpLow = memory.low;
        fpHigh = memory.high;
      }
      columns.push(pc, cfa, mark);
      pc = high * 2 ** 32 + low;
      if (pc === 0) return "zero";
      sp = cfa;
      lastCfa = cfa;
      mark = FOUND_BY_CFI | FRAME_MARK.caller;
    }
    if (columns.count >= this.#maxFrames) return "limit";
    this.#repeatSteps(first);
    return undefined;
  }

  #repeatSteps(first: number): void {
    const { count, pcs, marks, cfas } = this.#columns;
    for (let i = first; i < count; i++) {
      const isCaller = (marks[i] & FRAME_MARK.caller) !== 0;
      const address = isCaller ? pcs[i] - 1 : pcs[i];
      const module = this.#modules.find(address)!;
      const table = module.table!;
      const registers = this.#registers;
      const frame = { registers, isCaller, signatureMask: this.#signatureMask };
      this.#step.run(table, table.find(address - module.bias), frame, this.#memory, this.#caller);
      this.#registers = this.#caller;
      this.#caller = registers;
    }
    if (count === first) return;
    this.#isCaller = true;
    this.#mark = FOUND_BY_CFI;
    this.#lastCfa = cfas[count - 1];
    this.#lastKind = "normal";
  }

  get #signatureMask(): number {
    return this.#options.signatureMask ?? DEFAULT_SIGNATURE_MASK;
  }

  #leave(
    registers: Registers,
    pc: number,
    lookupAddress: number,
    isCaller: boolean,
    module: Module | undefined,
  ): StepResult {
    this.#cfa = Number.NaN;
    this.#kind = "normal";
    this.#foundCaller = "cfi";
    this.#wasSigned = false;
    this.#isPlaced = false;
    const table = module?.table;
    let found: StepResult = "no-rule";
    let isCovered = false;
    if (module !== undefined && table !== undefined) {
      let set = table.find(lookupAddress - module.bias);
      // The rules of a trampoline need not begin before its first instruction.
      if (isCaller && (set === 0 || !isSignalFrame(table, set))) {
        const own = table.find(pc - module.bias);
        if (own !== 0 && isSignalFrame(table, own)) set = own;
      }
      isCovered = set !== 0;
      if (isCovered) {
        if (isSignalFrame(table, set)) this.#kind = "signal";
        else if (mayBeTrampoline(pc, isCaller) && this.#leaveTrampoline(registers, pc)) return "stepped";
        const isTrampolineWithLink = this.#kind === "signal" && this.#target.linkRegister !== undefined;
        // Rules with a link register cannot recover both it and the pc; the kernel's frame has both.
        if (isTrampolineWithLink && this.#leaveTrampoline(registers, pc)) return "stepped";
        const frame = { registers, isCaller, signatureMask: this.#signatureMask };
        found = this.#step.run(table, set, frame, this.#memory, this.#caller);
        this.#cfa = this.#step.cfa;
        this.#wasSigned = this.#step.wasSigned;
        if (found !== "no-rule") return found;
      }
    }
    if (this.#leaveTrampoline(registers, pc)) return "stepped";
    if (isCaller && !isCovered && this.#isFirstOfFunction(registers, pc)) return "outermost";
    return this.#guess(registers, pc, isCaller) ? "stepped" : found;
  }

  /** True if there are rules for a return address but not for the address before it, so that no call precedes it. */
  #isFirstOfFunction(registers: Registers, pc: number): boolean {
    const module = this.#modules.find(pc);
    const table = module?.table;
    const set = table?.find(pc - module!.bias) ?? 0;
    if (table === undefined || set === 0) return false;
    const frame = { registers, isCaller: false, signatureMask: this.#signatureMask };
    this.#step.run(table, set, frame, this.#memory, this.#caller);
    this.#cfa = this.#step.cfa;
    this.#isPlaced = true;
    return true;
  }

  #leaveTrampoline(registers: Registers, pc: number): boolean {
    const { architecture } = this.#target;
    if (!isSignalTrampoline(architecture, pc, this.#readCode)) return false;
    if (!restoreSignalContext(registers, this.#memory, this.#caller)) return false;
    this.#kind = "signal";
    this.#foundCaller = "signal";
    this.#cfa = this.#caller.address(this.#target.stackPointer);
    return true;
  }

  #guess(registers: Registers, pc: number, isCaller: boolean): boolean {
    const target = this.#target;
    const isX86 = target.architecture === "x86_64";
    const stub = isX86 && pc !== 0 ? pltStep(isCaller ? pc - 1 : pc, this.#readCode) : undefined;
    if (stub !== undefined) {
      this.#foundCaller = "plt";
      return this.#leaveStub(registers, stub);
    }
    if (!isCaller && isX86) {
      const sp = registers.address(target.stackPointer);
      const isPlausible =
        this.#memory.readWord(sp) && this.#isReturnAddress(this.#memory.high * 2 ** 32 + this.#memory.low);
      if (pc === 0 || isPlausible) {
        this.#foundCaller = "call";
        if (this.#leaveCalled(registers, 8)) return true;
      }
    }
    if (!isCaller && target.linkRegister !== undefined && pc === 0) {
      this.#foundCaller = "call";
      return this.#leaveByLinkRegister(registers, target.linkRegister);
    }
    if (this.#options.framePointers !== false && target.wordSize === 8) {
      const cfa = framePointerStep(registers, this.#memory, this.#caller);
      if (!Number.isNaN(cfa) && this.#isFrameOfCaller(registers, this.#caller)) {
        this.#cfa = cfa;
        this.#foundCaller = "frame-pointer";
        return true;
      }
    }
    return this.#options.scan === true && isX86 && this.#scan(registers);
  }

  #isFrameOfCaller(registers: Registers, caller: Registers): boolean {
    const pc = caller.address(this.#target.pc);
    if (continuesFrameChain(registers, caller)) return this.#modules.find(pc - 1) !== undefined;
    // A caller may use the register for anything else; then the return address must be certain.
    return this.#target.architecture === "x86_64" && this.#isReturnAddress(pc);
  }

  #leaveStub(registers: Registers, { cfaOffset, otherCfaOffset }: StubStep): boolean {
    if (!this.#leaveCalled(registers, cfaOffset)) return false;
    if (otherCfaOffset === undefined || this.#isReturnAddress(this.#caller.address(this.#target.pc)))
      return true;
    return this.#leaveCalled(registers, otherCfaOffset);
  }

  /**
   * Recovers the caller of a function that was just called. The return address is just below the CFA, which is
   * `cfaOffset` above the stack pointer.
   */
  #leaveCalled(registers: Registers, cfaOffset: number): boolean {
    const target = this.#target;
    const cfa = registers.address(target.stackPointer) + cfaOffset;
    if (!this.#memory.readWord(cfa - target.wordSize)) return false;
    this.#caller.known.fill(0);
    for (const register of target.calleeSaved)
      if (registers.known[register])
        this.#caller.setHalves(register, registers.low[register], registers.high[register]);
    this.#caller.setAddress(target.stackPointer, cfa);
    this.#caller.setHalves(target.pc, this.#memory.low, this.#memory.high);
    this.#cfa = cfa;
    return true;
  }

  #leaveByLinkRegister(registers: Registers, linkRegister: number): boolean {
    const target = this.#target;
    if (!registers.known[linkRegister]) return false;
    this.#caller.copyFrom(registers);
    this.#caller.setHalves(target.pc, registers.low[linkRegister], registers.high[linkRegister]);
    this.#cfa = registers.address(target.stackPointer);
    return true;
  }

  #scan(registers: Registers): boolean {
    const target = this.#target;
    const sp = registers.address(target.stackPointer);
    if (!(sp >= 0) || ++this.#scans > MAX_SCANS) return false;
    for (let word = 0; word < SCANNED_WORDS; word++) {
      const address = sp + 8 * word;
      if (!this.#memory.readWord(address)) return false;
      const value = this.#memory.high * 2 ** 32 + this.#memory.low;
      if (!this.#isReturnAddress(value)) continue;
      this.#foundCaller = "scan";
      return this.#leaveCalled(registers, 8 * word + 8);
    }
    return false;
  }

  #isReturnAddress(address: number): boolean {
    return looksLikeReturnAddress(address, this.#modules, this.#readCode);
  }

  readonly #readCode = (address: number, length: number): Uint8Array => {
    const module = this.#modules.find(address);
    if (module?.readCode !== undefined) return module.readCode(address - module.bias, length);
    return this.#memory.readBytes(address, length);
  };

  /**
   * True if the last step leads back. CFAs grow within one stack. Over signals, which may have a stack of their
   * own, and other jumps downwards they need not grow, but no frame may repeat.
   */
  #repeats(pc: number, lastCfa: number, lastKind: Frame["kind"]): boolean {
    if (Number.isNaN(lastCfa) || this.#cfa > lastCfa) return false;
    // The innermost function may have no frame of its own on a processor with a link register.
    if (this.#cfa === lastCfa && this.#columns.count === 2 && this.#target.linkRegister !== undefined)
      return false;
    const isJump = this.#kind === "signal" || lastKind === "signal" || this.#cfa < lastCfa;
    if (!isJump) return true;
    if (this.#seen === undefined) {
      const { count, pcs, cfas } = this.#columns;
      this.#seen = new Set();
      for (let i = 0; i < count - 1; i++) this.#seen.add(`${pcs[i]} ${cfas[i]}`);
    }
    const place = `${pc} ${this.#cfa}`;
    if (this.#seen.has(place)) return true;
    this.#seen.add(place);
    return false;
  }
}

/**
 * Unwinds stacks of one process. One unwinder serves many stacks; one table serves all processes that map its
 * object.
 *
 * A damaged stack does not throw, since the frames up to the damage are right. The `end` of a stack shows whether
 * frames may be missing:
 *
 * - `outermost` and `zero`: the stack is complete.
 * - `limit`: the stack continues. Raise the limit, or show the stack as cut.
 * - `memory`: the stack continues where memory could not be read. With a copied stack, copy more bytes.
 * - `no-rule`: the last frame is in code without call frame information, such as JIT-compiled code, or its object
 *   is not among the modules. The frames are right, but the last frame's caller is unknown.
 * - `loop`: rules or memory are damaged. The last frame, and those found by `frame-pointer` or `scan`, are
 *   doubtful.
 *
 * @example
 * ```ts
 * import assert from "node:assert";
 * import { StackImage, Unwinder } from "memshade/unwind";
 *
 * const unwinder = new Unwinder("x86_64");
 * // Without a table, frame pointers lead on.
 * unwinder.modules.add({ start: 0x1000, end: 0x2000, bias: 0, name: "app" });
 * const stack = new BigUint64Array([0x7010n, 0x1200n, 0n, 0n]);
 * const memory = new StackImage(0x7000, new Uint8Array(stack.buffer));
 * const { frames, end } = unwinder.unwind({ rip: 0x1100, rsp: 0x7000, rbp: 0x7000 }, memory);
 * assert.deepEqual(frames.map(({ pc, foundBy }) => [pc, foundBy]), [[0x1100, "context"], [0x1200, "frame-pointer"]]);
 * assert.equal(end, "no-rule");
 * ```
 */
export class Unwinder {
  readonly target: UnwindTarget;
  /** Mapped modules; may change between stacks. */
  readonly modules: ModuleMap;
  readonly #options: UnwindOptions;
  readonly #cache: RuleCache;
  readonly #walk: Walk;
  readonly #columns = new StackColumns();

  /** @throws UserError if the architecture has no native stacks */
  constructor(architecture: Architecture, options: UnwindOptions = {}, modules = new ModuleMap()) {
    const target = unwindTarget(architecture);
    if (target === undefined) throw new UserError(`stacks of ${architecture} cannot be unwound`);
    this.target = target;
    this.modules = modules;
    this.#options = options;
    this.#cache = new RuleCache(modules);
    this.#walk = new Walk(target, modules, this.#cache);
  }

  /**
   * Returns the stack that leads to these registers.
   *
   * @param context registers of the innermost frame, at least the program counter and the stack pointer
   * @param memory the target's memory, or a copy of its stack
   */
  unwind(
    context: Registers | Readonly<Record<string, number | bigint>>,
    memory: ReadMemory | Memory,
    options: UnwindOptions = this.#options,
  ): UnwoundStack {
    const columns = this.#columns;
    const registers: Registers[] | undefined = options.registers ? [] : undefined;
    const end = this.unwindInto(columns, context, memory, options, registers);
    const frames = Array.from({ length: columns.count }, (_, i): Frame => {
      const mark = columns.marks[i];
      const pc = columns.pcs[i];
      const cfa = columns.cfas[i];
      const lookupAddress = (mark & FRAME_MARK.caller) !== 0 ? pc - 1 : pc;
      return {
        pc,
        lookupAddress,
        cfa: Number.isNaN(cfa) ? undefined : cfa,
        kind: (mark & FRAME_MARK.signal) !== 0 ? "signal" : "normal",
        foundBy: FOUND_BY[mark & FRAME_MARK.foundBy],
        module: this.modules.find(lookupAddress),
        wasSigned: (mark & FRAME_MARK.signed) !== 0,
        registers: registers?.[i],
      };
    });
    return { frames, end };
  }

  /**
   * Unwinds like `unwind`, into reusable columns: for many stacks in a row.
   *
   * @param registersOfFrames receives the registers of each frame, if given
   */
  unwindInto(
    columns: StackColumns,
    context: Registers | Readonly<Record<string, number | bigint>>,
    memory: ReadMemory | Memory,
    options: UnwindOptions = this.#options,
    registersOfFrames?: Registers[],
  ): EndReason {
    columns.clear();
    this.#cache.refresh();
    const registers = context instanceof Registers ? context : Registers.of(this.target, context);
    const source = memory instanceof Memory ? memory : new PagedMemory(memory, this.target.wordSize);
    return this.#walk.walk(registers, source, options, columns, registersOfFrames);
  }
}

export interface UnwindOptions {
  /** Maximum number of frames of a stack; default 100,000. */
  readonly maxFrames?: number;
  /** Records the registers of each frame. */
  readonly registers?: boolean;
  /** Follows frame pointers if there is no call frame information; default true. */
  readonly framePointers?: boolean;
  /** Takes, as the last resort, the next word on the stack that could be a return address; x86-64 only. */
  readonly scan?: boolean;
  /**
   * Signature bits of a signed return address, shifted right by 32 (AArch64; a core's `NT_ARM_PAC_MASK`). Default:
   * all bits above the 48 of a user address.
   */
  readonly signatureMask?: number;
}
