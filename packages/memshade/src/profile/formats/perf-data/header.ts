import type { ByteSource } from "../../../ground/bytes/byte-source.ts";
import { FormatError } from "../../../ground/bytes/errors.ts";
import { getU64, viewOf } from "../../../ground/bytes/numbers.ts";
import type { ProcessArchitecture } from "../../model/process-image.ts";
import {
  Feature,
  FILE_HEADER_BYTES,
  FLAG_SAMPLE_ID_ALL,
  MAGIC_HIGH,
  MAGIC_LOW,
  MISC_BUILD_ID_SIZE,
  PIPE_HEADER_BYTES,
  RECORD_HEADER_BYTES,
} from "./layout.ts";
import type { PerfEvent, PerfHeader } from "./types.ts";

function getId(view: DataView, at: number): string {
  return hex(view.getUint32(at + 4, true)) + hex(view.getUint32(at, true));
}

function hex(word: number): string {
  return word.toString(16).padStart(8, "0");
}

const utf8 = new TextDecoder();

export function textAt(view: DataView, start: number, end = view.byteLength): string {
  let length = 0;
  const limit = Math.max(0, Math.min(end, view.byteLength) - start);
  while (length < limit && view.getUint8(start + length) !== 0) length++;
  return utf8.decode(new Uint8Array(view.buffer, view.byteOffset + start, length));
}

export function hexBytes(view: DataView, start: number, length: number): string {
  return Array.from({ length }, (_, index) =>
    view
      .getUint8(start + index)
      .toString(16)
      .padStart(2, "0"),
  ).join("");
}

/** Size of `perf_event_attr` up to `config`, the part that every version has and that the reader requires. */
export const MINIMUM_ATTR_BYTES = 64;

/** Names of hardware and software events by `type` and `config`, for files that do not name their events. */
const EVENT_NAMES: readonly (readonly string[])[] = [
  ["cycles", "instructions", "cache-references", "cache-misses", "branches", "branch-misses"],
  ["cpu-clock", "task-clock", "page-faults", "context-switches"],
];

/** Reads a `perf_event_attr`; fields beyond its own size count as 0. */
export function readAttribute(view: DataView, ids: readonly string[]): PerfEvent {
  const size = Math.min(view.byteLength, view.getUint32(4, true) || MINIMUM_ATTR_BYTES);
  const u32 = (at: number) => (at + 4 <= size ? view.getUint32(at, true) : 0);
  const numbered = EVENT_NAMES[u32(0)]?.[u32(8)];
  return {
    name: numbered ?? "event",
    sampleType: u32(24),
    readFormat: u32(32),
    hasSampleIds: (u32(40) & FLAG_SAMPLE_ID_ALL) !== 0,
    branchSampleType: u32(72),
    userRegisters: [u32(80), u32(84)],
    ids,
  };
}

/** Bound on the kinds of events, above any recording's; ids are per event and processor. */
const MOST_EVENTS = 4096;

/** Header whose parts may still arrive in records, if the file was written to a pipe. */
export interface GrowingHeader extends PerfHeader {
  events: PerfEvent[];
  architecture: ProcessArchitecture | undefined;
  commandLine: string[];
  buildIds: Map<string, string>;
}

export interface PerfFileHeader {
  readonly header: GrowingHeader;
  readonly start: number;
  readonly end: number;
}

export function isPerfData(source: ByteSource): boolean {
  const start = viewOf(source.read(0, 8));
  return (
    start.byteLength === 8 &&
    start.getUint32(0, true) === MAGIC_LOW &&
    start.getUint32(4, true) === MAGIC_HIGH
  );
}

export function readPerfHeader(source: ByteSource): PerfFileHeader {
  if (!isPerfData(source)) {
    const detail = "the file is not perf.data of a little-endian machine";
    throw new FormatError("bad-magic", 0, "perf.data header", detail);
  }
  const view = viewOf(source.read(0, FILE_HEADER_BYTES));
  const headerBytes = view.byteLength >= 16 ? getU64(view, 8) : 0;
  const header: GrowingHeader = {
    events: [],
    architecture: undefined,
    commandLine: [],
    buildIds: new Map(),
  };
  if (headerBytes === PIPE_HEADER_BYTES) return { header, start: PIPE_HEADER_BYTES, end: source.size };
  if (view.byteLength < FILE_HEADER_BYTES) throw new FormatError("truncated", 0, "perf.data header");
  const attributes = { entryBytes: getU64(view, 16), offset: getU64(view, 24), size: getU64(view, 32) };
  const start = getU64(view, 40);
  const size = getU64(view, 48);
  // The size is written only if perf ended normally.
  const end = size === 0 ? source.size : Math.min(source.size, start + size);
  // Header data lies outside of the records. In a damaged file its size could be as large as the records.
  const outside = (offset: number, bytes: number) =>
    Math.max(0, Math.min(bytes, (offset < start ? start : offset < end ? 0 : source.size) - offset));
  readAttributes(source, attributes, outside, header);
  if (size !== 0) readFeatures(source, start + size, view, header);
  return { header, start, end };
}

