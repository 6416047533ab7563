import type { ObjectSymbol } from "../../code/objects/index.ts";
import type { Frame } from "../../names/symbolize/frame.ts";
import type { DataDeclaration, LocalVariable } from "../../names/symbolize/variables.ts";
import { inLine } from "../../profile/model/printable.ts";

/** Output of llvm-symbolizer: its own, that of addr2line, or JSON. */
export type OutputStyle = "LLVM" | "GNU" | "JSON";

export interface OutputOptions {
  readonly style: OutputStyle;
  /** Whether lines with function names are printed. */
  readonly printFunctions: boolean;
  readonly printAddress: boolean;
  readonly pretty: boolean;
  readonly verbose: boolean;
  /** What stands for the file in which a function begins where that is not known. */
  readonly unknownStart: string;
  /** Lines of source around each place, 0 for none; `sourceOf` reads them. */
  readonly contextLines: number;
  readonly sourceOf: (file: string) => readonly string[] | undefined;
}

/** What a line of input asks for. */
export interface Request {
  readonly module: string;
  /** Hexadecimal; undefined if the line has no address. */
  readonly address?: string;
  /** A name instead of an address. */
  readonly symbol?: string;
}

const UNKNOWN: Frame = { line: 0, column: 0, discriminator: 0, startLine: 0, inlined: false };

/** Answer to a request for the code at an address. */
export function formatFrames(request: Request, frames: readonly Frame[], options: OutputOptions): string {
  if (options.style === "JSON") return `${jsonOfFrames(request, frames)}`;
  let text = formatHeader(request, options);
  if (frames.length === 0) text += formatFrame(UNKNOWN, false, options);
  for (let index = 0; index < frames.length; index++) text += formatFrame(frames[index]!, index > 0, options);
  return text + footerOf(options);
}

/** Answer to a request for the data at an address; where it is declared, by debug information, or by the symbol. */
export function formatData(
  request: Request,
  symbol: Pick<ObjectSymbol, "name" | "address" | "size" | "file"> | undefined,
  declaration: DataDeclaration | undefined,
  options: OutputOptions,
): string {
  const { name = "", address = 0, size = 0 } = symbol ?? {};
  if (options.style === "JSON") {
    const data = `{"Name":${JSON.stringify(name)},"Size":"${hex(size)}","Start":"${hex(address)}"}`;
    return `{${addressMember(request)}"Data":${data},"ModuleName":${JSON.stringify(request.module)}${symbolMember(request)}}`;
  }
  const isDeclared = declaration !== undefined && declaration.line !== 0;
  const file = isDeclared ? declaration.file : symbol?.file;
  const place = file === undefined ? "??:?" : `${inLine(file)}:${isDeclared ? declaration.line : 0}`;
  return `${formatHeader(request, options)}${name === "" ? "??" : inLine(name)}\n${address} ${size}\n${place}\n${footerOf(options)}`;
}

/** Answer to a request for the variables of the function at an address. */
export function formatVariables(
  request: Request,
  variables: readonly LocalVariable[],
  options: OutputOptions,
): string {
  if (options.style === "JSON") {
    const members = variables.map(jsonOfVariable).join(",");
    return `{${addressMember(request)}"Frame":[${members}],"ModuleName":${JSON.stringify(request.module)}${symbolMember(request)}}`;
  }
  const text = variables.map(
    ({ functionName, name, file, line, frameOffset, sizeBytes, tagOffset }) =>
      `${inLine(functionName ?? "??")}\n${inLine(name ?? "??")}\n${inLine(file ?? "??")}:${line}\n` +
      `${frameOffset ?? "??"} ${sizeBytes ?? "??"} ${tagOffset ?? "??"}\n`,
  );
  return `${formatHeader(request, options)}${text.length === 0 ? "??\n" : text.join("")}${footerOf(options)}`;
}

function jsonOfVariable(variable: LocalVariable): string {
  const { functionName, name, file, line, frameOffset, sizeBytes, tagOffset } = variable;
  const size = (value: number | undefined) => (value === undefined ? "" : hex(value));
  return (
    `{"DeclFile":${JSON.stringify(file ?? "")},"DeclLine":${line},` +
    `${frameOffset === undefined ? "" : `"FrameOffset":${frameOffset},`}` +
    `"FunctionName":${JSON.stringify(functionName ?? "")},"Name":${JSON.stringify(name ?? "")},` +
    `"Size":"${size(sizeBytes)}","TagOffset":"${size(tagOffset)}"}`
  );
}

