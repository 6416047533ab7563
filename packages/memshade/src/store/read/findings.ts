import type { Finding, FindingPlace } from "../../analyses/findings/finding.ts";
import { findsAnything, type RecordedTools, runFindings } from "../../analyses/findings/run-findings.ts";
import type { HeapProfile } from "../../model/heap-profile.ts";
import { NONE } from "../../model/indices.ts";
import type { StoredFinding, StoredFrame } from "../stored-run.ts";
import { sourceFrame } from "./source-frame.ts";

/** What the report of a run would tell, all of it. */
export function findingsOf(tools: RecordedTools, say: (finding: Finding) => string): StoredFinding[] {
  if (!findsAnything(tools)) return [];
  const starts = firstLines(tools);
  return runFindings(tools, Number.POSITIVE_INFINITY).map((finding) => ({
    rule: finding.kind,
    place: frameOf(finding.place, starts),
    bytes: finding.unit === "bytes" ? Math.round(finding.amount) : undefined,
    part: finding.part,
    text: say(finding),
  }));
}

function frameOf({ path: [own] }: FindingPlace, starts: ReadonlyMap<string, number>): StoredFrame {
  const { function: name, file, line, address = 0, module } = own!;
  const startLine = starts.get(`${name} ${file}`);
  return sourceFrame({ function: name, file, line, startLine }, address % 2 ** 32, module);
}

/** First lines of functions by their names and files: keys have lines as their distance from there. */
function firstLines({ heap, waste }: RecordedTools): Map<string, number> {
  const known = new Map<string, number>(heap === undefined ? [] : firstLinesOfHeap(heap));
  const places = [...(waste?.stores ?? []), ...(waste?.loads ?? []), ...(waste?.blocks ?? [])];
  for (const { function: name, file, startLine = 0 } of places.flatMap(({ ips }) => ips))
    if (startLine > 0) known.set(`${name} ${file}`, startLine);
  return known;
}

function* firstLinesOfHeap({ frames, functions, strings }: HeapProfile): Generator<[string, number]> {
  for (const [frame, startLine] of (frames.startLine ?? []).entries()) {
    const name = functions.name[frames.function[frame]!]!;
    const file = frames.file[frame]!;
    if (startLine > 0 && name !== NONE && file !== NONE)
      yield [`${strings[name]} ${strings[file]}`, startLine];
  }
}
