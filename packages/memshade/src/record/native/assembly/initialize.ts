// Runs before the program. Removes the image from LD_PRELOAD, unless child processes are recorded. Opens and
// maps files that the program may later forbid itself to open.
import { Header, Text, Thread } from "./layout.generated";
import { lock, unlock } from "./lock";
import { makeModule } from "./modules";
import { isOpen } from "./open";
import { beginSampling } from "../sampling/assembly/signals";
import { waitForEnd } from "./end";
import { load32, load64, load8, store64, store8, text } from "./machine";
import { currentThread } from "./threads";

/** "LD_PRELO" */
export const PRELOAD_WORD: u64 = 0x4f4c_4552_505f_444c;
/** "AD=" */
export const PRELOAD_WORD_END: u64 = 0x3d_4441;
export const PRELOAD_BYTES: u64 = 11;
const COLON: u32 = 58;
const SPACE: u32 = 32;

export function initialize(_count: u32, _args: u64, environment: u64): void {
  if (load32(text() + Text.children) === 0) hide(environment);
  if (!isOpen()) return;
  store<u64>(Header.stackTop, environment);
  beginSampling();
  waitForEnd();
  takeObjects();
}

/** Makes the first module, and with it the modules of all loaded objects. */
function takeObjects(): void {
  const thread = currentThread();
  if (thread === 0 || !lock(thread + Thread.room)) return;
  makeModule(text());
  unlock();
}

function hide(environment: u64): void {
  for (let entry = environment; load64(entry) !== 0; ) {
    const value = load64(entry);
    if (isPreload(value) && !shorten(value + PRELOAD_BYTES)) remove(entry);
    else entry += 8;
  }
}

export function isPreload(variable: u64): bool {
  for (let i: u64 = 0; i < 8; i++)
    if (load8(variable + i) !== <u32>((PRELOAD_WORD >>> (i << 3)) & 255)) return false;
  for (let i: u64 = 0; i < 3; i++)
    if (load8(variable + 8 + i) !== <u32>((PRELOAD_WORD_END >>> (i << 3)) & 255)) return false;
  return true;
}

/**
 * Removes the image's path from the start of the list. Returns true if the list is not empty, or does not
 * begin with that path.
 */
function shorten(list: u64): bool {
  const image = text() + Text.image;
  let length: u64 = 0;
  for (; load8(image + length) !== 0; length++)
    if (load8(list + length) !== load8(image + length)) return true;
  const separator = load8(list + length);
  if (separator === 0) return false;
  if (separator !== COLON && separator !== SPACE) return true;
  let from = list + length + 1;
  do store8(list++, load8(from));
  while (load8(from++) !== 0);
  return true;
}

function remove(entry: u64): void {
  do {
    store64(entry, load64(entry + 8));
    entry += 8;
  } while (load64(entry) !== 0);
}
