/**
 * Entry of the recording thread. All failures in it set the shared state, for threads that wait for it.
 */
import module from "node:module";
import { workerData } from "node:worker_threads";
import { addressShortage } from "../../run/address-room.ts";
import { say } from "../../run/terminal-line.ts";
import type { RecordingThreadData } from "./recording-thread.ts";
import { StateWord, threadNumber } from "./shared-state.ts";

const { state, compiledCode } = (workerData as RecordingThreadData).settings;
Atomics.store(state, StateWord.Thread, threadNumber());
process.on("exit", () => {
  Atomics.store(state, StateWord.Recording, 2);
  Atomics.notify(state, StateWord.Recording);
});
process.on("uncaughtException", (error) => {
  say(addressShortage(error.message)?.message ?? `the recording thread failed: ${error.stack}`);
  process.exit(1);
});
// Only memshade's own code runs in this thread.
if (compiledCode !== undefined) module.enableCompileCache(compiledCode);
await import("./recording-thread.ts");
