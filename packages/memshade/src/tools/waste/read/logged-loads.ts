import { LOG_ENTRY_BYTES, type WasteLayout } from "../../index.ts";

/** Part of what a load has put into the tool's log; see `tools/waste/assembly/narrow/log.ts`. */
interface LoggedLoad {
  /** Ids of the bytes that it found, and others that are no stores'. */
  ids: Uint16Array;
  /** Address of the counter of loads that found unread bytes, 0: it has been counted. */
  counter: number;
}

/** What is still in the log. */
export function* loggedLoads(view: DataView, { log, logged }: WasteLayout): Generator<LoggedLoad> {
  if (log === 0) return;
  const end = log + view.getUint32(logged, true);
  for (let at = log; at < end; at += LOG_ENTRY_BYTES)
    yield { ids: new Uint16Array(view.buffer, at, 4), counter: view.getUint32(at + 8, true) };
}
