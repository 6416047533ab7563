import { Command } from "commander";
import { MEMSHADE_VERSION } from "../runtime/host/version.ts";
import { addInstrumentCommand } from "./commands/instrument.ts";
import { addNodeCommand } from "./commands/node.ts";
import { addReportCommand } from "./commands/report.ts";
import { addRunCommand } from "./commands/run.ts";
import { addTopCommand } from "./commands/top.ts";
import { addWastePrintCommand } from "./commands/waste-print.ts";
import { endWithReader, hideStandardStreams } from "./standard-streams.ts";

const EXAMPLES = `
Examples:
  memshade run program.wasm        profile a WASI program
  memshade node app.js             profile the WebAssembly modules of a Node program
  memshade report memshade.out/…   see what was recorded

memshade VERB --help tells more about a command.`;

/** Commands that hand their standard streams to a program. */
const RUNNING_COMMANDS = ["run", "node"];

/** The whole command line. Its errors are thrown, as one line each. */
export function createProgram(): Command {
  const program = new Command("memshade")
    .description("Shows what a program does to its memory.")
    .version(MEMSHADE_VERSION, "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help")
    .helpCommand("help [verb]", "print the help of a command")
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ outputError: () => {}, writeOut: print })
    .addHelpText("after", EXAMPLES);
  for (const add of [
    addRunCommand,
    addNodeCommand,
    addInstrumentCommand,
    addReportCommand,
    addTopCommand,
    addWastePrintCommand,
  ]) {
    add(program);
  }
  program.hook("preAction", (_program, command) => {
    if (RUNNING_COMMANDS.includes(command.name())) hideStandardStreams();
    else endWithReader();
  });
  return program;
}

function print(text: string): void {
  endWithReader();
  process.stdout.write(text);
}
