// What loads found that they left to be counted later: four ids side by side, and where to count the load. Functions that run often
// put it there in place of a call, for a call costs the code around it its registers, even if it is not made.
import { bump } from "./bytes";
import { readsOf } from "./reads";

// How many bytes are in the log; behind, a word that nobody reads.
@external("layout", "LOGGED")
declare const LOGGED: u32;
@external("layout", "LOG")
declare const LOG: u32;

const ENTRY_BYTES: usize = 16;
const E_COUNTER: usize = 8;
const NOBODYS: usize = 8;

export function takeLog(): void {
  const end: usize = LOG + load<u32>(LOGGED);
  for (let at: usize = LOG; at < end; at += ENTRY_BYTES) {
    const ids = load<u64>(at);
    const counter = load<u32>(at, E_COUNTER);
    bump(select<usize>(counter, LOGGED + NOBODYS, counter != 0), 1);
    if (ids == rotl<u64>(ids, 16)) bump(readsOf(<u32>ids & 0xffff), 4);
    else {
      bump(readsOf(<u32>ids & 0xffff), 1);
      bump(readsOf(<u32>(ids >>> 16) & 0xffff), 1);
      bump(readsOf(<u32>(ids >>> 32) & 0xffff), 1);
      bump(readsOf(<u32>(ids >>> 48)), 1);
    }
  }
  store<u32>(LOGGED, 0);
}
