import { CONTROL, WALL_CLOCK, tick } from "./imports";
import { Control } from "./layout.generated";

export { WALL_CLOCK };

const LONGEST_INTERVAL: u32 = 1024;

/**
 * Returns the time of a heap event: the number of allocations so far, or milliseconds.
 * Milliseconds come from the host, which is called rarely: the number of events until the next call doubles
 * while the clock stands still, and shrinks when it moves.
 */
@inline
export function now(): u32 {
  return WALL_CLOCK === 0 ? load<u32>(CONTROL, Control.allocations) : wallClock();
}

function wallClock(): u32 {
  const budget = load<u32>(CONTROL, Control.wallBudget);
  if (budget !== 0) {
    store<u32>(CONTROL, budget - 1, Control.wallBudget);
    return load<u32>(CONTROL, Control.wallMs);
  }
  const before = load<u32>(CONTROL, Control.wallMs);
  tick();
  const after = load<u32>(CONTROL, Control.wallMs);
  let interval = load<u32>(CONTROL, Control.wallInterval);
  if (after === before) interval = interval < LONGEST_INTERVAL ? (interval << 1) + 1 : LONGEST_INTERVAL;
  else if (after - before > 1) interval >>= 2;
  store<u32>(CONTROL, interval, Control.wallInterval);
  store<u32>(CONTROL, interval, Control.wallBudget);
  return after;
}
