import { UserError } from "../../bytes/errors.ts";
import { say } from "../../host/run/terminal-line.ts";
import { loadDemangler } from "../../load/demangler.ts";
import { ObjectFinder } from "../../load/objects.ts";
import type { FileSymbolizerOptions } from "../../load/symbolizer.ts";
import { DEFAULT_DEBUG_DIRECTORIES } from "../../objects/debug-files.ts";
import { demangleItanium } from "../../symbolize/itanium/demangle-itanium.ts";
import { forEachInputLine, OutputBuffer, writeOutput } from "../line-input.ts";
import type { SymbolizeArguments } from "./arguments.ts";
import type { CompilerTiers } from "./compiler-tiers.ts";
import { Symbolization } from "./symbolization.ts";

/** Readable names that are kept: most frames are in functions that were met before. */
const MOST_NAMES = 1 << 14;

/**
 * Answers the addresses of the arguments, or of standard input.
 *
 * @param tiers is told of addresses that come, where the process does nothing else
 * @throws UserError for mistakes of the user
 */
export function runSymbolize({ addresses, options }: SymbolizeArguments, tiers?: CompilerTiers): void {
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
  const fromInput = addresses.length === 0 || (addresses.length === 1 && addresses[0] === "-");
  if (fromInput) {
    const end = style === "JSON" ? "\n" : "";
    const output = new OutputBuffer();
    forEachInputLine((lines) => {
      tiers?.count(lines.length);
      for (const line of lines) output.add(symbolization.answer(line) + end);
      output.flush();
    });
  } else {
    const answers = addresses.map((address) => symbolization.answer(address));
    writeOutput(style === "JSON" ? `[${answers.join(",")}]\n` : answers.join(""));
  }
  for (const sentence of symbolization.complaints()) say(sentence);
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
