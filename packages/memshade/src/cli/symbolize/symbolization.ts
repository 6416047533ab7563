import { existsSync } from "node:fs";
import type { ObjectSymbol } from "../../code/objects/index.ts";
import { UserError } from "../../ground/bytes/errors.ts";
import { readRegular } from "../../names/load/file.ts";
import { type LoadedObject, ObjectFinder } from "../../names/load/objects.ts";
import {
  type FileSymbolizer,
  type FileSymbolizerOptions,
  loadSymbolizer,
} from "../../names/load/symbolizer.ts";
import type { Frame } from "../../names/symbolize/frame.ts";
import { STALE } from "../../names/symbolize/symbolizer.ts";
import type { DataDeclaration, LocalVariable } from "../../names/symbolize/variables.ts";
import { inLine } from "../../profile/model/printable.ts";

export interface SymbolizationOptions {
  /** The object; if undefined, each line of input names one. */
  readonly binary: string | undefined;
  /** Build id by which the object is searched; `binary` is then its name in answers. */
  readonly buildId?: string | undefined;
  /** Offset that is subtracted from each address. */
  readonly adjustment: number;
  /** True if addresses in wasm modules are offsets in the file. */
  readonly fileOffsets: boolean;
  readonly symbolizer: FileSymbolizerOptions;
  readonly output: Omit<OutputOptions, "sourceOf" | "unknownStart">;
}

export class Symbolization {
  readonly #options: SymbolizationOptions;
  readonly #output: OutputOptions;
  /** Symbolizers by module name, or the reason why a module has none. */
  readonly #symbolizers = new Map<string, FileSymbolizer | string>();
  /** Files whose read error was already in an answer. */
  readonly #blamed = new Set<string>();
  readonly #complaints: string[] = [];
  readonly #stale = new Set<string>();
  /**
   * True if only the innermost function is printed, as addr2line does; llvm-symbolizer prints the outermost.
   */
  readonly #innermostOnly: boolean;

  /** @throws UserError if the binary cannot be read */
  constructor(options: SymbolizationOptions) {
    this.#innermostOnly = options.output.style === "GNU" && options.symbolizer.inlines === false;
    this.#options = this.#innermostOnly
      ? { ...options, symbolizer: { ...options.symbolizer, inlines: true } }
      : options;
    const unknownStart = this.#options.symbolizer.inlines === false ? "<invalid>" : "";
    this.#output = { ...options.output, sourceOf: createSourceReader(), unknownStart };
    const { binary, buildId } = options;
    if (binary !== undefined) {
      const object = buildId === undefined ? binary : findByBuildId(buildId, options.symbolizer.finder);
      this.#symbolizers.set(binary, loadSymbolizer(object, this.#options.symbolizer));
    }
  }

