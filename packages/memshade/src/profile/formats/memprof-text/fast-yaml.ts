import type { ByteSource } from "../../../ground/bytes/byte-source.ts";
import { type MemprofProfile, ProfileBuilder, type RecordRows } from "../../model/memprof/index.ts";
import { MIB_FIELDS } from "../../model/mib-fields.ts";

const U32 = 0xffffffffn;
const U64 = 0xffffffffffffffffn;
const PIECE_BYTES = 1 << 18;
/** Bound on the line length, far above any line written for a profile. */
const LONGEST_LINE = 1 << 20;

const CARRIAGE_RETURN = 0x0d;
const INSIDE = " ".repeat(10);
const CALLEES_KEY = "        CalleeGuids:";

const RECORD = /^ {2}- GUID: {12}(0x[0-9a-f]{1,16})$/;
const FRAME =
  /^ {10}- \{ Function: (0x[0-9a-f]{1,16}), LineOffset: (0|[1-9]\d{0,9}), Column: (0|[1-9]\d{0,9}), IsInlineFrame: (true|false) \}$/;
const FIELD = /^ {10}([A-Z]\w*): +(0|[1-9]\d{0,19})$/;
const CALLEES = /^ {8}CalleeGuids: {5}\[ (0x[0-9a-f]{1,16}(?:, 0x[0-9a-f]{1,16})*) \]$/;
const FIELDS = new Map(
  MIB_FIELDS.map((field) => [`${field.name[0]!.toUpperCase()}${field.name.slice(1)}`, field] as const),
);

/**
 * Reads a heap profile in YAML line by line, if all lines have the form that tools write. Only a piece of the file is
 * in memory, whereas the YAML library needs 58 times the file's size.
 *
 * @returns undefined if the file has any other line, and needs the general YAML reader
 */
export function readFastYaml(source: ByteSource): MemprofProfile | undefined {
  const fieldNames = isMemprofYaml(source.read(0, 3)) ? findFields(source) : undefined;
  if (fieldNames === undefined) return undefined;
  const fields = MIB_FIELDS.filter(({ name }) => fieldNames.has(name));
  const reader = new FastYamlReader(new ProfileBuilder(fields, false));
  for (const line of linesOf(source)) if (line === undefined || !reader.read(line)) return undefined;
  return reader.finish();
}

function findFields(source: ByteSource): ReadonlySet<string> | undefined {
  const names = new Set<string>();
  for (const line of linesOf(source)) {
    if (line === undefined) return undefined;
    if (!line.startsWith(INSIDE) || line[INSIDE.length] === "-") continue;
    const field = FIELDS.get(line.slice(INSIDE.length, line.indexOf(":")));
    if (field === undefined) return undefined;
    names.add(field.name);
  }
  return names;
}

type State =
  | "head"
  | "records"
  | "record"
  | "allocSites"
  | "callstack"
  | "block"
  | "callSites"
  | "frames"
  | "end";

class FastYamlReader {
  readonly #builder: ProfileBuilder;
  #state: State = "head";
  #record: RecordRows | undefined;
  readonly #frameNumbers = new Map<string, number>();
  readonly #frames: number[] = [];
  readonly #fields = new Map<string, bigint>();
  #callees: bigint[] = [];

  constructor(builder: ProfileBuilder) {
    this.#builder = builder;
  }

  /** Reads a line. @returns false if the line needs the general reader */
  read(line: string): boolean {
    if (this.#state === "head") return this.#readHead(line);
    if (this.#state === "end") return line === "";
    if (line.startsWith(INSIDE)) return this.#readInside(line);
    return this.#endSite(line) && this.#readOutside(line);
  }

  /** Returns the profile; undefined if the document is incomplete. */
  finish(): MemprofProfile | undefined {
    return this.#state === "end" ? this.#builder.build() : undefined;
  }

  #readHead(line: string): boolean {
    if (line === "HeapProfileRecords:") this.#state = "records";
    else return line === "---" || line.startsWith("#");
    return true;
  }

  #readInside(line: string): boolean {
    if (this.#state === "callstack" || this.#state === "frames") {
      if (this.#callees.length > 0) return false;
      const frame = this.#frameNumbers.get(line) ?? this.#addFrame(line);
      if (frame === undefined) return false;
      this.#frames.push(frame);
      return true;
    }
    const [, name, digits] = (this.#state === "block" ? FIELD.exec(line) : null) ?? [];
    const field = FIELDS.get(name ?? "");
    if (field === undefined || this.#fields.has(field.name)) return false;
    const value = BigInt(digits!);
    this.#fields.set(field.name, value);
    return value <= (field.bytes === 4 ? U32 : U64);
  }

  #addFrame(line: string): number | undefined {
    const [, guid, lineOffset, column, inline] = FRAME.exec(line) ?? [];
    if (guid === undefined || Number(lineOffset) > Number(U32) || Number(column) > Number(U32))
      return undefined;
    const frame = this.#builder.frames.intern({
      guid: BigInt(guid),
      lineOffset: Number(lineOffset),
      column: Number(column),
      inline: inline === "true",
    });
    this.#frameNumbers.set(line, frame);
    return frame;
  }

