/** Warning for a module whose debug information was made for other code. */
export const STALE =
  "The debug information does not match the code: functions begin where it has none. Names and lines may be " +
  "wrong. Pass -g to tools that change the module afterwards, such as wasm-opt.";
