/** What is to be told of a module for whose code its debug information was not made. */
export const STALE =
  "Its debug information was made for other code: functions begin where it has none. Names and lines may be " +
  "wrong. Tools that change a module afterwards, as wasm-opt, have to keep it up to date (-g).";
