import { HostSite, SHADOW_MEMORY, STACK_FRAME_BYTES } from "../../tools/host-interface.ts";
import { callersOf } from "./host-calls.ts";

const WORDS_OF_FRAME = STACK_FRAME_BYTES / 4;

/** The frames of calls that wait, while others use the place that they had on the shadow stack of an instance. */
export class SuspendedFrames {
  readonly #exports: WebAssembly.Exports;
  readonly #frames: Uint32Array;

  /** `stack`: address of the first frame. */
  constructor(exports: WebAssembly.Exports, stack: number) {
    this.#exports = exports;
    this.#frames = new Uint32Array((exports[SHADOW_MEMORY] as WebAssembly.Memory).buffer, stack);
  }

  /**
   * Keeps the frames up to the one that is `bytes` from the empty stack. Who has called the module is found out now if nothing
   * was allocated so far: later, nobody can be asked. `below`: the function that the module has called.
   */
  keep(bytes: number, below: unknown): { putBack(): void } {
    const count = bytes / STACK_FRAME_BYTES;
    const frames = this.#frames;
    let above = 0;
    for (let frame = count - 1; frame >= 0; frame--) {
      const at = frame * WORDS_OF_FRAME;
      if (frames[at] >= HostSite.unsettled) this.#settle(at, above++, below);
    }
    const kept = frames.slice(0, count * WORDS_OF_FRAME);
    // Contexts that are known of frames may be others by then.
    for (let frame = 0; frame < count; frame++) kept[frame * WORDS_OF_FRAME + 1] = 0;
    return { putBack: () => frames.set(kept) };
  }

  /** The site of the innermost entry up to that frame; 0: there is none. */
  entryAt(bytes: number, below: unknown): number {
    const at = this.#innermostEntry(bytes);
    if (at < 0) return 0;
    this.#settle(at, 0, below);
    return this.#frames[at];
  }

  /** Has the innermost entry up to that frame have another one's site. */
  setEntryAt(bytes: number, site: number): void {
    const at = this.#innermostEntry(bytes);
    if (at < 0) return;
    this.#frames[at] = site;
    for (let memo = at + 1; memo * 4 < bytes; memo += WORDS_OF_FRAME) this.#frames[memo] = 0;
  }

  #innermostEntry(bytes: number): number {
    let at = bytes / 4 - WORDS_OF_FRAME;
    while (at >= 0 && this.#frames[at] < HostSite.unsettled) at -= WORDS_OF_FRAME;
    return at;
  }

  #settle(at: number, above: number, below: unknown): void {
    if (this.#frames[at] !== HostSite.unsettled) return;
    const site = callersOf(this.#exports)?.siteOfWaiting(above, below);
    this.#frames[at] = site ?? HostSite.unsettled + HostSite.unknown;
  }
}
