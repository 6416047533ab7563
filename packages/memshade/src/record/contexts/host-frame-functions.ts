import { I32, I64 } from "../../code/wasm/index.ts";
import type { AppendedFunctions } from "../rewrite/write/appended-functions.ts";
import { BodyBuilder } from "../rewrite/write/body-builder.ts";
import { type FrameBase, placeCode } from "./frame-base.ts";
import { ENTRY_WORD, HOST_WORD } from "./layout.ts";

const HAS_MEMORY_INDEX = 0x40;

export interface ShadowStack {
  shadowMemory: number;
  /** Global with the address of the newest frame. */
  stackGlobal: number;
  frames: FrameBase;
}

/**
 * Functions that push and pop the frame around a call out of the module. They are used where inline code would take too
 * many bytes.
 */
export class HostFrameFunctions {
  readonly #appended: AppendedFunctions;
  readonly #targets: ShadowStack;
  readonly #push = [-1, -1];
  #return = -1;

  constructor(appended: AppendedFunctions, targets: ShadowStack) {
    this.#appended = appended;
    this.#targets = targets;
  }

  /**
   * Returns the function (frame, call site) → previous host word. It writes the frame and makes it the newest, also for
   * calls back into the module. `leaves`: the call certainly leaves the module.
   */
  push(leaves: boolean): number {
    const kind = leaves ? 1 : 0;
    if (this.#push[kind] >= 0) return this.#push[kind];
    const { shadowMemory, stackGlobal, frames } = this.#targets;
    this.#push[kind] = this.#appended.add(this.#appended.typeIndex([I32, I64], [I32]), () => {
      const [hostWord, emptyStack] = [placeCode(frames.hostWord), placeCode(frames.emptyStack)];
      const body = new BodyBuilder();
      body
        .op("local.get", 0)
        .op("local.get", 1)
        .op("i64.store", 3 | HAS_MEMORY_INDEX, shadowMemory, 0);
      body.instructions(hostWord).op("i32.load", 2 | HAS_MEMORY_INDEX, shadowMemory, HOST_WORD);
      for (const word of leaves ? [HOST_WORD, ENTRY_WORD] : [HOST_WORD]) {
        body.instructions(hostWord).op("local.get", 0).instructions(emptyStack).op("i32.sub");
        body.op("i32.store", 2 | HAS_MEMORY_INDEX, shadowMemory, word);
      }
      return body.op("local.get", 0).op("global.set", stackGlobal).finish();
    });
    return this.#push[kind];
  }

  /** Returns the function (previous host word) → () that restores the host words. */
  returned(): number {
    if (this.#return >= 0) return this.#return;
    const { shadowMemory, frames } = this.#targets;
    this.#return = this.#appended.add(this.#appended.typeIndex([I32], []), () => {
      const hostWord = placeCode(frames.hostWord);
      const body = new BodyBuilder();
      for (const word of [HOST_WORD, ENTRY_WORD]) {
        body.instructions(hostWord).op("local.get", 0);
        body.op("i32.store", 2 | HAS_MEMORY_INDEX, shadowMemory, word);
      }
      return body.finish();
    });
    return this.#return;
  }
}