  #readOutside(line: string): boolean {
    switch (line) {
      case "    AllocSites:":
        return this.#go(this.#state === "record", "allocSites");
      case "      - Callstack:":
        return this.#go(this.#state === "allocSites", "callstack");
      case "        MemInfoBlock:":
        return this.#go(this.#state === "callstack" && this.#frames.length > 0, "block");
      case "    CallSites:":
        return this.#go(this.#state === "record" || this.#state === "allocSites", "callSites");
      case "      - Frames:":
        return this.#go(this.#state === "callSites", "frames");
      case "...":
        return this.#go(this.#isBetweenRecords(), "end");
      default:
        return this.#readCallees(line) || this.#readRecord(line);
    }
  }

  #readCallees(line: string): boolean {
    if (this.#state !== "frames" || this.#frames.length === 0 || this.#callees.length > 0) return false;
    const [, list] = CALLEES.exec(line) ?? [];
    if (list === undefined) return false;
    this.#callees = list.split(", ").map(BigInt);
    return true;
  }

  #readRecord(line: string): boolean {
    const [, guid] = RECORD.exec(line) ?? [];
    if (guid === undefined || !this.#isBetweenRecords()) return false;
    // The first of several records of a function counts. The general reader handles that case.
    if (this.#builder.has(BigInt(guid))) return false;
    this.#record = this.#builder.record(BigInt(guid));
    this.#state = "record";
    return true;
  }

  #go(isRight: boolean, state: State): boolean {
    this.#state = state;
    return isRight;
  }

  #isBetweenRecords(): boolean {
    return ["records", "record", "allocSites", "callSites"].includes(this.#state);
  }

  #endSite(line: string): boolean {
    if (this.#state === "block") {
      if (this.#fields.size === 0) return false;
      this.#addAllocSite();
      this.#state = "allocSites";
    } else if (this.#state === "frames" && !line.startsWith(CALLEES_KEY)) {
      if (this.#frames.length === 0) return false;
      this.#record!.addCallSite(this.#builder.stackOf(this.#frames), this.#callees);
      this.#state = "callSites";
    } else {
      return true;
    }
    this.#frames.length = 0;
    this.#callees = [];
    this.#fields.clear();
    return true;
  }

  #addAllocSite(): void {
    const { blocks } = this.#builder;
    const block = blocks.addRow();
    for (const [index, { name }] of blocks.fields.entries())
      blocks.setNumber(index, block, this.#fields.get(name) ?? 0n);
    this.#record!.addAllocSite(this.#builder.stackOf(this.#frames), block);
  }
}

/**
 * Yields the lines of a file, including the text after the last line end. Yields undefined for text that is not plain
 * ASCII, and for overlong lines.
 */
function* linesOf(source: ByteSource): Generator<string | undefined> {
  const decoder = new TextDecoder("latin1");
  let rest = "";
  for (let offset = 0; offset < source.size; offset += PIECE_BYTES) {
    const bytes = source.read(offset, Math.min(PIECE_BYTES, source.size - offset));
    const lines = (rest + decoder.decode(bytes)).split("\n");
    rest = lines.pop()!;
    if (rest.length > LONGEST_LINE || bytes.some((byte) => byte >= 0x80 || byte === CARRIAGE_RETURN)) {
      yield undefined;
      return;
    }
    yield* lines;
  }
  if (rest !== "") yield rest;
}

export function isMemprofYaml(bytes: Uint8Array): boolean {
  return bytes[0] === 0x2d && bytes[1] === 0x2d && bytes[2] === 0x2d;
}
