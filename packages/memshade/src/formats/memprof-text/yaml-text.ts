import {
  type BlockWords,
  type DataAccessProfile,
  frameAt,
  type MemprofProfile,
  type ProfileView,
  viewOf,
} from "../../model/memprof/index.ts";
import { summaryLines } from "./summary-lines.ts";
import { quoteScalar } from "./yaml-scalar.ts";

const VALUE_COLUMN = 17;

/**
 * An indexed profile as `llvm-profdata show --memory` prints it, in pieces (memprof-format, section 14.2). Records
 * come in the profile's order, the known fields in tag order.
 */
export function indexedProfileText(profile: MemprofProfile): Generator<string> {
  return profileText(viewOf(profile));
}

/** As {@link indexedProfileText}. */
export function* profileText(profile: ProfileView): Generator<string> {
  const { records, dataAccess } = profile;
  yield `---\n${summaryLines(profile.summary())}`;
  if (dataAccess !== undefined) {
    yield `#   Num hot symbols and string literals: ${dataAccess.records.length}\n`;
    yield `#   Num known cold symbols: ${dataAccess.coldSymbols.length}\n`;
    yield `#   Num known cold string literals: ${dataAccess.coldHashes.length}\n`;
  }
  yield* profileDocument(profile, records.length > 0 || dataAccess !== undefined);
}

function* profileDocument(profile: ProfileView, hasContent: boolean): Generator<string> {
  if (!hasContent) {
    yield "---\n{}\n...\n";
    return;
  }
  yield "---\n";
  if (profile.records.length > 0) yield "HeapProfileRecords:\n";
  yield* recordTexts(profile);
  if (profile.dataAccess !== undefined) yield dataAccessText(profile.dataAccess);
  yield "...\n";
}

function* recordTexts(profile: ProfileView): Generator<string> {
  const { records } = profile;
  const frames = frameTexts(profile);
  const path: number[] = [];
  const callStack = (stack: number) => {
    const depth = profile.framesOf(stack, path);
    let text = "";
    for (let at = 0; at < depth; at++) text += frames[path[at]!]!;
    return text;
  };
  const columns = profile.fields.map((field) => ({
    start: `          ${keyText(`${field.name[0]!.toUpperCase()}${field.name.slice(1)}`)}`,
    words: profile.field(field)!,
  }));
  for (let row = 0; row < records.length; row++) {
    yield `  - ${keyText("GUID")}${hex(records.guid[row]!)}\n`;
    const [allocStart, allocEnd] = [records.allocStart[row]!, records.allocStart[row + 1]!];
    if (allocStart < allocEnd) yield "    AllocSites:\n";
    for (let site = allocStart; site < allocEnd; site++) {
      const block = records.allocBlock[site]!;
      let text = `      - Callstack:\n${callStack(records.allocStack[site]!)}        MemInfoBlock:\n`;
      for (const { start, words } of columns) text += `${start}${valueText(words, block)}\n`;
      yield text;
    }
    const [callStart, callEnd] = [records.callStart[row]!, records.callStart[row + 1]!];
    if (callStart < callEnd) yield "    CallSites:\n";
    for (let site = callStart; site < callEnd; site++) {
      yield `      - Frames:\n${callStack(records.callStack[site]!)}`;
      const callees = records.callees.get(site) ?? [];
      if (callees.length > 0) yield `        ${keyText("CalleeGuids")}[ ${callees.map(hex).join(", ")} ]\n`;
    }
  }
}

/** Upper words below this make numbers that are exact. */
const LEAST_INEXACT_HIGH = 2 ** 21;

function valueText(words: BlockWords, block: number): string {
  const low = words.low(block);
  const high = words.high(block);
  if (high === 0) return String(low);
  return high < LEAST_INEXACT_HIGH
    ? String(high * 2 ** 32 + low)
    : String((BigInt(high) << 32n) | BigInt(low));
}

/** The lines of frames in a call stack. */
function frameTexts({ frames }: ProfileView): string[] {
  return Array.from({ length: frames.length }, (_, index) => {
    const { guid, lineOffset, column, inline } = frameAt(frames, index);
    const fields = `LineOffset: ${lineOffset}, Column: ${column}, IsInlineFrame: ${inline}`;
    return `          - { Function: ${hex(guid)}, ${fields} }\n`;
  });
}

function dataAccessText({ records, coldSymbols, coldHashes }: DataAccessProfile): string {
  let text = "DataAccessProfiles:\n";
  if (records.length > 0) text += "  SampledRecords:\n";
  const sorted = records.toSorted((a, b) => compare(b.accessCount, a.accessCount));
  for (const { symbol, accessCount, locations } of sorted) {
    text +=
      typeof symbol === "string"
        ? `    - ${keyText("Symbol")}${quoteScalar(symbol)}\n`
        : `    - ${keyText("Hash")}${symbol}\n`;
    text += `      ${keyText("AccessCount")}${accessCount}\n`;
    if (locations.length > 0) text += "      Locations:\n";
    for (const { file, line } of locations) {
      text += `        - ${keyText("FileName")}${quoteScalar(file)}\n          ${keyText("Line")}${line}\n`;
    }
  }
  if (coldSymbols.length > 0) text += "  KnownColdSymbols:\n";
  for (const name of sortedByBytes(coldSymbols)) text += `    - ${quoteScalar(name)}\n`;
  if (coldHashes.length > 0) {
    text += `  KnownColdStrHashes: [ ${[...coldHashes].sort(compare).join(", ")} ]\n`;
  }
  return text;
}

function sortedByBytes(texts: readonly string[]): string[] {
  const encoder = new TextEncoder();
  return texts
    .map((text) => ({ text, bytes: encoder.encode(text) }))
    .sort((a, b) => compareBytes(a.bytes, b.bytes))
    .map(({ text }) => text);
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const common = Math.min(a.length, b.length);
  for (let at = 0; at < common; at++) if (a[at] !== b[at]) return a[at]! - b[at]!;
  return a.length - b.length;
}

/** A key and what separates it from its value, which begins in a common column. */
function keyText(key: string): string {
  return `${key}:`.padEnd(Math.max(VALUE_COLUMN, key.length + 2));
}

function hex(value: bigint): string {
  return `0x${value.toString(16)}`;
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
