import {
  type BlockWords,
  type DataAccessProfile,
  frameAt,
  type MemprofFrame,
  type MemprofProfile,
  type MemprofSummary,
  type ProfileView,
  shownSummary,
  viewOf,
} from "../../model/memprof/index.ts";
import type { MibField } from "../../model/mib-fields.ts";
import { summaryLines } from "./summary-lines.ts";

const NUMBER =
  /^(?:[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|0x[0-9a-fA-F]+|0o[0-7]+|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/;
const WORDS = new Set(["null", "Null", "NULL", "~", "true", "True", "TRUE", "false", "False", "FALSE"]);
const PLAIN_START = /^[^-?:\\,[\]{}#&*!|>'"%@`]/;
const PLAIN = /^[A-Za-z0-9_\-^., \t]*$/;

/** Quotes a string as LLVM does in YAML: plain if possible, else in single or double quotes. */
export function quoteScalar(text: string): string {
  if (needsDoubleQuotes(text)) return `"${escapeText(text)}"`;
  const isPlain =
    text !== "" &&
    text === text.trim() &&
    !WORDS.has(text) &&
    !NUMBER.test(text) &&
    PLAIN_START.test(text) &&
    PLAIN.test(text);
  return isPlain ? text : `'${text.replaceAll("'", "''")}'`;
}

function needsDoubleQuotes(text: string): boolean {
  for (const character of text) {
    const code = character.codePointAt(0)!;
    if ((code < 0x20 && code !== 9) || code >= 0x7f) return true;
  }
  return false;
}

const ESCAPES: Readonly<Record<string, string>> = {
  "\\": "\\\\",
  '"': '\\"',
  "\0": "\\0",
  "\x07": "\\a",
  "\b": "\\b",
  "\t": "\\t",
  "\n": "\\n",
  "\v": "\\v",
  "\f": "\\f",
  "\r": "\\r",
  "\x1b": "\\e",
  "\x85": "\\N",
  "\xa0": "\\_",
  "\u2028": "\\L",
  "\u2029": "\\P",
};

function escapeText(text: string): string {
  return Array.from(text, (character) => {
    const shortEscape = ESCAPES[character];
    if (shortEscape !== undefined) return shortEscape;
    const code = character.codePointAt(0)!;
    const digits = code.toString(16).toUpperCase();
    if (code < 0x20) return `\\x${digits.padStart(2, "0")}`;
    return character;
  }).join("");
}

const VALUE_COLUMN = 17;

/**
 * Yields an indexed profile as `llvm-profdata show --memory` prints it, in pieces (memprof-format, section 14.2).
 * Records are in the profile's order, the known fields in tag order.
 */
export function indexedProfileText(profile: MemprofProfile): Generator<string> {
  return profileText(viewOf(profile));
}

export function* profileText(profile: ProfileView): Generator<string> {
  const { records, dataAccess } = profile;
  yield* documentText(
    { summary: shownSummary(profile), records: records.length, dataAccess },
    recordTexts(profile),
  );
}

export interface ProfileHead {
  readonly summary: MemprofSummary;
  readonly records: number;
  readonly dataAccess: DataAccessProfile | undefined;
}

export function* documentText(
  { summary, records, dataAccess }: ProfileHead,
  recordTexts: Iterable<string>,
): Generator<string> {
  yield `---\n${summaryLines(summary)}`;
  if (dataAccess !== undefined) {
    yield `#   Num hot symbols and string literals: ${dataAccess.records.length}\n`;
    yield `#   Num known cold symbols: ${dataAccess.coldSymbols.length}\n`;
    yield `#   Num known cold string literals: ${dataAccess.coldHashes.length}\n`;
  }
  if (records === 0 && dataAccess === undefined) {
    yield "---\n{}\n...\n";
    return;
  }
  yield "---\n";
  if (records > 0) yield "HeapProfileRecords:\n";
  yield* recordTexts;
  if (dataAccess !== undefined) yield dataAccessText(dataAccess);
  yield "...\n";
}

export const LINES = {
  function: (guid: bigint) => `  - ${keyText("GUID")}${hex(guid)}\n`,
  allocSites: "    AllocSites:\n",
  allocSite: "      - Callstack:\n",
  block: "        MemInfoBlock:\n",
  field: ({ name }: MibField) => `          ${keyText(`${name[0]!.toUpperCase()}${name.slice(1)}`)}`,
  callSites: "    CallSites:\n",
  callSite: "      - Frames:\n",
  callees: (guids: readonly bigint[]) =>
    `        ${keyText("CalleeGuids")}[ ${guids.map(hex).join(", ")} ]\n`,
  frame: ({ guid, lineOffset, column, inline }: MemprofFrame) =>
    `          - { Function: ${hex(guid)}, LineOffset: ${lineOffset}, Column: ${column}, IsInlineFrame: ${inline} }\n`,
} as const;

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
    start: LINES.field(field),
    words: profile.field(field)!,
  }));
  for (let row = 0; row < records.length; row++) {
    yield LINES.function(records.guid[row]!);
    const [allocStart, allocEnd] = [records.allocStart[row]!, records.allocStart[row + 1]!];
    if (allocStart < allocEnd) yield LINES.allocSites;
    for (let site = allocStart; site < allocEnd; site++) {
      const block = records.allocBlock[site]!;
      let text = `${LINES.allocSite}${callStack(records.allocStack[site]!)}${LINES.block}`;
      for (const { start, words } of columns) text += `${start}${valueText(words, block)}\n`;
      yield text;
    }
    const [callStart, callEnd] = [records.callStart[row]!, records.callStart[row + 1]!];
    if (callStart < callEnd) yield LINES.callSites;
    for (let site = callStart; site < callEnd; site++) {
      yield `${LINES.callSite}${callStack(records.callStack[site]!)}`;
      const callees = records.callees.get(site) ?? [];
      if (callees.length > 0) yield LINES.callees(callees);
    }
  }
}

/** Least upper word of a u64 that a double may not hold exactly. */
const LEAST_INEXACT_HIGH = 2 ** 21;

function valueText(words: BlockWords, block: number): string {
  return wordsText(words.low(block), words.high(block));
}

export function wordsText(low: number, high: number): string {
  if (high === 0) return String(low);
  return high < LEAST_INEXACT_HIGH
    ? String(high * 2 ** 32 + low)
    : String((BigInt(high) << 32n) | BigInt(low));
}

function frameTexts({ frames }: ProfileView): string[] {
  return Array.from({ length: frames.length }, (_, index) => LINES.frame(frameAt(frames, index)));
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
    for (const { file, line } of locations)
      text += `        - ${keyText("FileName")}${quoteScalar(file)}\n          ${keyText("Line")}${line}\n`;
  }
  if (coldSymbols.length > 0) text += "  KnownColdSymbols:\n";
  for (const name of sortedByBytes(coldSymbols)) text += `    - ${quoteScalar(name)}\n`;
  if (coldHashes.length > 0)
    text += `  KnownColdStrHashes: [ ${[...coldHashes].sort(compare).join(", ")} ]\n`;
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

/** Formats a key and its padding, so that values begin in a common column. */
function keyText(key: string): string {
  return `${key}:`.padEnd(Math.max(VALUE_COLUMN, key.length + 2));
}

function hex(value: bigint): string {
  return `0x${value.toString(16)}`;
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
