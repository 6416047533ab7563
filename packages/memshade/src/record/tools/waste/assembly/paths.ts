// Call paths of allocations: the newest calls on the shadow stack get one number together.
import { CONTROL, PATHS, PATH_MASK, framesLoad, newestFrame } from "./imports";
import { Control, PATH_BYTES, PATH_FRAMES, Path } from "./layout.generated";

const FRAME_BYTES: u32 = 8;
/** Entries that are tried before a path gets no number. */
const TRIES: u32 = 64;

@inline
function entryAt(path: u32): usize {
  return PATHS + path * PATH_BYTES;
}

/** Returns the number of the current call path, from 1; 0 if there is no room for it or paths are not recorded. */
export function pathAtHand(): u32 {
  if (PATHS === 0) return 0;
  const places: usize = CONTROL + Control.path;
  let hash: u32 = 0x811c9dc5;
  let frames: u32 = 0;
  for (let at = newestFrame(); frames < PATH_FRAMES; at -= FRAME_BYTES) {
    const place = framesLoad(at);
    if (place === 0) break;
    // An entry of the host is no call; only the heap profiler uses it.
    if (place >>> 31 !== 0) continue;
    store<u32>(places + (frames << 2), place);
    hash = rotl<u32>((hash ^ place) * 0x9e3779b1, 13);
    frames++;
  }
  hash |= 1;
  return find(hash, frames, places);
}

function find(hash: u32, frames: u32, places: usize): u32 {
  for (let tries: u32 = 0; tries < TRIES; tries++) {
    const path = ((hash >>> 8) + tries) & PATH_MASK;
    if (path === 0) continue;
    const entry = entryAt(path);
    const found = load<u32>(entry, Path.hash);
    if (found === 0) {
      store<u32>(entry, hash, Path.hash);
      store<u32>(entry, frames, Path.frames);
      memory.copy(entry + Path.places, places, frames << 2);
      return path;
    }
    if (
      found === hash &&
      load<u32>(entry, Path.frames) === frames &&
      isSame(entry + Path.places, places, frames)
    )
      return path;
  }
  return 0;
}

@inline
function isSame(first: usize, second: usize, words: u32): bool {
  for (let i: u32 = 0; i < words << 2; i += 4)
    if (load<u32>(first + i) !== load<u32>(second + i)) return false;
  return true;
}
