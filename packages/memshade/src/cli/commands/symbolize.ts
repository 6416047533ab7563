import type { Command } from "commander";
import { UserError } from "../../bytes/errors.ts";
import { DEFAULT_DEBUG_DIRECTORIES } from "../../objects/debug-files.ts";
import { loadDemangler } from "../../report/load-demangler.ts";
import { ObjectFinder } from "../../report/load-objects.ts";
import type { FileSymbolizerOptions } from "../../report/load-symbolizer.ts";
import { parseAddress } from "../../report/symbolizer/requests.ts";
import type { OutputStyle } from "../../report/symbolizer/styles.ts";
import { Symbolization } from "../../report/symbolizer/symbolization.ts";
import { demangleItanium } from "../../symbolize/itanium/demangle-itanium.ts";
import { type PathMap, parsePathMap } from "../../symbolize/path-map.ts";
import { forEachInputLine, writeOutput } from "../line-input.ts";

interface SymbolizeOptions {
  binary?: string;
  obj?: string;
  exe?: string;
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

/** Readable names that are kept: most frames are in functions that were met before. */
const MOST_NAMES = 1 << 14;

const EXAMPLES = `
Examples:
  memshade symbolize --binary app.wasm 0x1a2b 0x2c3d      places in the code section of a module
  memshade symbolize --binary app.wasm --file-offsets 0x1f00   offsets in the file, as stack traces of engines have them
  memshade symbolize --binary ./server --json 0x401136
  memshade symbolize --binary ./server --path-map /build=src - < addresses.txt
  memshade symbolize --binary ./server                    answers each line of standard input as it comes

Options and output are those of llvm-symbolizer; docs/symbolize.md says where the answers differ.`;

/** Adds `memshade symbolize` to the program. Its action throws UserError for mistakes of the user. */
export function addSymbolizeCommand(program: Command): void {
  program
    .command("symbolize")
    .summary("tell functions, files and lines of addresses")
    .description(
      "Tells functions, inlined ones too, files and lines of addresses in wasm modules and ELF files. In wasm, an " +
        "address is an offset in the code section.",
    )
    .argument("[address...]", "addresses or names of symbols; - or none: one per line of standard input")
    .option("-e, --binary <file>", "the module, executable or library (also --obj, --exe)", valueBehindEquals)
    .option("--json", "write JSON, as --output-style=JSON does")
    .option("--output-style <style>", "LLVM, GNU (as addr2line) or JSON", parseStyle, "LLVM")
    .option("-f, --functions [kind]", "names of functions: linkage, short or none", parseFunctions, "linkage")
    .option("-i, --inlines", "show inlined functions", true)
    .option("--no-inlines", "show one frame per address")
    .option("-C, --demangle [boolean]", "show names as in the source", true)
    .option("--no-demangle", "show the linker's names")
    .option("-s, --basenames", "show files without their directories")
    .option("--relativenames", "show files relative to the compilation directory")
    .option("-a, --addresses", "show the address before each answer")
    .option("-p, --pretty-print", "one line per frame")
    .option("-v, --verbose", "show all that is known of each frame")
    .option("--print-source-context-lines <N>", "show lines of the source around each place", parseCount, 0)
    .option("--path-map <FROM=TO>", "replace the start of paths; may be given several times", addPathMap, [])
    .option("--file-offsets", "wasm: addresses are offsets in the file")
    .option("--adjust-vma <offset>", "subtracted from each address", parseOffset, 0)
    .option("--skip-line-zero", "use the line before where a place has none")
    .option("--dwp <file>", "the package with the split debug information")
    .option(
      "--debug-file-directory <dir>",
      "where to look for debug files; may be given several times",
      addText,
      [],
    )
    .addHelpText("after", EXAMPLES)
    .action((addresses: string[], options: SymbolizeOptions) => runSymbolize(addresses, options));
  const command = program.commands.at(-1)!;
  for (const [flags, name] of [
    ["--obj <file>", ""],
    ["--exe <file>", ""],
    ["--print-address", ""],
    ["--inlining [boolean]", ""],
    // What llvm-symbolizer has for files that are not read here, and for what is never done.
    ["--default-arch <arch>", ""],
    ["--cache-size <bytes>", ""],
    ["--relative-address", ""],
    ["--no-untag-addresses", ""],
    ["--no-debuginfod", ""],
    ["--disable-gsym", ""],
  ] as const) {
    const option = command.createOption(flags, name);
    option.hideHelp();
    command.addOption(option);
  }
}

function runSymbolize(addresses: readonly string[], options: SymbolizeOptions): void {
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
    ...(options.demangle === true || options.demangle === "true" ? { demangle: lazyDemangler() } : {}),
    finder: new ObjectFinder({
      debugDirectories: [...options.debugFileDirectory, ...DEFAULT_DEBUG_DIRECTORIES],
    }),
  };
  const symbolization = new Symbolization({
    binary: options.binary ?? options.obj ?? options.exe,
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
  const fromInput = addresses.length === 0 || (addresses.length === 1 && addresses[0] === "-");
  if (fromInput) {
    const end = style === "JSON" ? "\n" : "";
    forEachInputLine((lines) => writeOutput(lines.map((line) => symbolization.answer(line) + end).join("")));
  } else {
    const answers = addresses.map((address) => symbolization.answer(address));
    writeOutput(style === "JSON" ? `[${answers.join(",")}]\n` : answers.join(""));
  }
  for (const sentence of symbolization.complaints()) process.stderr.write(`memshade: ${sentence}\n`);
}

/**
 * C++ names as LLVM writes them, with results and all parameters. The demangler of other names is a wasm module of its
 * own: it is compiled when the first name needs it.
 */
function lazyDemangler(): (name: string) => string {
  const known = new Map<string, string>();
  return (name) => {
    let readable = known.get(name);
    if (readable === undefined) {
      readable = demangleItanium(name) ?? (/^_R|^\?/.test(name) ? demangleOther(name) : name);
      if (known.size >= MOST_NAMES) known.clear();
      known.set(name, readable);
    }
    return readable;
  };
}

/** What compilers append to names of Rust (`.llvm.123`, `.cold`) stands in parentheses behind them. */
function demangleOther(name: string): string {
  const dot = name.startsWith("_R") ? name.indexOf(".") : -1;
  if (dot < 0) return loadDemangler()(name);
  const start = name.slice(0, dot);
  const readable = loadDemangler()(start);
  return readable === start ? name : `${readable} (${name.slice(dot)})`;
}

/** `-e=FILE` is as good as `-e FILE`. */
function valueBehindEquals(text: string): string {
  return text.startsWith("=") ? text.slice(1) : text;
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
  const map = parsePathMap(text);
  if (map === undefined) throw new UserError(`--path-map is FROM=TO, not ${text}`);
  return [...previous, map];
}

function addText(text: string, previous: readonly string[]): string[] {
  return [...previous, text];
}
