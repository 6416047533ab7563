import { UserError } from "../../bytes/errors.ts";
import type { Architecture } from "../../objects/types.ts";
import { type UnwindTarget, unwindTarget } from "../architecture.ts";
import {
  framePointerStep,
  isSignalTrampoline,
  looksLikeReturnAddress,
  pltStep,
  restoreSignalContext,
} from "./fallbacks.ts";
import type { EndReason, FoundBy, Frame, UnwoundStack } from "./frames.ts";
import { Memory, PagedMemory, type ReadMemory } from "./memory.ts";
import { type Module, ModuleMap } from "./modules.ts";
import { Registers } from "./registers.ts";
import { DEFAULT_SIGNATURE_MASK, isSignalFrame, RuleStep, type StepResult } from "./step.ts";

export interface UnwindOptions {
  /** Frames of a stack at most; 100,000 if not given. */
  readonly maxFrames?: number;
  /** Gives each frame its registers. */
  readonly registers?: boolean;
  /** Follows frame pointers where there is no call frame information; true if not given. */
  readonly framePointers?: boolean;
  /** Where nothing else leads on, takes the next word on the stack that looks like a return address; x86-64 only. */
  readonly scan?: boolean;
  /**
   * Bits of a signed return address that are its signature, shifted right by 32 (AArch64; a core's `NT_ARM_PAC_MASK`).
   * All above the 48 of a user address if not given.
   */
  readonly signatureMask?: number;
}

const DEFAULT_MAX_FRAMES = 100_000;
/** Words that a scan looks at. */
const SCANNED_WORDS = 1024;
/** Scans in one stack, so that a stack full of garbage ends. */
const MAX_SCANS = 32;

/**
 * Walks stacks of one process.
 *
 *     const unwinder = new Unwinder("x86_64");
 *     unwinder.modules.add({ start, end, bias, table });
 *     const { frames, end } = unwinder.unwind({ rip, rsp, rbp }, readMemory);
 */
export class Unwinder {
  readonly target: UnwindTarget;
  /** What is mapped where. May change between stacks. */
  readonly modules: ModuleMap;
  readonly #options: UnwindOptions;
  readonly #step = new RuleStep();

  /** @throws UserError if the architecture has no native stacks */
  constructor(architecture: Architecture, options: UnwindOptions = {}, modules = new ModuleMap()) {
    const target = unwindTarget(architecture);
    if (target === undefined) throw new UserError(`stacks of ${architecture} cannot be unwound`);
    this.target = target;
    this.modules = modules;
    this.#options = options;
  }

  /**
   * The stack that leads to these registers.
   *
   * @param context registers of the innermost frame, the program counter and the stack pointer at least
   * @param memory the target's memory, or a copy of its stack
   */
  unwind(
    context: Registers | Readonly<Record<string, number | bigint>>,
    memory: ReadMemory | Memory,
    options: UnwindOptions = this.#options,
  ): UnwoundStack {
    const registers = context instanceof Registers ? context.clone() : Registers.of(this.target, context);
    const source = memory instanceof Memory ? memory : new PagedMemory(memory, this.target.wordSize);
    const walk = new Walk(this.target, this.modules, source, this.#step, options);
    const end = walk.run(registers);
    return { frames: walk.frames, end };
  }
}

/** One stack being walked. */
class Walk {
  readonly frames: Frame[] = [];
  readonly #target: UnwindTarget;
  readonly #modules: ModuleMap;
  readonly #memory: Memory;
  readonly #step: RuleStep;
  readonly #options: UnwindOptions;
  #caller: Registers;
  /** The frame being left: its CFA, how its caller was found, and whether it is a signal's trampoline. */
  #cfa = Number.NaN;
  #foundCaller: FoundBy = "cfi";
  #kind: Frame["kind"] = "normal";
  #scans = 0;
  /** Places (pc and CFA) seen before the stack jumped. */
  #seen: Set<string> | undefined;

  constructor(
    target: UnwindTarget,
    modules: ModuleMap,
    memory: Memory,
    step: RuleStep,
    options: UnwindOptions,
  ) {
    this.#target = target;
    this.#modules = modules;
    this.#memory = memory;
    this.#step = step;
    this.#options = options;
    this.#caller = new Registers(target);
  }

