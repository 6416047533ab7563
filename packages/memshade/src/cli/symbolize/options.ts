import { isatty } from "node:tty";
import { DEFAULT_DEBUG_DIRECTORIES } from "../../code/objects/debug-files.ts";
import { UserError } from "../../ground/bytes/errors.ts";
import { loadDemangler } from "../../names/load/demangler.ts";
import { ObjectFinder } from "../../names/load/objects.ts";
import type { FileSymbolizerOptions } from "../../names/load/symbolizer.ts";
import { type PathMap, parsePathMap } from "../../names/symbolize/path-map.ts";
import { say } from "../../record/host/run/terminal-line.ts";
import { collect, type OptionDescription } from "../commands/add-options.ts";
import { forEachInputLine, OutputBuffer, writeOutput } from "../line-input.ts";
import { assertPlaces } from "../tool-options.ts";
import {
  type OutputStyle,
  parseAddress,
  parseBuildId,
  parseInputLine,
  Symbolization,
} from "./symbolization.ts";

export interface SymbolizeOptions {
  binary?: string;
  obj?: string;
  exe?: string;
  buildId?: string;
  json?: boolean;
  outputStyle: OutputStyle;
  inlines: boolean;
  inlining?: string | boolean;
  functions: "linkage" | "short" | "none" | true;
  demangle: boolean | string;
  basenames?: boolean;
  relativenames?: boolean;
  addresses?: boolean;
  printAddress?: boolean;
  prettyPrint?: boolean;
  verbose?: boolean;
  printSourceContextLines: number;
  adjustVma: number;
  fileOffsets?: boolean;
  skipLineZero?: boolean;
  dwp?: string;
  debugFileDirectory: string[];
  pathMap: PathMap[];
}

export const SYMBOLIZE_OPTIONS: readonly OptionDescription[] = [
  {
    flags: "-e, --binary <file>",
    description: "the module, executable or library (also --obj, --exe)",
    parse: valueBehindEquals,
  },
  {
    flags: "--build-id <hex>",
    description: "the object with this build id, found in debug directories",
    parse: toBuildId,
  },
  { flags: "--json", description: "write JSON, as --output-style=JSON does" },
  {
    flags: "--output-style <style>",
    description: "LLVM, GNU (as addr2line) or JSON",
    parse: parseStyle,
    initial: "LLVM",
  },
  {
    flags: "-f, --functions [kind]",
    description: "names of functions: linkage, short or none",
    parse: parseFunctions,
    initial: "linkage",
  },
  { flags: "-i, --inlines", description: "show inlined functions", initial: true },
  { flags: "--no-inlines", description: "show one frame per address" },
  { flags: "-C, --demangle [boolean]", description: "show demangled names, as in the source", initial: true },
  { flags: "--no-demangle", description: "show mangled names" },
  { flags: "-s, --basenames", description: "show files without their directories" },
  { flags: "--relativenames", description: "show files relative to the compilation directory" },
  { flags: "-a, --addresses", description: "show the address before each answer" },
  { flags: "-p, --pretty-print", description: "one line per frame" },
  { flags: "-v, --verbose", description: "show all details of each frame" },
  {
    flags: "--print-source-context-lines <N>",
    description: "show lines of the source around each place",
    parse: parseCount,
    initial: 0,
  },
  {
    flags: "--path-map <FROM=TO>",
    description: "replace the start of paths; can be repeated",
    parse: addPathMap,
    initial: [],
  },
  { flags: "--file-offsets", description: "wasm: addresses are offsets in the file" },
  {
    flags: "--adjust-vma <offset>",
    description: "subtracted from each address",
    parse: parseOffset,
    initial: 0,
  },
  { flags: "--skip-line-zero", description: "if an address has no line, use the previous line" },
  { flags: "--dwp <file>", description: "package with the split debug information" },
  {
    flags: "--debug-file-directory <dir>",
    description: "folder with separate debug files; can be repeated",
    parse: collect,
    check: assertPlaces("--debug-file-directory"),
    initial: [],
  },
  { flags: "--obj <file>" },
  { flags: "--exe <file>" },
  { flags: "--print-address" },
  { flags: "--inlining [boolean]" },
  // Options of llvm-symbolizer that have no effect here.
  { flags: "--default-arch <arch>" },
  { flags: "--cache-size <bytes>" },
  { flags: "--relative-address" },
  { flags: "--no-untag-addresses" },
  { flags: "--no-debuginfod" },
  { flags: "--disable-gsym" },
];

/** Accepts `-e=FILE` like `-e FILE`. */
function valueBehindEquals(text: string): string {
  return text.startsWith("=") ? text.slice(1) : text;
}

