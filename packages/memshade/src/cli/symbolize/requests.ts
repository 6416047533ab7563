/** What a line of input asks for, as llvm-symbolizer understands it. */
export interface InputLine {
  readonly command: "CODE" | "DATA" | "FRAME";
  /** The file, where no `--binary` names it. */
  readonly file?: string;
  /** In place of a file, the build id of an object, in hexadecimal. */
  readonly buildId?: string;
  /** An address; without one and without a symbol, nothing that could be answered. */
  readonly address?: number;
  /** The address in hexadecimal, where a number cannot hold it exactly. */
  readonly exactAddress?: string;
  readonly symbol?: string;
  /** Added to the address of the symbol. */
  readonly offset: number;
  /** The address is an offset in the file of a wasm module: the line is one of an engine's stack trace. */
  readonly inFile?: boolean;
}

const COMMAND = /^(CODE|DATA|FRAME)(?=\s)/;
/** Few enough digits for a number to hold them all. */
const PLAIN_ADDRESS = /^0x[0-9a-fA-F]{1,13}$/;
/** A frame in wasm in the stack traces of V8 and SpiderMonkey, of wasmtime, and of Wasmer. */
const TRACES: readonly RegExp[] = [
  /:wasm-function\[\d+\]:(0x[0-9a-f]{1,13})\)?\s*$/i,
  /^\s*\d+:\s+(0x[0-9a-f]{1,13}) - \S/i,
  /^\s*at .*\[\d+\]:(0x[0-9a-f]{1,13})\)\s*$/i,
];
const PREFIXES = /^(?:(?:FILE|BUILDID):\s*)*/;
const NAME = /^(?:"([^"]*)"|'([^']*)'|([^\s"']\S*))/;

/**
 * Reads `[CODE|DATA|FRAME] [[FILE:]FILE|BUILDID:ID] ADDRESS` or `… SYMBOL[+OFFSET]`. What cannot be read asks for
 * neither an address nor a symbol. With a file, frames in wasm of an engine's stack trace are read as well.
 *
 * @param hasFile lines have no file, as the program was told one
 */
export function parseInputLine(line: string, hasFile: boolean): InputLine {
  // Nearly all lines are this.
  if (hasFile && PLAIN_ADDRESS.test(line)) return { command: "CODE", address: Number(line), offset: 0 };
  const inTrace = hasFile ? traceAddress(line) : undefined;
  if (inTrace !== undefined) return { command: "CODE", address: inTrace, offset: 0, inFile: true };
  let rest = line.trimStart();
  const given = COMMAND.exec(rest)?.[1] as InputLine["command"] | undefined;
  const command = given ?? "CODE";
  rest = rest.slice(given?.length ?? 0).trim();
  const prefixes = PREFIXES.exec(rest)![0];
  rest = rest.slice(prefixes.length);
  if (hasFile) return prefixes === "" ? placeOf(rest, { command }) : { command, offset: 0 };
  const found = NAME.exec(rest);
  if (found === null || prefixes.split(":").length > 2) return { command, offset: 0 };
  const name = found[1] ?? found[2] ?? found[3] ?? "";
  rest = rest.slice(found[0].length).trim();
  if (!prefixes.startsWith("BUILDID")) return placeOf(rest, { command, file: name });
  const buildId = parseBuildId(name);
  return buildId === undefined ? { command, offset: 0 } : placeOf(rest, { command, buildId });
}

function traceAddress(line: string): number | undefined {
  for (const trace of TRACES) {
    const found = trace.exec(line);
    if (found !== null) return Number(found[1]);
  }
  return undefined;
}

/** A build id in lower case, of whole bytes; undefined for what is no number in hexadecimal. */
export function parseBuildId(text: string): string | undefined {
  if (!/^[0-9a-fA-F]+$/.test(text)) return undefined;
  return `${text.length % 2 === 0 ? "" : "0"}${text.toLowerCase()}`;
}

/** What follows the file: an address or a symbol. Whatever stands behind it is not looked at. */
function placeOf(text: string, asked: Pick<InputLine, "command" | "file" | "buildId">): InputLine {
  const place = /^\S*/.exec(text)![0];
  if (place === "") return { ...asked, offset: 0 };
  const address = parseAddress(place);
  if (address !== undefined) {
    const exact = address > Number.MAX_SAFE_INTEGER ? BigInt(place) : undefined;
    if (exact === undefined) return { ...asked, address, offset: 0 };
    if (exact < 2n ** 64n) return { ...asked, address, exactAddress: `0x${exact.toString(16)}`, offset: 0 };
  }
  if (/^\d/.test(place)) return { ...asked, offset: 0 };
  const plus = place.lastIndexOf("+");
  const offset = plus > 0 ? parseAddress(place.slice(plus + 1)) : undefined;
  const symbol = offset === undefined ? place : place.slice(0, plus);
  return { ...asked, symbol, offset: offset ?? 0 };
}

/** A number as C writes it (hexadecimal, binary, octal or decimal); undefined for anything else. */
export function parseAddress(text: string): number | undefined {
  if (/^0[xX][0-9a-fA-F]+$/.test(text) || /^(0|[1-9][0-9]*)$/.test(text)) return Number(text);
  if (/^0[bB][01]+$/.test(text)) return Number(text);
  const octal = /^0[oO]?([0-7]+)$/.exec(text);
  return octal === null ? undefined : Number.parseInt(octal[1]!, 8);
}
