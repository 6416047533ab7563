import {
  frameAt,
  framesOfStack,
  type MemprofProfile,
  shownSummary,
  viewOf,
} from "../../model/memprof/index.ts";
import type { Mib } from "../../model/mib.ts";
import { MIB_FIELDS } from "../../model/mib-fields.ts";
import type { RawSegment } from "../../model/raw-profile.ts";
import { canonicalName } from "../memprof/guid.ts";
import { summaryLines } from "./summary-lines.ts";

export interface RawTextHead {
  readonly version: number;
  readonly segments: readonly RawSegment[];
  /** Number of stacks with at least one symbolized frame. */
  readonly stackCount: number;
  blockOf(block: number): Mib;
}

/**
 * Yields the text of a symbolized raw profile as `llvm-profdata show --memory` prints it, in pieces. The profile must
 * include the sources. The AccessHistogram field is printed as 0, because it is an address in the printing tool.
 */
export function* rawProfileText(head: RawTextHead, profile: MemprofProfile): Generator<string> {
  const { records } = profile;
  const indices = [...records.guid.keys()];
  yield `---\n${summaryLines(shownSummary(viewOf(profile)))}MemprofProfile:\n  Summary:\n`;
  yield `    Version: ${head.version}\n    NumSegments: ${head.segments.length}\n`;
  yield `    NumMibInfo: ${records.allocStack.length}\n`;
  yield `    NumAllocFunctions: ${indices.filter((row) => records.allocStart[row] !== records.allocStart[row + 1]).length}\n`;
  yield `    NumStackOffsets: ${head.stackCount}\n  Segments:\n`;
  for (const segment of head.segments) yield segmentText(segment);
  yield "  Records:\n";
  const frames = frameTexts(profile);
  const callStack = (stack: number) => framesOfStack(profile.stacks, stack).map((frame) => frames[frame]!);
  const fields = MIB_FIELDS.map(({ name }) => ({
    label: `${name[0]!.toUpperCase()}${name.slice(1)}`,
    name: name === "accessHistogram" ? undefined : name,
  }));
  for (const row of indices) {
    yield `  -\n    FunctionGUID: ${records.guid[row]}\n`;
    const [allocStart, allocEnd] = [records.allocStart[row]!, records.allocStart[row + 1]!];
    if (allocStart < allocEnd) yield "    AllocSites:\n";
    for (let site = allocStart; site < allocEnd; site++) {
      yield "    -\n      Callstack:\n";
      for (const frame of callStack(records.allocStack[site]!)) yield `      -\n${frame}`;
      const block = head.blockOf(records.allocBlock[site]!);
      yield "      MemInfoBlock:\n";
      yield fields
        .map(({ label, name }) => `        ${label}: ${name === undefined ? 0 : block[name]}\n`)
        .join("");
      const { histogram } = block;
      if (histogram !== undefined && histogram.length > 0)
        yield `        AccessHistogramValues: ${histogram.join(" ")}\n`;
    }
    const [callStart, callEnd] = [records.callStart[row]!, records.callStart[row + 1]!];
    if (callStart < callEnd) yield "    CallSites:\n";
    for (let site = callStart; site < callEnd; site++)
      for (const frame of callStack(records.callStack[site]!)) yield `    -\n      -\n${frame}`;
  }
}

function segmentText({ buildId, start, end, offset }: RawSegment): string {
  const hex = (value: bigint) => `0x${value.toString(16).toUpperCase()}`;
  const id = Array.from(buildId, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return (
    `  -\n    BuildId: ${id === "" ? "<None>" : id}\n    Start: ${hex(start)}\n` +
    `    End: ${hex(end)}\n    Offset: ${hex(offset)}\n`
  );
}

function frameTexts({ frames }: MemprofProfile): string[] {
  return Array.from({ length: frames.length }, (_, index) => {
    const { guid, name, lineOffset, column, inline } = frameAt(frames, index);
    return (
      `        Function: ${guid}\n        SymbolName: ${canonicalName(name ?? "")}\n` +
      `        LineOffset: ${lineOffset}\n        Column: ${column}\n        Inline: ${inline ? 1 : 0}\n`
    );
  });
}