  run(registers: Registers): EndReason {
    const { frames } = this;
    const target = this.#target;
    const maxFrames = this.#options.maxFrames ?? DEFAULT_MAX_FRAMES;
    let isCaller = false;
    let foundBy: FoundBy = "context";
    let wasSigned = false;
    let lastCfa = Number.NaN;
    let lastKind: Frame["kind"] = "normal";
    for (;;) {
      if (frames.length >= maxFrames) return "limit";
      const pc = registers.address(target.pc);
      if (Number.isNaN(pc)) return frames.length === 0 ? "no-rule" : "memory";
      if (pc === 0 && frames.length > 0) return "zero";
      const lookupAddress = isCaller ? pc - 1 : pc;
      const module = this.#modules.find(lookupAddress);
      const result = this.#leave(registers, pc, lookupAddress, isCaller, module);
      frames.push({
        pc,
        lookupAddress,
        cfa: result === "outermost" || Number.isNaN(this.#cfa) ? undefined : this.#cfa,
        kind: this.#kind,
        foundBy,
        module,
        wasSigned,
        registers: this.#options.registers ? registers.clone() : undefined,
      });
      if (result !== "stepped") return result;
      if (this.#repeats(pc, lastCfa, lastKind)) return "loop";
      lastCfa = this.#cfa;
      lastKind = this.#kind;
      foundBy = this.#foundCaller;
      wasSigned = this.#step.wasSigned;
      isCaller = this.#kind !== "signal";
      const free = registers;
      registers = this.#caller;
      this.#caller = free;
    }
  }

  /** Recovers the registers of a frame's caller, by whatever leads on. */
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
    const table = module?.table;
    let found: StepResult = "no-rule";
    if (module !== undefined && table !== undefined) {
      let set = table.find(lookupAddress - module.bias);
      // The rules of a trampoline need not begin before its first instruction.
      if (isCaller && (set === 0 || !isSignalFrame(table, set))) {
        const own = table.find(pc - module.bias);
        if (own !== 0 && isSignalFrame(table, own)) set = own;
      }
      if (set !== 0) {
        if (isSignalFrame(table, set)) this.#kind = "signal";
        const known = this.#kind === "signal" && this.#target.linkRegister !== undefined;
        // Rules with a link register cannot give both it and the pc back; the kernel's frame has both.
        if (known && this.#leaveTrampoline(registers, pc)) return "stepped";
        const frame = {
          registers,
          isCaller,
          signatureMask: this.#options.signatureMask ?? DEFAULT_SIGNATURE_MASK,
        };
        found = this.#step.run(table, set, frame, this.#memory, this.#caller);
        this.#cfa = this.#step.cfa;
        if (found !== "no-rule") return found;
      }
    }
    if (this.#leaveTrampoline(registers, pc)) return "stepped";
    return this.#guess(registers, pc, isCaller) ? "stepped" : found;
  }

  /** Recognises the end of a signal handler by its code. */
  #leaveTrampoline(registers: Registers, pc: number): boolean {
    const { architecture } = this.#target;
    if (!isSignalTrampoline(architecture, pc, this.#readCode)) return false;
    if (!restoreSignalContext(registers, this.#memory, this.#caller)) return false;
    this.#kind = "signal";
    this.#foundCaller = "signal";
    this.#cfa = this.#caller.address(this.#target.stackPointer);
    return true;
  }

  /** Goes on without call frame information. */
  #guess(registers: Registers, pc: number, isCaller: boolean): boolean {
    const target = this.#target;
    const isX86 = target.architecture === "x86_64";
    if (!isCaller && isX86) {
      const stub = pc === 0 ? undefined : pltStep(pc, this.#readCode);
      if (stub !== undefined) {
        this.#foundCaller = "plt";
        return this.#leaveCalled(registers, stub.cfaOffset);
      }
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
      if (!Number.isNaN(cfa) && this.#modules.find(this.#caller.address(target.pc) - 1) !== undefined) {
        this.#cfa = cfa;
        this.#foundCaller = "frame-pointer";
        return true;
      }
    }
    return this.#options.scan === true && isX86 && this.#scan(registers);
  }

  /** The return address lies just below the CFA, `cfaOffset` above the stack pointer; nothing else was touched. */
  #leaveCalled(registers: Registers, cfaOffset: number): boolean {
    const target = this.#target;
    const cfa = registers.address(target.stackPointer) + cfaOffset;
    if (!this.#memory.readWord(cfa - target.wordSize)) return false;
    this.#caller.known.fill(0);
    for (const register of target.calleeSaved) {
      if (registers.known[register]) {
        this.#caller.setHalves(register, registers.low[register], registers.high[register]);
      }
    }
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
   * Whether the step that was just made leads back. Inside one stack CFAs grow; over signals, which may have a stack of
   * their own, and other jumps downwards they need not, but no place may come twice.
   */
  #repeats(pc: number, lastCfa: number, lastKind: Frame["kind"]): boolean {
    if (Number.isNaN(lastCfa) || this.#cfa > lastCfa) return false;
    // The innermost function of a processor with a link register may have no frame of its own.
    if (this.#cfa === lastCfa && this.frames.length === 2 && this.#target.linkRegister !== undefined)
      return false;
    const isJump = this.#kind === "signal" || lastKind === "signal" || this.#cfa < lastCfa;
    if (!isJump) return true;
    if (this.#seen === undefined) {
      this.#seen = new Set(this.frames.slice(0, -1).map((frame) => `${frame.pc} ${frame.cfa}`));
    }
    const place = `${pc} ${this.#cfa}`;
    if (this.#seen.has(place)) return true;
    this.#seen.add(place);
    return false;
  }
}