function toBuildId(text: string): string {
  const buildId = parseBuildId(text);
  if (buildId !== undefined) return buildId;
  throw new UserError(`--build-id is a number in hexadecimal, not ${text}`);
}

function parseStyle(text: string): OutputStyle {
  const style = text.toUpperCase();
  if (style === "LLVM" || style === "GNU" || style === "JSON") return style;
  throw new UserError(`--output-style is LLVM, GNU or JSON, not ${text}`);
}

function parseFunctions(text: string): "linkage" | "short" | "none" {
  const kind = valueBehindEquals(text);
  if (kind === "linkage" || kind === "short" || kind === "none") return kind;
  throw new UserError(`--functions is linkage, short or none, not ${text}`);
}

function parseCount(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 0) return count;
  throw new UserError(`--print-source-context-lines is a number of lines, not ${text}`);
}

function parseOffset(text: string): number {
  const offset = parseAddress(text);
  if (offset !== undefined) return offset;
  throw new UserError(`--adjust-vma is a number, not ${text}`);
}

function addPathMap(text: string, previous: readonly PathMap[]): PathMap[] {
  return [...previous, parsePathMap(text)];
}

const BINARY_MISSING =
  "the file that the addresses are in is missing: memshade symbolize --binary app.wasm 0x1a2b";

/** True if a line of input contains a file and an address or symbol. */
function namesPlace(line: string): boolean {
  const { file, buildId, address, symbol } = parseInputLine(line, false);
  return (file ?? buildId) !== undefined && (address ?? symbol) !== undefined;
}

/**
 * Answers the addresses of the arguments, or of standard input if there are none.
 *
 * @throws UserError for user mistakes
 */
export function runSymbolize(addresses: readonly string[], options: SymbolizeOptions): void {
  const style = options.json ? "JSON" : options.outputStyle;
  const functions = options.functions === true ? "linkage" : options.functions;
  const symbolizerOptions: FileSymbolizerOptions = {
    functions,
    inlines: options.inlines && options.inlining !== "false",
    paths: options.basenames ? "basename" : options.relativenames ? "relative" : "absolute",
    pathMap: options.pathMap,
    skipLineZero: options.skipLineZero ?? false,
    dwp: options.dwp,
    starts: (options.verbose ?? false) || style === "JSON",
    ...(options.demangle === true || options.demangle === "true" ? { demangle: loadDemangler() } : {}),
    finder: new ObjectFinder({
      debugDirectories: [...options.debugFileDirectory, ...DEFAULT_DEBUG_DIRECTORIES],
    }),
  };
  const { buildId, binary = options.obj ?? options.exe } = options;
  if (buildId !== undefined && binary !== undefined)
    throw new UserError("--build-id names an object: give it without --binary");
  const symbolization = new Symbolization({
    binary: buildId?.toUpperCase() ?? binary,
    buildId,
    adjustment: options.adjustVma,
    fileOffsets: options.fileOffsets ?? false,
    symbolizer: symbolizerOptions,
    output: {
      style,
      printFunctions: functions !== "none",
      printAddress: (options.addresses ?? false) || (options.printAddress ?? false),
      pretty: options.prettyPrint ?? false,
      verbose: options.verbose ?? false,
      contextLines: options.printSourceContextLines,
    },
  });
  const hasBinary = (buildId ?? binary) !== undefined;
  const needsBinary = (line: string): boolean => !hasBinary && !namesPlace(line);
  const fromInput = addresses.length === 0 || (addresses.length === 1 && addresses[0] === "-");
  let isBinaryMissing = !hasBinary;
  if (fromInput) {
    // A user at a terminal would wait for an answer that no line can get.
    if (!hasBinary && isatty(0)) throw new UserError(BINARY_MISSING);
    const end = style === "JSON" ? "\n" : "";
    const output = new OutputBuffer();
    forEachInputLine((lines) => {
      for (const line of lines) {
        isBinaryMissing &&= needsBinary(line);
        output.add(symbolization.answer(line) + end);
      }
      output.flush();
    });
    if (isBinaryMissing) throw new UserError(BINARY_MISSING);
  } else {
    if (addresses.some(needsBinary)) throw new UserError(BINARY_MISSING);
    const unknown = addresses.find((address) => symbolization.isUnknown(address));
    if (unknown !== undefined)
      throw new UserError(
        `"${unknown}" is neither an address, such as 0x1a2b, nor the name of a symbol that ${binary ?? "its file"} has`,
      );
    const answers = addresses.map((address) => symbolization.answer(address));
    writeOutput(style === "JSON" ? `[${answers.join(",")}]\n` : answers.join(""));
  }
  for (const sentence of symbolization.complaints()) say(sentence);
}
