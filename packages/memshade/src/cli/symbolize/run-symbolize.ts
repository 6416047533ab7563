import { isatty } from "node:tty";
import { DEFAULT_DEBUG_DIRECTORIES } from "../../code/objects/debug-files.ts";
import { UserError } from "../../ground/bytes/errors.ts";
import { loadDemangler } from "../../names/load/demangler.ts";
import { ObjectFinder } from "../../names/load/objects.ts";
import type { FileSymbolizerOptions } from "../../names/load/symbolizer.ts";
import { say } from "../../record/host/run/terminal-line.ts";
import { forEachInputLine, OutputBuffer, writeOutput } from "../line-input.ts";
import type { SymbolizeOptions } from "./options.ts";
import { parseInputLine } from "./requests.ts";
import { Symbolization } from "./symbolization.ts";

const BINARY_MISSING =
  "the file that the addresses are in is missing: memshade symbolize --binary app.wasm 0x1a2b";

/** Whether a line of input names a file and a place in it. */
function namesPlace(line: string): boolean {
  const { file, buildId, address, symbol } = parseInputLine(line, false);
  return (file ?? buildId) !== undefined && (address ?? symbol) !== undefined;
}

/**
 * Answers the addresses of the arguments, or of standard input where there are none.
 *
 * @throws UserError for mistakes of the user
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
    // Somebody waits for an answer that no line could get.
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