function readAttributes(
  source: ByteSource,
  { entryBytes, offset, size }: { entryBytes: number; offset: number; size: number },
  outside: (offset: number, bytes: number) => number,
  header: GrowingHeader,
): void {
  if (entryBytes < MINIMUM_ATTR_BYTES + 16 || entryBytes > 4096)
    throw new FormatError("malformed", 16, "perf.data header", `attributes of ${entryBytes} bytes`);
  const count = Math.min(Math.floor(outside(offset, size) / entryBytes), MOST_EVENTS);
  const bytes = offset < source.size ? source.read(offset, count * entryBytes) : new Uint8Array(0);
  // Lists of ids do not overlap. In a damaged file they could, and each could be as long as the file.
  let remaining = source.size;
  for (let at = 0; at + entryBytes <= bytes.length; at += entryBytes) {
    const view = viewOf(bytes.subarray(at, at + entryBytes));
    const idsOffset = getU64(view, entryBytes - 16);
    const idBytes = Math.min(outside(idsOffset, getU64(view, entryBytes - 8)), remaining);
    remaining -= idBytes;
    const ids = viewOf(readSome(source, idsOffset, idBytes));
    header.events.push(readAttribute(viewOf(bytes.subarray(at, at + entryBytes - 16)), idsOf(ids)));
  }
  if (header.events.length === 0)
    throw new FormatError("malformed", offset, "perf.data attributes", "no event is described");
}

export function idsOf(view: DataView): string[] {
  return Array.from({ length: Math.floor(view.byteLength / 8) }, (_, index) => getId(view, index * 8));
}

/** Reads the sections after the data: an offset and a size for each set bit of the bitmap at 72. */
function readFeatures(
  source: ByteSource,
  tableOffset: number,
  fileHeader: DataView,
  header: GrowingHeader,
): void {
  const table = viewOf(readSome(source, tableOffset, 256 * 16));
  let at = 0;
  for (let feature = 0; feature < 256 && at + 16 <= table.byteLength; feature++) {
    if (((fileHeader.getUint32(72 + (feature >> 5) * 4, true) >>> (feature & 31)) & 1) === 0) continue;
    const [offset, size] = [getU64(table, at), getU64(table, at + 8)];
    if (Object.values<number>(Feature).includes(feature))
      readFeature(feature, viewOf(readSome(source, offset, size)), header);
    at += 16;
  }
}

const LARGEST_SECTION = 2 ** 28;

function readSome(source: ByteSource, offset: number, size: number): Uint8Array {
  return offset >= source.size ? new Uint8Array(0) : source.read(offset, Math.min(size, LARGEST_SECTION));
}

/** Reads one feature section; malformed entries are left out. */
export function readFeature(feature: number, view: DataView, header: GrowingHeader): void {
  switch (feature) {
    case Feature.BuildId:
      readBuildIds(view, header);
      break;
    case Feature.Arch:
      header.architecture = architectureOf(stringAt(view, 0)?.text);
      break;
    case Feature.CommandLine:
      header.commandLine = stringsAt(view);
      break;
    case Feature.EventDescription:
      readEventNames(view, header);
      break;
  }
}

function architectureOf(machine: string | undefined): ProcessArchitecture | undefined {
  if (machine === "x86_64") return "x86_64";
  return machine === "aarch64" || machine === "arm64" ? "aarch64" : undefined;
}

/** Reads build ids. Entries have the shape of records: process id, 20 bytes of build id and their number, path. */
export function readBuildIds(view: DataView, header: GrowingHeader): void {
  for (let at = 0; at + 36 <= view.byteLength; ) {
    const size = view.getUint16(at + 6, true);
    if (size < 36 || at + size > view.byteLength) return;
    const misc = view.getUint16(at + 4, true);
    const bytes = misc & MISC_BUILD_ID_SIZE ? Math.min(20, view.getUint8(at + RECORD_HEADER_BYTES + 24)) : 20;
    header.buildIds.set(
      textAt(view, at + 36, at + size),
      hexBytes(view, at + RECORD_HEADER_BYTES + 4, bytes),
    );
    at += size;
  }
}

function readEventNames(view: DataView, header: GrowingHeader): void {
  if (view.byteLength < 8) return;
  const count = Math.min(view.getUint32(0, true), header.events.length);
  const attributeBytes = view.getUint32(4, true);
  let at = 8;
  for (let index = 0; index < count; index++) {
    at += attributeBytes;
    if (at + 4 > view.byteLength) return;
    const idCount = view.getUint32(at, true);
    const name = stringAt(view, at + 4);
    if (name === undefined) return;
    header.events[index] = { ...header.events[index]!, name: name.text };
    at = name.end + idCount * 8;
  }
}

function stringAt(view: DataView, at: number): { text: string; end: number } | undefined {
  if (at + 4 > view.byteLength) return undefined;
  const end = at + 4 + view.getUint32(at, true);
  return end > view.byteLength ? undefined : { text: textAt(view, at + 4, end), end };
}

function stringsAt(view: DataView): string[] {
  const strings: string[] = [];
  if (view.byteLength < 4) return strings;
  let at = 4;
  for (let remaining = view.getUint32(0, true); remaining > 0; remaining--) {
    const string = stringAt(view, at);
    if (string === undefined) break;
    strings.push(string.text);
    at = string.end;
  }
  return strings;
}
