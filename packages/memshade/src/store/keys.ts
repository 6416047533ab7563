import { hash } from "node:crypto";
import { entryOf } from "../ground/bytes/entries.ts";
import type { MemprofFrame } from "../profile/model/memprof/index.ts";

/** Parts of a frame's key, as in LLVM's profiles. */
type KeyedFrame = Pick<MemprofFrame, "guid" | "lineOffset" | "column" | "inline">;

/**
 * Returns the first 8 bytes of a text's SHA-256, little-endian, as a signed number, which every engine
 * supports.
 */
export function keyOf(text: string): bigint {
  return hash("sha256", text, "buffer").readBigInt64LE(0);
}

/** Returns a frame's key. It survives rebuilds, and lines that are added outside of the function. */
export function frameKey(frame: KeyedFrame): bigint {
  return keyOf(frameText(frame));
}

export function frameText({ guid, lineOffset, column, inline }: KeyedFrame): string {
  return `${guid} ${lineOffset} ${column} ${inline ? 1 : 0}`;
}

/** Returns the key of a site, from the innermost frame of a context. */
export function siteKey({ guid, lineOffset, column }: KeyedFrame): bigint {
  return keyOf(`${guid} ${lineOffset} ${column}`);
}

/** @param frames keys, innermost first */
export function contextKey(frames: readonly bigint[]): bigint {
  return keyOf(frames.join(" "));
}

/** Returns the key of a call path that survives lines that move inside functions, too. */
export function functionsKey(guids: readonly bigint[]): bigint {
  return keyOf(guids.join(" "));
}

export interface ContextKeys {
  /** Keys, innermost frame first. */
  readonly frames: readonly bigint[];
  readonly ctx: bigint;
  readonly functions: bigint;
  readonly site: bigint;
}

/**
 * Keys of the frames and contexts of many runs. Runs of one program share them, so each key is computed once.
 */
export class StoreKeys {
  readonly #frames = new WeakMap<KeyedFrame, { readonly key: bigint; readonly text: string }>();
  readonly #contexts = new Map<string, ContextKeys>();
  readonly #paths = new WeakMap<readonly KeyedFrame[], ContextKeys>();

  frame(frame: KeyedFrame): bigint {
    return this.#cachedKey(frame).key;
  }

  /** @param path innermost frame first; at least one */
  context(path: readonly KeyedFrame[]): ContextKeys {
    const seen = this.#paths.get(path);
    if (seen !== undefined) return seen;
    const text = path.map((frame) => this.#cachedKey(frame).text).join(" ");
    const keys = entryOf(this.#contexts, text, () => {
      const frames = path.map((frame) => this.frame(frame));
      const functions = functionsKey(path.map(({ guid }) => guid));
      return { frames, ctx: contextKey(frames), functions, site: siteKey(path[0]!) };
    });
    this.#paths.set(path, keys);
    return keys;
  }

  #cachedKey(frame: KeyedFrame): { readonly key: bigint; readonly text: string } {
    return entryOf(this.#frames, frame, () => {
      const key = frameKey(frame);
      return { key, text: String(key) };
    });
  }
}
