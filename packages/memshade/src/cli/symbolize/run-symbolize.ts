import { UserError } from "../../bytes/errors.ts";
import { say } from "../../host/run/terminal-line.ts";
import { loadDemangler } from "../../load/demangler.ts";
import { ObjectFinder } from "../../load/objects.ts";
import type { FileSymbolizerOptions } from "../../load/symbolizer.ts";
import { DEFAULT_DEBUG_DIRECTORIES } from "../../objects/debug-files.ts";
import { forEachInputLine, OutputBuffer, writeOutput } from "../line-input.ts";
import type { SymbolizeOptions } from "./options.ts";
import { Symbolization } from "./symbolization.ts";

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
  const fromInput = addresses.length === 0 || (addresses.length === 1 && addresses[0] === "-");
  if (fromInput) {
    const end = style === "JSON" ? "\n" : "";
    const output = new OutputBuffer();
    forEachInputLine((lines) => {
      for (const line of lines) output.add(symbolization.answer(line) + end);
      output.flush();
    });
  } else {
    const answers = addresses.map((address) => symbolization.answer(address));
    writeOutput(style === "JSON" ? `[${answers.join(",")}]\n` : answers.join(""));
  }
  for (const sentence of symbolization.complaints()) say(sentence);
}
