import type { CounterTrack } from "../model/sample-profile.ts";
import { exactAmount } from "./amounts.ts";
import { jsonArray, jsonObject } from "./json-pieces.ts";

interface TraceDescription {
  readonly program: string;
  readonly notes: readonly string[];
}

/**
 * Writes counters in Chrome's trace-event format, for Perfetto. Each pair of group and clock is a process named after
 * both: a unit of any clock is shown as a microsecond.
 *
 * @throws UserError if an amount is negative or above 2^53
 */
export function* writeChromeTrace(
  tracks: readonly CounterTrack[],
  { program, notes }: TraceDescription,
): Generator<string> {
  yield* jsonObject({
    traceEvents: jsonArray(events(tracks)),
    otherData: { program, ...Object.fromEntries(notes.map((note, index) => [`note ${index + 1}`, note])) },
  });
  yield "\n";
}

function* events(tracks: readonly CounterTrack[]): Generator<object> {
  const processes = new Map<string, number>();
  for (const { group, name, unit, clock, times, values } of tracks) {
    const process = `${group}, 1 µs = 1 ${clock}`;
    let pid = processes.get(process);
    if (pid === undefined) {
      pid = processes.size + 1;
      processes.set(process, pid);
      yield { name: "process_name", ph: "M", pid, tid: 0, args: { name: process } };
    }
    for (const [row, ts] of times.entries())
      yield { name, ph: "C", ts, pid, tid: 0, args: { [unit]: exactAmount(values[row]!, name) } };
  }
}
