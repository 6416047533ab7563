/** Warning for a module whose debug information was made for other code. */
export const STALE =
  "Its debug information was made for other code: functions begin where it has none. Names and lines may be " +
  "wrong. Tools that change a module afterwards, as wasm-opt, have to keep it up to date (-g).";
