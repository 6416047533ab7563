import { C_ALLOCATIONS, C_WALL_BUDGET, C_WALL_INTERVAL, C_WALL_MS, CONTROL, WALL_CLOCK } from "./layout";

/** Asks the host to write the milliseconds since the start to the control block. */
@external("host", "tick")
declare function tick(): void;

const LONGEST_INTERVAL: u32 = 1024;

/**
 * Time of a heap event: allocations so far, or milliseconds. The host is asked once in a while only: the number of
 * events until the next question doubles while the clock stands still and shrinks as soon as it moves.
 */
@inline
export function now(): u32 {
  return WALL_CLOCK == 0 ? load<u32>(CONTROL, C_ALLOCATIONS) : wallClock();
}

function wallClock(): u32 {
  const budget = load<u32>(CONTROL, C_WALL_BUDGET);
  if (budget != 0) {
    store<u32>(CONTROL, budget - 1, C_WALL_BUDGET);
    return load<u32>(CONTROL, C_WALL_MS);
  }
  const before = load<u32>(CONTROL, C_WALL_MS);
  tick();
  const after = load<u32>(CONTROL, C_WALL_MS);
  let interval = load<u32>(CONTROL, C_WALL_INTERVAL);
  if (after == before) interval = interval < LONGEST_INTERVAL ? (interval << 1) + 1 : LONGEST_INTERVAL;
  else if (after - before > 1) interval >>= 2;
  store<u32>(CONTROL, interval, C_WALL_INTERVAL);
  store<u32>(CONTROL, interval, C_WALL_BUDGET);
  return after;
}
