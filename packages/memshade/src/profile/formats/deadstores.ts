import { UserError } from "../../ground/bytes/errors.ts";
import { type Check, integer, list, misfit, optional, part, record, shown, text } from "../model/check.ts";

/**
 * Output of the Valgrind tool deadstores: every store and load instruction that ran, with the fate of its bytes.
 * Records are in the order of addresses, or of call stacks with `--use-stack-trace=yes`.
 */
export interface DeadstoresFile {
  /** The profiled command, its words separated by spaces. */
  readonly command: string;
  readonly stores: readonly StoreRecord[];
  readonly loads: readonly LoadRecord[];
}

export interface DeadstoresIp {
  /** Number where it is exact, else a bigint. */
  readonly address: number | bigint;
  readonly function?: string | undefined;
  readonly file?: string | undefined;
  readonly line?: number | undefined;
}

export interface StoreRecord {
  readonly ips: readonly DeadstoresIp[];
  readonly bytes_written: number;
  /** Written bytes that were read before they were overwritten or became invalid. */
  readonly bytes_read: number;
  readonly nof_stores: number;
  /** Stores that left every byte as it was. */
  readonly nof_silent: number;
}

export interface LoadRecord {
  readonly ips: readonly DeadstoresIp[];
  readonly nof_loads: number;
  /** Loads of bytes that had all been read since they were written. */
  readonly nof_silent: number;
}

const address: Check<number | bigint> = (value) => {
  if (typeof value === "bigint" && value >= 0n) return value;
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  return misfit(`should be an address, not ${shown(value)}`);
};

const ip = record<DeadstoresIp>({
  address,
  function: optional(text),
  file: optional(text),
  line: optional(integer),
});

const ips: Check<DeadstoresIp[]> = (value) => {
  const found = list(ip)(value);
  if (found.length > 0) return found;
  return misfit("should have at least one address");
};

const file = record<DeadstoresFile>({
  command: text,
  stores: list(
    record({ ips, bytes_written: integer, bytes_read: integer, nof_stores: integer, nof_silent: integer }),
  ),
  loads: list(record({ ips, nof_loads: integer, nof_silent: integer })),
});

/**
 * Reads a file of the Valgrind tool deadstores, or a `waste.json`, which has the same members and more. The tool does
 * not escape quotes, backslashes and line ends in names; such files are read too.
 *
 * @throws UserError in one line that names the position: not JSON, or not of this shape
 */
export function readDeadstores(content: string): DeadstoresFile {
  return part("the file", file, parse(content));
}

function parse(content: string): unknown {
  const reviver = LONG_ADDRESS.test(content) ? exactAddress : undefined;
  try {
    return JSON.parse(content, reviver);
  } catch (error) {
    for (const withEscapes of [escapeNames, escapeMembers])
      try {
        return JSON.parse(withEscapes(content), reviver);
      } catch {}
    // The engine's message quotes the content, which may hold bytes that are unsafe on a terminal.
    const reason = content.trim() === "" ? "the file is empty" : "not JSON";
    throw new UserError(error instanceof SyntaxError ? reason : String(error));
  }
}

/** Matches an address that a number may not hold exactly. Only a file with a match needs the slow reviver. */
const LONG_ADDRESS = /"address"\s*:\s*\d{16}/;

/** Keeps all 64 bits of an address; `context.source` is the number's own text. */
function exactAddress(key: string, value: unknown, context?: { source?: string }): unknown {
  const { source } = context ?? {};
  const isLong = key === "address" && typeof value === "number" && !Number.isSafeInteger(value);
  return isLong && source !== undefined && /^\d{1,20}$/.test(source) ? BigInt(source) : value;
}

// The tool writes one member per line, indented by its depth; only the command may span several lines.
const COMMAND = /^( {2}"command": ")([\s\S]*?)(",\n {2}"stores": \[)$/m;
const NAME = /^( {10}"(?:function|file)": ")(.*)("[, ]?)$/gm;

function escapeNames(content: string): string {
  return content
    .replace(COMMAND, (_all, before: string, command: string, after: string) => {
      const words = command.replaceAll('\\"', '"').replaceAll("\\\n", "\n");
      return before + escaped(words) + after;
    })
    .replace(NAME, (_all, before: string, name: string, after: string) => before + escaped(name) + after);
}

const MEMBERS = [
  /("command"\s*:\s*")([\s\S]*?)(?="\s*,\s*"stores"\s*:\s*\[)/g,
  /("(?:function|file)"\s*:\s*")([\s\S]*?)(?="\s*(?:\}|,\s*"(?:address|function|file|line)"\s*:))/g,
];

/** Does the same for files that another program wrote anew: a name ends before a member that addresses have. */
function escapeMembers(content: string): string {
  return MEMBERS.reduce(
    (text, member) => text.replace(member, (_all, before: string, name: string) => before + escaped(name)),
    content,
  );
}

function escaped(name: string): string {
  return JSON.stringify(name).slice(1, -1);
}