  complaints(): string[] {
    const ofFiles = [...this.#symbolizers.values()].flatMap((symbolizer) => {
      if (typeof symbolizer === "string") return [];
      const why =
        symbolizer.damage?.kind === "unsupported" ? "is not all understood" : "is damaged, not all is known";
      const damaged = symbolizer.damage === undefined ? [] : [`${why}: ${symbolizer.damage.message}`];
      return [...damaged, ...symbolizer.missing].map((end) => `${symbolizer.path} ${end}`);
    });
    const stale = [...this.#stale].map((path) => `${path}: ${STALE}`);
    return [...this.#complaints, ...new Set(ofFiles), ...stale];
  }

  /** True if a line has neither an address nor a symbol of its file, and the file can be read. */
  isUnknown(line: string): boolean {
    const { binary } = this.#options;
    const { file, buildId, address, symbol } = parseInputLine(line, binary !== undefined);
    if (address !== undefined) return false;
    const module = file ?? buildId?.toUpperCase() ?? binary ?? "";
    const symbolizer = this.#symbolizerOf(module, buildId);
    if (typeof symbolizer === "string") return false;
    const name = symbol ?? "";
    return name === "" || !hasSymbol(symbolizer, name);
  }

  /** Returns the answer to one line; `??` if there is no match. */
  answer(line: string): string {
    const { binary } = this.#options;
    // llvm-symbolizer has no module for empty lines, but has one for blank lines.
    if (line === "") return formatFrames({ module: "" }, [], this.#output);
    const input = parseInputLine(line, binary !== undefined);
    const { address, symbol, buildId } = input;
    const module = input.file ?? buildId?.toUpperCase() ?? binary ?? "";
    if (address === undefined && symbol === undefined) return formatFrames({ module }, [], this.#output);
    const request: Request =
      address === undefined
        ? { module, symbol: symbol! }
        : { module, address: input.exactAddress ?? hex(address) };
    const symbolizer = this.#symbolizerOf(module, buildId);
    if (typeof symbolizer === "string" && this.#output.style === "JSON" && !this.#blamed.has(module)) {
      // llvm-symbolizer reports it once for each file, too.
      if (buildId === undefined) this.#blamed.add(module);
      return formatError(request, symbolizer);
    }
    return this.#answerOf(input, request, typeof symbolizer === "string" ? undefined : symbolizer);
  }

  #answerOf(
    { command, address, symbol = "", offset, inFile = false }: InputLine,
    request: Request,
    symbolizer: FileSymbolizer | undefined,
  ): string {
    const place = address === undefined ? undefined : this.#placeOf(symbolizer, address, inFile);
    if (place !== undefined && symbolizer !== undefined) this.#noteStale(symbolizer, place);
    switch (command) {
      case "FRAME":
        return formatVariables(
          request,
          (place !== undefined && symbolizer?.variables(place)) || [],
          this.#output,
        );
      case "DATA": {
        if (place === undefined) return formatData(request, undefined, undefined, this.#output);
        const found = symbolizer?.symbolizer.symbolAt(place);
        const { demangle = (name: string) => name } = this.#options.symbolizer;
        const data = found && { ...found, name: demangle(found.name) };
        return formatData(request, data, symbolizer?.dataDeclaration(place), this.#output);
      }
      default: {
        if (place === undefined)
          return formatSymbol(
            request,
            symbolizer === undefined ? [] : placesOf(symbolizer, symbol, offset),
            this.#output,
          );
        const frames = symbolizer?.frames(place) ?? [];
        return formatFrames(request, this.#innermostOnly ? frames.slice(0, 1) : frames, this.#output);
      }
    }
  }

  /** Checks a module's debug information until it is known to belong to other code. */
  #noteStale({ path, symbolizer }: FileSymbolizer, place: number): void {
    if (symbolizer.object.kind === "wasm" && !this.#stale.has(path) && symbolizer.isStaleAt(place))
      this.#stale.add(path);
  }

  #placeOf(symbolizer: FileSymbolizer | undefined, address: number, inFile: boolean): number {
    const { adjustment, fileOffsets } = this.#options;
    const origin = fileOffsets || inFile ? (symbolizer?.symbolizer.object.codeOffset ?? 0) : 0;
    const place = address - adjustment - origin;
    return place < 0 ? place + 2 ** 64 : place;
  }

  /**
   * Returns the symbolizer of a file or of the object with a build id, or the reason why there is none, in
   * llvm-symbolizer's words.
   */
  #symbolizerOf(module: string, buildId?: string): FileSymbolizer | string {
    let symbolizer = this.#symbolizers.get(module);
    if (symbolizer === undefined) {
      try {
        symbolizer = loadSymbolizer(
          buildId === undefined ? module : findByBuildId(buildId, this.#options.symbolizer.finder),
          this.#options.symbolizer,
        );
      } catch (error) {
        if (!(error instanceof UserError)) throw error;
        this.#complaints.push(error.message);
        if (buildId !== undefined) symbolizer = "could not find build ID";
        else if (existsSync(module)) symbolizer = "The file was not recognized as a valid object file";
        else symbolizer = "No such file or directory";
      }
      this.#symbolizers.set(module, symbolizer);
    }
    return symbolizer;
  }
}

function findByBuildId(buildId: string, finder: ObjectFinder | undefined): LoadedObject {
  const found = (finder ?? new ObjectFinder()).findByBuildId(buildId);
  if (found === undefined) throw new UserError(`no object with the build id ${buildId} was found`);
  return found;
}

/**
 * Returns the source locations of a symbol's name, each for its first instruction or one behind it that still
 * belongs to it. Like llvm-symbolizer, leaves out locations without a source file.
 */
function placesOf({ symbolizer }: FileSymbolizer, symbol: string, offset: number): Frame[] {
  const places: Frame[] = [];
  for (const { name, address, size } of symbolizer.object.symbols()) {
    if (name !== symbol) continue;
    const place = symbolizer.place(offset < size ? address + offset : address);
    if (place.file !== undefined) places.push(place);
  }
  return places;
}

function hasSymbol({ symbolizer }: FileSymbolizer, name: string): boolean {
  for (const symbol of symbolizer.object.symbols()) if (symbol.name === name) return true;
  return false;
}

/** Returns a function that reads each source once; undefined for a missing file. */
function createSourceReader(): (file: string) => readonly string[] | undefined {
  const sources = new Map<string, readonly string[] | undefined>();
  return (file) => {
    if (!sources.has(file))
      try {
        sources.set(file, readRegular(file).toString().replace(/\n$/, "").split("\n"));
      } catch {
        sources.set(file, undefined);
      }
    return sources.get(file);
  };
}

interface InputLine {
  readonly command: "CODE" | "DATA" | "FRAME";
  readonly file?: string;
  /** Build id of an object, in hexadecimal, in place of a file. */
  readonly buildId?: string;
  /** An address. A line without an address and a symbol has no answer. */
  readonly address?: number;
  /** The address in hexadecimal if a number cannot hold it exactly. */
  readonly exactAddress?: string;
  readonly symbol?: string;
  readonly offset: number;
  /** True if the address is an offset in the file of a wasm module, from a stack trace of an engine. */
  readonly inFile?: boolean;
}

const COMMAND = /^(CODE|DATA|FRAME)(?=\s)/;
/** Address with few enough digits for an exact number. */
const PLAIN_ADDRESS = /^0x[0-9a-fA-F]{1,13}$/;
/** Frames in wasm in stack traces of V8 and SpiderMonkey, of wasmtime, and of Wasmer. */
const TRACES: readonly RegExp[] = [
  /:wasm-function\[\d+\]:(0x[0-9a-f]{1,13})\)?\s*$/i,
  /^\s*\d+:\s+(0x[0-9a-f]{1,13}) - \S/i,
  /^\s*at .*\[\d+\]:(0x[0-9a-f]{1,13})\)\s*$/i,
];
const PREFIXES = /^(?:(?:FILE|BUILDID):\s*)*/;
const NAME = /^(?:"([^"]*)"|'([^']*)'|([^\s"']\S*))/;

/**
 * Parses `[CODE|DATA|FRAME] [[FILE:]FILE|BUILDID:ID] ADDRESS` or `… SYMBOL[+OFFSET]`. An unreadable line has
 * neither an address nor a symbol. With a file, frames in wasm of an engine's stack trace are parsed as well.
 *
 * @param hasFile true if `--binary` names the file, so lines do not
 */
export function parseInputLine(line: string, hasFile: boolean): InputLine {
  // Fast path for the most frequent form.
  if (hasFile && PLAIN_ADDRESS.test(line)) return { command: "CODE", address: Number(line), offset: 0 };
  const inTrace = hasFile ? traceAddress(line) : undefined;
  if (inTrace !== undefined) return { command: "CODE", address: inTrace, offset: 0, inFile: true };
  let rest = line.trimStart();
  const givenCommand = COMMAND.exec(rest)?.[1] as InputLine["command"] | undefined;
  const command = givenCommand ?? "CODE";
  rest = rest.slice(givenCommand?.length ?? 0).trim();
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

/** Returns a build id in lower case, as whole bytes; undefined if the text is not hexadecimal. */
export function parseBuildId(text: string): string | undefined {
  if (!/^[0-9a-fA-F]+$/.test(text)) return undefined;
  return `${text.length % 2 === 0 ? "" : "0"}${text.toLowerCase()}`;
}

/** Parses an address or a symbol after the file; the rest of the line is ignored. */
function placeOf(text: string, parsed: Pick<InputLine, "command" | "file" | "buildId">): InputLine {
  const place = /^\S*/.exec(text)![0];
  if (place === "") return { ...parsed, offset: 0 };
  const address = parseAddress(place);
  if (address !== undefined) {
    const exact = address > Number.MAX_SAFE_INTEGER ? BigInt(place) : undefined;
    if (exact === undefined) return { ...parsed, address, offset: 0 };
    if (exact < 2n ** 64n) return { ...parsed, address, exactAddress: `0x${exact.toString(16)}`, offset: 0 };
  }
  if (/^\d/.test(place)) return { ...parsed, offset: 0 };
  const plus = place.lastIndexOf("+");
  const offset = plus > 0 ? parseAddress(place.slice(plus + 1)) : undefined;
  const symbol = offset === undefined ? place : place.slice(0, plus);
  return { ...parsed, symbol, offset: offset ?? 0 };
}

/** Parses a number in C syntax (hexadecimal, binary, octal or decimal); undefined for anything else. */
export function parseAddress(text: string): number | undefined {
  if (/^0[xX][0-9a-fA-F]+$/.test(text) || /^(0|[1-9][0-9]*)$/.test(text)) return Number(text);
  if (/^0[bB][01]+$/.test(text)) return Number(text);
  const octal = /^0[oO]?([0-7]+)$/.exec(text);
  return octal === null ? undefined : Number.parseInt(octal[1]!, 8);
}

/** Format of the output: llvm-symbolizer's own, addr2line's, or JSON. */
export type OutputStyle = "LLVM" | "GNU" | "JSON";

export interface OutputOptions {
  readonly style: OutputStyle;
  readonly printFunctions: boolean;
  readonly printAddress: boolean;
  readonly pretty: boolean;
  readonly verbose: boolean;
  /** File name for a function's start if it is unknown. */
  readonly unknownStart: string;
  /** Lines of source around each location, 0 for none; `sourceOf` reads them. */
  readonly contextLines: number;
  readonly sourceOf: (file: string) => readonly string[] | undefined;
}

interface Request {
  readonly module: string;
  /** Hexadecimal; undefined if the line has no address. */
  readonly address?: string;
  readonly symbol?: string;
}

const UNKNOWN: Frame = { line: 0, column: 0, discriminator: 0, startLine: 0, inlined: false };

export function formatFrames(request: Request, frames: readonly Frame[], options: OutputOptions): string {
  if (options.style === "JSON") return `${jsonOfFrames(request, frames)}`;
  let text = formatHeader(request, options);
  if (frames.length === 0) text += formatFrame(UNKNOWN, false, options);
  for (let index = 0; index < frames.length; index++) text += formatFrame(frames[index]!, index > 0, options);
  return text + footerOf(options);
}

/** Returns the answer for the data at an address: its declaration in the debug information, or its symbol. */
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

function formatSymbol(request: Request, places: readonly Frame[], options: OutputOptions): string {
  if (options.style === "JSON") {
    const locations = places.map(jsonOfFrame).join(",");
    return `{"Loc":[${locations}],"ModuleName":${JSON.stringify(request.module)}${symbolMember(request)}}`;
  }
  const shownPlaces = places.length === 0 ? [UNKNOWN] : places;
  return shownPlaces.map((place) => formatFrame(place, false, options)).join("") + footerOf(options);
}

/** Returns the JSON answer if there is no object to search. */
function formatError(request: Request, message: string): string {
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

/** Returns the lines around a location, with a mark at its own line. */
function formatContext({ file, line }: Frame, { contextLines, sourceOf }: OutputOptions): string {
  if (contextLines <= 0 || file === undefined) return "";
  const source = sourceOf(file);
  if (source === undefined) return "";
  const first = Math.max(1, line - Math.floor(contextLines / 2));
  const last = Math.min(source.length, first + contextLines - 1);
  // llvm-symbolizer rounds the logarithm up, so 100 counts as two digits wide.
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
  const shownFrames = frames.length === 0 ? [UNKNOWN] : frames;
  const symbols = shownFrames.map(jsonOfFrame).join(",");
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

function hex(value: number): string {
  return `0x${value.toString(16)}`;
}
