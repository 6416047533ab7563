/** One line of input, as llvm-symbolizer understands it. */
export interface InputLine {
  readonly command: "CODE" | "DATA" | "FRAME" | "SYMBOL";
  /** The file, where no `--binary` names it. */
  readonly file?: string;
  readonly address?: number;
  /** The address in hexadecimal, where a number cannot hold it exactly. */
  readonly exactAddress?: string;
  readonly symbol?: string;
  /** Set for what begins as a number but is none, of at most 64 bits: an address that nothing is known of. */
  readonly isMalformed?: boolean;
  /** Added to the address of the symbol. */
  readonly offset: number;
}

const COMMAND = /^(CODE|DATA|FRAME|SYMBOL)(?=\s)/;
/** Few enough digits for a number to hold them all. */
const PLAIN_ADDRESS = /^0x[0-9a-fA-F]{1,13}$/;
const FILE_PREFIX = /^(?:"([^"]*)"|'([^']*)'|(\S+))/;

/** Reads `[CODE|DATA|FRAME|SYMBOL] [FILE] ADDRESS` or `… SYMBOL[+OFFSET]`; undefined where nothing is asked. */
export function parseInputLine(line: string, hasFile: boolean): InputLine | undefined {
  // Nearly all lines are this.
  if (hasFile && PLAIN_ADDRESS.test(line)) return { command: "CODE", address: Number(line), offset: 0 };
  let rest = line.trim();
  const command = COMMAND.exec(rest)?.[1] as InputLine["command"] | undefined;
  if (command !== undefined) rest = rest.slice(command.length).trim();
  let file: string | undefined;
  if (!hasFile) {
    const prefix = FILE_PREFIX.exec(rest);
    if (prefix === null) return undefined;
    file = prefix[1] ?? prefix[2] ?? prefix[3] ?? "";
    rest = rest.slice(prefix[0].length).trim();
  }
  const place = /^\S*/.exec(rest)![0];
  if (place === "") return undefined;
  const found = file === undefined ? {} : { file };
  const address = parseAddress(place);
  if (address !== undefined && command !== "SYMBOL") {
    const exact = address > Number.MAX_SAFE_INTEGER ? BigInt(place) : undefined;
    if (exact === undefined) return { command: command ?? "CODE", ...found, address, offset: 0 };
    if (exact < 2n ** 64n) {
      const exactAddress = `0x${exact.toString(16)}`;
      return { command: command ?? "CODE", ...found, address, exactAddress, offset: 0 };
    }
  }
  if (/^\d/.test(place)) return { command: command ?? "CODE", ...found, isMalformed: true, offset: 0 };
  const plus = place.lastIndexOf("+");
  const offset = plus > 0 ? parseAddress(place.slice(plus + 1)) : undefined;
  const symbol = offset === undefined ? place : place.slice(0, plus);
  return { command: command ?? "CODE", ...found, symbol, offset: offset ?? 0 };
}

/** A number as C writes it (hexadecimal, binary, octal or decimal); undefined for anything else. */
export function parseAddress(text: string): number | undefined {
  if (/^0[xX][0-9a-fA-F]+$/.test(text) || /^(0|[1-9][0-9]*)$/.test(text)) return Number(text);
  if (/^0[bB][01]+$/.test(text)) return Number(text);
  const octal = /^0[oO]?([0-7]+)$/.exec(text);
  return octal === null ? undefined : Number.parseInt(octal[1]!, 8);
}
