import type { FrameNames } from "../../app/model/names.ts";
import { FRAME_FLAGS, type PageFrames } from "../../data/page-data.ts";
import type { BoxGroup } from "../view.ts";

/** Returns for every frame the first frame of the same group. */
export function groupFrames(frames: PageFrames, names: FrameNames, by: BoxGroup): Int32Array {
  const first = new Map<string, number>();
  return Int32Array.from({ length: frames.length }, (_, frame) => {
    const key = keyOf(frames, names, by, frame);
    const existing = first.get(key);
    if (existing === undefined) first.set(key, frame);
    return existing ?? frame;
  });
}

function keyOf(frames: PageFrames, names: FrameNames, by: BoxGroup, frame: number): string {
  if ((frames.flags[frame] & FRAME_FLAGS.others) !== 0) return "others";
  const isShownFolded = isLibraryFrame(frames, frame) ? "library" : "";
  if (by === "package") return `${isShownFolded} ${names.package(frame)}`;
  const file = frames.file[frame];
  const inFile = `${isShownFolded} ${frames.module[frame]} ${file}`;
  if (by === "file") return file >= 0 ? `${isShownFolded} ${file}` : inFile;
  const inFunction = `${inFile} ${frames.function[frame]}`;
  return by === "function" ? inFunction : `${inFunction} ${frames.line[frame]}`;
}

/**
 * True for frames that are folded into the call that entered them: library code, and code that passes
 * requests on to the allocator.
 */
function isLibraryFrame({ flags }: PageFrames, frame: number): boolean {
  return (flags[frame] & (FRAME_FLAGS.library | FRAME_FLAGS.allocator)) !== 0;
}

export function libraryFrames(frames: PageFrames): Uint8Array {
  return Uint8Array.from({ length: frames.length }, (_, frame) => Number(isLibraryFrame(frames, frame)));
}

/** Returns 1 for each removed group. */
export function removedFrames(groupOf: Int32Array, removed: readonly number[] = []): Uint8Array {
  const isRemoved = new Uint8Array(groupOf.length);
  for (const frame of removed) if (frame < isRemoved.length) isRemoved[groupOf[frame]] = 1;
  return isRemoved;
}
