import { UserError } from "../../../ground/bytes/errors.ts";
import type { Architecture } from "../../objects/types.ts";
import { type UnwindTarget, unwindTarget } from "../architecture.ts";
import { type EndReason, FOUND_BY, type Frame, type UnwoundStack } from "./frames.ts";
import { Memory, PagedMemory, type ReadMemory } from "./memory.ts";
import { ModuleMap } from "./modules.ts";
import type { UnwindOptions } from "./options.ts";
import { Registers } from "./registers.ts";
import { FRAME_MARK, StackColumns } from "./stack-columns.ts";
import { RuleCache, Walk } from "./walk.ts";

/**
 * Walks stacks of one process. One unwinder serves many stacks; one table serves all processes that map its object.
 *
 * Nothing is thrown for a damaged stack, since the frames up to the damage are right. The `end` of a stack says how far
 * its caller can trust that no frames are missing:
 *
 * - `outermost` and `zero`: the stack is whole.
 * - `limit`: it goes on. Ask for more frames, or show it as cut.
 * - `memory`: it goes on where memory could not be read. With a copied stack, copy more bytes.
 * - `no-rule`: the last frame is in code without call frame information, such as that of a JIT compiler, or its object is
 *   not among the modules. The frames are right, and what called the last one is not known.
 * - `loop`: rules or memory are damaged. The last frame, and those found by `frame-pointer` or `scan`, are doubtful.
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
  /** What is mapped where. May change between stacks. */
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
   * As `unwind`, into columns that can be used again: for many stacks in a row.
   *
   * @param registersOfFrames takes the registers of each frame, if given
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
