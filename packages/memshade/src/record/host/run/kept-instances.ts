import type { RunInstances, RunModule } from "../../../profile/model/run.ts";
import {
  type DescribeHostFrame,
  HostCallers,
  type ToldStacks,
  withoutStart,
} from "../../tools/heap/read/host-callers.ts";
import type { InstanceHandle } from "../../tools/session.ts";

/** An instance of a module, or several that are gone, by the number that its thread has for the stack that made it. */
interface Made {
  readonly module: number;
  readonly thread: number;
  readonly stack: number;
  /** Of its memory, where it was found to be there still; undefined: it is not, or nobody knows. */
  bytes: number | undefined;
  count: number;
}

/** Who has made the instances of modules, and how many of them are there when a profile is taken. */
export class KeptInstances {
  readonly #callers = new HostCallers();
  readonly #made = new Map<number, Made>();
  /** How many of those that a stack has made are gone; the key has module, thread and stack. */
  readonly #dropped = new Map<string, Made>();
  readonly #isKnown = new Set<number>();

  learnStacks(thread: number, told: ToldStacks): void {
    this.#callers.learn(thread, told);
  }

  add({ number, module }: InstanceHandle, thread: number, stack: number): void {
    this.#made.set(number, { module, thread, stack, bytes: undefined, count: 1 });
  }

  drop(instance: number): void {
    const made = this.#made.get(instance);
    if (made === undefined) return;
    this.#made.delete(instance);
    const known = this.#dropped.get(keyOf(made));
    if (known === undefined) this.#dropped.set(keyOf(made), { ...made, bytes: undefined });
    else known.count++;
  }

  /** What a thread has found of its instances; of those that it does not name, none is there. */
  keep(thread: number, kept: readonly { readonly number: number; readonly bytes: number }[]): void {
    this.#isKnown.add(thread);
    for (const made of this.#made.values()) if (made.thread === thread) made.bytes = undefined;
    for (const { number, bytes } of kept) {
      const made = this.#made.get(number);
      if (made !== undefined) made.bytes = bytes;
    }
  }

  /** The modules with what is known of their instances. */
  within(modules: readonly RunModule[], describe: DescribeHostFrame = withoutStart): RunModule[] {
    const groups = new Map<string, RunInstances & { readonly module: number }>();
    for (const one of [...this.#made.values(), ...this.#dropped.values()]) {
      const { module, thread, stack, bytes } = one;
      if (!this.#isKnown.has(thread)) continue;
      let group = groups.get(keyOf(one));
      if (group === undefined) {
        const frames = this.#callers.framesOfTold(thread, stack).map(describe);
        if (frames.length === 0) continue;
        group = { module, frames, thread, made: 0, kept: 0, keptBytes: 0 };
        groups.set(keyOf(one), group);
      }
      group.made += one.count;
      if (bytes === undefined) continue;
      group.kept++;
      group.keptBytes += bytes;
    }
    return modules.map((module) => {
      const own = [...groups.values()].filter((group) => group.module === module.index && group.made > 1);
      const instancesBy = own.map(({ module: _, ...group }): RunInstances => group);
      return instancesBy.length === 0 ? module : { ...module, instancesBy };
    });
  }
}

function keyOf({ module, thread, stack }: Made): string {
  return `${module} ${thread} ${stack}`;
}
