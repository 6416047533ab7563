import { Command, type Option } from "commander";
import { UserError } from "../ground/bytes/errors.ts";
import { quoteForShell } from "../profile/model/shell-words.ts";
import { MEMSHADE_VERSION } from "../profile/model/version.ts";
import { verbFor } from "./kind-of-program.ts";
import { endWithReader, hideStandardStreams } from "./standard-streams.ts";

/** Names in the help for arguments and values that are files, folders or pages. */
const NAMES: ReadonlySet<string> = new Set(
  "run old new file input in.wasm out.wasm program script.js url store dir exe path host[::guest".split(" "),
);

/** `show` fails in the words of the tool that it stands for. */
const WITH_WORDS_OF_OTHERS: readonly string[] = ["show"];

/**
 * A name is empty where the shell knows no variable of it: whoever reads files would complain of one without a name.
 *
 * @throws UserError for the first empty one
 */
function refuseEmptyNames(command: Command): void {
  if (WITH_WORDS_OF_OTHERS.includes(command.name())) return;
  for (const [index, argument] of command.registeredArguments.entries())
    if (NAMES.has(argument.name()) && isEmpty(command.processedArgs[index]))
      throw new UserError(`the argument <${argument.name()}> is "", which names nothing`);
  for (const option of command.options)
    if (NAMES.has(valueNameOf(option)) && isEmpty(command.getOptionValue(option.attributeName())))
      throw new UserError(`${option.long ?? option.short} is "", which names nothing`);
}

function isEmpty(given: unknown): boolean {
  return given === "" || (Array.isArray(given) && given.includes(""));
}

function valueNameOf({ flags }: Option): string {
  return /[<[]([^>\]]+)/.exec(flags)?.[1] ?? "";
}

const EXAMPLES = `
Examples:
  memshade demo                    profile a small program that comes along
  memshade run program.wasm        profile a WASI program
  memshade node app.js             profile the modules of a Node program
  memshade browser localhost:5173  profile those of a web page
  memshade report                  see what the newest run recorded
  memshade tree --by left          see from where what is left was allocated

memshade VERB --help tells more about a command.`;

/** Adds a command to the program. */
type AddCommand = (program: Command) => void;

type LoadCommand = () => Promise<AddCommand>;

/** The commands by what they do, in the order of the help. A start loads the asked one alone: most of the time is loading. */
const GROUPS: Readonly<Record<string, Readonly<Record<string, LoadCommand>>>> = {
  "Record:": {
    run: async () => (await import("./commands/run.ts")).addRunCommand,
    node: async () => (await import("./commands/node.ts")).addNodeCommand,
    browser: async () => (await import("./commands/pages.ts")).addBrowserCommand,
    demo: async () => (await import("./commands/demo.ts")).addDemoCommand,
    instrument: async () => (await import("./commands/pages.ts")).addInstrumentCommand,
  },
  "Look:": {
    report: async () => (await import("./commands/reading.ts")).addReportCommand,
    view: async () => (await import("./commands/view.ts")).addViewCommand,
    top: async () => (await import("./commands/reading.ts")).addTopCommand,
    tree: async () => (await import("./commands/reading.ts")).addTreeCommand,
  },
  "Compare and gate:": {
    diff: async () => (await import("./commands/reading.ts")).addDiffCommand,
    check: async () => (await import("./commands/check.ts")).addCheckCommand,
  },
  "Take elsewhere:": {
    export: async () => (await import("./commands/export.ts")).addExportCommand,
    "waste-print": async () => (await import("./commands/reading.ts")).addWastePrintCommand,
  },
  "Many runs:": {
    store: async () => (await import("./commands/store.ts")).addStoreCommand,
  },
  "MemProf:": {
    merge: async () => (await import("./commands/merge.ts")).addMergeCommand,
    show: async () => (await import("./commands/show.ts")).addShowCommand,
  },
  "Native files:": {
    unwind: async () => (await import("./commands/unwind.ts")).addUnwindCommand,
    symbolize: async () => (await import("./commands/symbolize.ts")).addSymbolizeCommand,
  },
  "Help:": {
    explain: async () => (await import("./commands/explain.ts")).addExplainCommand,
  },
};

const COMMANDS = new Map(
  Object.entries(GROUPS).flatMap(([group, commands]) =>
    Object.entries(commands).map(([verb, load]) => [verb, { group, load }] as const),
  ),
);

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
    .addHelpCommand(
      new Command("help").argument("[verb]").helpGroup("Help:").description("print the help of a command"),
    )
    // Terms with all arguments would leave too little room for what is said of them.
    .configureHelp({ subcommandTerm: (command) => command.name() })
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ outputError: () => {}, writeOut: print })
    .addHelpText("after", EXAMPLES);
  const [verb, about] = args;
  if (verb === "help" && about !== undefined && about !== "help" && !COMMANDS.has(about))
    throw new UserError(unknownCommand(about));
  const asked = COMMANDS.get(verb ?? "");
  for (const { group, load } of asked === undefined ? COMMANDS.values() : [asked]) {
    const add = await load();
    program.commandsGroup(group);
    add(program);
  }
  program.hook("preAction", (_program, command) => {
    if (RUNNING_COMMANDS.includes(command.name())) hideStandardStreams();
    else endWithReader();
    refuseEmptyNames(command);
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
