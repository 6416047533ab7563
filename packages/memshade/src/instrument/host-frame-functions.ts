import { I32, I64 } from "../wasm/index.ts";
import type { AppendedFunctions } from "./appended-functions.ts";
import { BodyBuilder } from "./body-builder.ts";

const HAS_MEMORY_INDEX = 0x40;

export interface HostFrameTargets {
  shadowMemory: number;
  stackGlobal: number;
  hostGlobal: number;
  emptyStack: number;
}

/** The frame around a call out of the module as two small functions, for places where it is not worth its bytes in line. */
export class HostFrameFunctions {
  readonly #appended: AppendedFunctions;
  readonly #targets: HostFrameTargets;
  #push = -1;
  #return = -1;

  constructor(appended: AppendedFunctions, targets: HostFrameTargets) {
    this.#appended = appended;
    this.#targets = targets;
  }

  /** (frame, call site) → (): writes the frame and makes it the newest, also for whoever comes back in. */
  push(): number {
    if (this.#push >= 0) return this.#push;
    const { shadowMemory, stackGlobal, hostGlobal } = this.#targets;
    this.#push = this.#appended.add(this.#appended.typeIndex([I32, I64], []), () => {
      const body = new BodyBuilder();
      body
        .op("local.get", 0)
        .op("local.get", 1)
        .op("i64.store", 3 | HAS_MEMORY_INDEX, shadowMemory, 0);
      body.op("local.get", 0).op("global.set", hostGlobal);
      return body.op("local.get", 0).op("global.set", stackGlobal).finish();
    });
    return this.#push;
  }

  /** () → (): nobody is outside any more. */
  returned(): number {
    if (this.#return >= 0) return this.#return;
    const { hostGlobal, emptyStack } = this.#targets;
    this.#return = this.#appended.add(this.#appended.typeIndex([], []), () =>
      new BodyBuilder().i32(emptyStack).op("global.set", hostGlobal).finish(),
    );
    return this.#return;
  }
}
