import type { Command } from "commander";
import { runSymbolize, SYMBOLIZE_OPTIONS, type SymbolizeOptions } from "../symbolize/options.ts";
import { addOptions } from "./add-options.ts";

const EXAMPLES = `
Examples:
  memshade symbolize --binary app.wasm 0x1a2b 0x2c3d
      places in the code section of a module
  memshade symbolize --binary app.wasm --file-offsets 0x1f00
      offsets in the file, as stack traces of engines have them
  memshade symbolize --binary app.wasm -p < trace.txt
      a stack trace of V8, SpiderMonkey, wasmtime or Wasmer, as it is
  memshade symbolize --binary ./server --json 0x401136
  memshade symbolize --binary ./server --path-map /build=src - < addresses.txt
  memshade symbolize --binary ./server
      answers each line of standard input as it comes

Options and output are those of llvm-symbolizer; docs/symbolize.md lists the
differences.`;

export function addSymbolizeCommand(program: Command): void {
  const command = program
    .command("symbolize")
    .summary("print the functions, files and lines of addresses")
    .description(
      "Prints the functions (inlined ones too), files and lines of addresses in wasm modules and ELF files. In wasm, an " +
        "address is an offset in the code section.",
    )
    .argument("[address...]", "addresses or names of symbols; - or none: one per line of standard input");
  addOptions(command, SYMBOLIZE_OPTIONS);
  command
    .addHelpText("after", EXAMPLES)
    .action((addresses: string[], options: SymbolizeOptions) => runSymbolize(addresses, options));
}
