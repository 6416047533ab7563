/** Where counters of accesses lie in a native program: the one of an address is at `COUNTERS + (address >> 3) * 4`. */
export const COUNTERS = 0x7fff8000;
/** Of all addresses that a program has. */
export const COUNTERS_BYTES = 2 ** 46;
export const GRANULE_SHIFT = 3;
