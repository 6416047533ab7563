import { Command } from "commander";
import { UserError } from "../bytes/errors.ts";
import { quoteForShell } from "../host/run/terminal-line.ts";
import { MEMSHADE_VERSION } from "../model/version.ts";
import { verbFor } from "./load/kind-of-program.ts";
import { endWithReader, hideStandardStreams } from "./standard-streams.ts";

const EXAMPLES = `
Examples:
  memshade demo                    profile a small program that comes along
  memshade run program.wasm        profile a WASI program
  memshade node app.js             profile the modules of a Node program
  memshade report                  see what the newest run recorded
  memshade top --by leak           rank who left most behind

memshade VERB --help tells more about a command.`;

/** Adds a command to the program. */
type AddCommand = (program: Command) => void;

/** The commands, in the order of the help. A start loads the asked one alone: most of the time is loading. */
const COMMANDS: Readonly<Record<string, () => Promise<AddCommand>>> = {
  run: async () => (await import("./commands/run.ts")).addRunCommand,
  node: async () => (await import("./commands/node.ts")).addNodeCommand,
  demo: async () => (await import("./commands/demo.ts")).addDemoCommand,
  instrument: async () => (await import("./commands/instrument.ts")).addInstrumentCommand,
  report: async () => (await import("./commands/reading.ts")).addReportCommand,
  top: async () => (await import("./commands/reading.ts")).addTopCommand,
  tree: async () => (await import("./commands/reading.ts")).addTreeCommand,
  diff: async () => (await import("./commands/reading.ts")).addDiffCommand,
  export: async () => (await import("./commands/export.ts")).addExportCommand,
  check: async () => (await import("./commands/check.ts")).addCheckCommand,
  merge: async () => (await import("./commands/merge.ts")).addMergeCommand,
  show: async () => (await import("./commands/show.ts")).addShowCommand,
  unwind: async () => (await import("./commands/unwind.ts")).addUnwindCommand,
  symbolize: async () => (await import("./commands/symbolize.ts")).addSymbolizeCommand,
  explain: async () => (await import("./commands/explain.ts")).addExplainCommand,
  "waste-print": async () => (await import("./commands/reading.ts")).addWastePrintCommand,
};

/** Commands that hand their standard streams to a program. */
const RUNNING_COMMANDS = ["run", "node", "demo"];

/**
 * The command line for the arguments `args`: with the command that the first of them names, with all where it names
 * none. Its errors are thrown, as one line each.
 */
export async function createProgram(args: readonly string[]): Promise<Command> {
  const program = new Command("memshade")
    .description("Shows what a program does to its memory.")
    .version(MEMSHADE_VERSION, "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help")
    .helpCommand("help [verb]", "print the help of a command")
    // Terms with all arguments would leave too little room for what is said of them.
    .configureHelp({ subcommandTerm: (command) => command.name() })
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ outputError: () => {}, writeOut: print })
    .addHelpText("after", EXAMPLES);
  const [verb, about] = args;
  if (verb === "help" && about !== undefined && about !== "help" && !Object.hasOwn(COMMANDS, about))
    throw new UserError(unknownCommand(about));
  const asked = Object.hasOwn(COMMANDS, args[0] ?? "") ? COMMANDS[args[0]!] : undefined;
  for (const load of asked === undefined ? Object.values(COMMANDS) : [asked]) {
    const add = await load();
    add(program);
  }
  program.hook("preAction", (_program, command) => {
    if (RUNNING_COMMANDS.includes(command.name())) hideStandardStreams();
    else endWithReader();
  });
  return program;
}

/** What is said of a command that there is not. */
export function unknownCommand(verb: string): string {
  const runner = verbFor(verb);
  const file = quoteForShell(verb);
  const hint =
    runner === undefined ? "memshade --help lists the commands" : `memshade ${runner} ${file} runs this file`;
  return `unknown command '${verb}': ${hint}`;
}

function print(text: string): void {
  endWithReader();
  process.stdout.write(text);
}
