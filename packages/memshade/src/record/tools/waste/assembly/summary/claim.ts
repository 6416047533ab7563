// Pages of new blocks are written to before anybody looks at them: a page that is looked at first costs its process a page of zeros,
// and a second interrupt when it is written.
import { claimShadow } from "./bytes";
import { claimProgram, programPages } from "../imports";

const PAGE: u32 = 4096;
/** Blocks further than this behind all others begin anew: what lies between may be nobody's. */
const FAR: u32 = 65536;

/** Where pages begin that no block has been on. */
let free: u32 = 0;

@inline
export function claim(address: u32, size: u32): void {
  if (address + size > free) claimPages(address, address + size);
}

function claimPages(address: u32, end: u32): void {
  const last = min<u64>(end, (<u64>programPages()) << 16);
  if (address > free && address - free > FAR) free = address & ~(PAGE - 1);
  for (; free < <u32>last; free += PAGE) {
    claimProgram(free);
    claimShadow(free);
  }
}