/** Answer to a request for the places of a symbol. */
export function formatSymbol(request: Request, places: readonly Frame[], options: OutputOptions): string {
  if (options.style === "JSON") {
    const locations = places.map(jsonOfFrame).join(",");
    return `{"Loc":[${locations}],"ModuleName":${JSON.stringify(request.module)}${symbolMember(request)}}`;
  }
  const shown = places.length === 0 ? [UNKNOWN] : places;
  return shown.map((place) => formatFrame(place, false, options)).join("") + footerOf(options);
}

/** In JSON, the answer where there is no object to look into. */
export function formatError(request: Request, message: string): string {
  const error = `"Error":{"Message":${JSON.stringify(message)}}`;
  return `{${addressMember(request)}${error},"ModuleName":${JSON.stringify(request.module)}${symbolMember(request)}}`;
}

function footerOf({ style }: OutputOptions): string {
  return style === "LLVM" ? "\n" : "";
}

function formatHeader({ address }: Request, { printAddress, pretty }: OutputOptions): string {
  return printAddress && address !== undefined ? `${address}${pretty ? ": " : "\n"}` : "";
}

function formatFrame(frame: Frame, isOuter: boolean, options: OutputOptions): string {
  const file = inLine(frame.file ?? "??");
  let text = "";
  if (options.printFunctions) {
    const inlining = options.pretty && isOuter ? " (inlined by) " : "";
    text = `${inlining}${inLine(frame.function ?? "??")}${options.pretty ? " at " : "\n"}`;
  }
  if (options.verbose) return text + formatVerbose(frame, file, options);
  if (options.style === "GNU") {
    const discriminator = frame.discriminator === 0 ? "" : ` (discriminator ${frame.discriminator})`;
    const approximate = frame.approximate ? " (approximate)" : "";
    text += `${file}:${frame.line}${approximate}${discriminator}\n`;
  } else {
    const approximate = frame.approximate ? " (approximate)" : "";
    text += `${file}:${frame.line}:${frame.column}${approximate}\n`;
  }
  return text + formatContext(frame, options);
}

function formatVerbose(frame: Frame, file: string, { style, unknownStart }: OutputOptions): string {
  const lines = [`  Filename: ${file}`];
  if (frame.startLine !== 0)
    lines.push(
      `  Function start filename: ${inLine(frame.startFile ?? unknownStart)}`,
      `  Function start line: ${frame.startLine}`,
    );
  if (style === "LLVM" && frame.startAddress !== undefined)
    lines.push(`  Function start address: ${hex(frame.startAddress)}`);
  lines.push(`  Line: ${frame.line}`, `  Column: ${frame.column}`);
  if (frame.discriminator !== 0) lines.push(`  Discriminator: ${frame.discriminator}`);
  if (frame.approximate) lines.push("  Approximate: true");
  return `${lines.join("\n")}\n`;
}

/** The lines around a place, the place's own marked. */
function formatContext({ file, line }: Frame, { contextLines, sourceOf }: OutputOptions): string {
  if (contextLines <= 0 || file === undefined) return "";
  const source = sourceOf(file);
  if (source === undefined) return "";
  const first = Math.max(1, line - Math.floor(contextLines / 2));
  const last = Math.min(source.length, first + contextLines - 1);
  // llvm-symbolizer rounds the logarithm up: 100 counts as two digits wide.
  const width = Math.ceil(Math.log10(first + contextLines - 1));
  let text = "";
  for (let number = first; number <= last; number++)
    text += `${String(number).padStart(width)} ${number === line ? ">:" : " :"} ${source[number - 1]}\n`;
  return text;
}

function addressMember({ address }: Request): string {
  return address === undefined ? "" : `"Address":"${address}",`;
}

function symbolMember({ symbol }: Request): string {
  return symbol === undefined ? "" : `,"SymName":${JSON.stringify(symbol)}`;
}

function jsonOfFrames(request: Request, frames: readonly Frame[]): string {
  const shown = frames.length === 0 ? [UNKNOWN] : frames;
  const symbols = shown.map(jsonOfFrame).join(",");
  return `{${addressMember(request)}"ModuleName":${JSON.stringify(request.module)},"Symbol":[${symbols}]}`;
}

function jsonOfFrame(frame: Frame): string {
  const text = (value: string | undefined) => JSON.stringify(value ?? "");
  const start = frame.startAddress === undefined ? "" : hex(frame.startAddress);
  return (
    `{${frame.approximate ? '"Approximate":true,' : ""}` +
    `"Column":${frame.column},"Discriminator":${frame.discriminator},"FileName":${text(frame.file)},` +
    `"FunctionName":${text(frame.function)},"Line":${frame.line},"StartAddress":"${start}",` +
    `"StartFileName":${text(frame.startFile)},"StartLine":${frame.startLine}}`
  );
}

export function hex(value: number): string {
  return `0x${value.toString(16)}`;
}
