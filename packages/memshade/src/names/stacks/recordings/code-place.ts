import type { SampledPlace } from "../../../profile/model/native-stacks.ts";
import type { MappedModule } from "../native-file.ts";

/** A place in the code of a process, with what is worth keeping for when it comes again. */
export class CodePlace {
  /** Address in the process: in the call, for callers. */
  readonly address: number;
  readonly module: MappedModule | undefined;
  /** Room for whoever names places: the names of this one. */
  named: SampledPlace | undefined;
  /** Room for whoever adds profiles up: the frames of this place, outermost first. */
  frames: readonly number[] | undefined;

  constructor(address: number, module: MappedModule | undefined) {
    this.address = address;
    this.module = module;
  }

  /** What perf calls the address in a file is the offset in it. Code that a program wrote itself is in no file. */
  get shownAddress(): number {
    return this.address + (this.module?.shownOffset ?? 0);
  }
}
