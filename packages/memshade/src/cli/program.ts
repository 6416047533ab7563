import { Command, Help, type Option } from "commander";
import { UserError } from "../ground/bytes/errors.ts";
import { quoteForShell } from "../profile/model/shell-words.ts";
import { MEMSHADE_VERSION } from "../profile/model/version.ts";
import { verbFor } from "./kind-of-program.ts";
import { endWithReader, hideStandardStreams } from "./standard-streams.ts";

/** Names of arguments and values in the help that are files, folders or pages. */
const NAMES: ReadonlySet<string> = new Set(
  "run old new file input in.wasm out.wasm program script.js url store dir exe path host[::guest".split(" "),
);

/** Commands whose errors follow another tool's wording. */
const WITH_WORDS_OF_OTHERS: readonly string[] = ["show"];

/**
 * Rejects empty names, which come from undefined shell variables. Errors of the file system would not show
 * the cause.
 *
 * @throws UserError for the first empty one
 */
function refuseEmptyNames(command: Command): void {
  if (WITH_WORDS_OF_OTHERS.includes(command.name())) return;
  for (const [index, argument] of command.registeredArguments.entries())
    if (NAMES.has(argument.name()) && isEmpty(command.processedArgs[index]))
      throw new UserError(`the argument <${argument.name()}> is empty`);
  for (const option of command.options)
    if (NAMES.has(valueNameOf(option)) && isEmpty(command.getOptionValue(option.attributeName())))
      throw new UserError(`the value of ${option.long ?? option.short} is empty`);
}

function isEmpty(value: unknown): boolean {
  return value === "" || (Array.isArray(value) && value.includes(""));
}

function valueNameOf({ flags }: Option): string {
  return /[<[]([^>\]]+)/.exec(flags)?.[1] ?? "";
}

const EXAMPLES = `
Examples:
  memshade demo                    profile the demo program
  memshade run program.wasm        profile a WASI program
  memshade node app.js             profile the modules of a Node program
  memshade browser localhost:5173  profile the modules of a web page
  memshade report                  show the report of the newest run
  memshade tree --by left          show which calls allocated the memory that is
                                   live at the end

memshade COMMAND --help shows the options of a command.`;

type AddCommand = (program: Command) => void;

type LoadCommand = () => Promise<AddCommand>;

/**
 * Commands by group, in the order of the help. Only the requested command is loaded, because loading is most
 * of the start time.
 */
const GROUPS: Readonly<Record<string, Readonly<Record<string, LoadCommand>>>> = {
  "Record:": {
    run: async () => (await import("./commands/run.ts")).addRunCommand,
    node: async () => (await import("./commands/node.ts")).addNodeCommand,
    browser: async () => (await import("./commands/pages.ts")).addBrowserCommand,
    demo: async () => (await import("./commands/demo.ts")).addDemoCommand,
    instrument: async () => (await import("./commands/pages.ts")).addInstrumentCommand,
  },
  "Show:": {
    report: async () => (await import("./commands/reading.ts")).addReportCommand,
    view: async () => (await import("./commands/view.ts")).addViewCommand,
    top: async () => (await import("./commands/reading.ts")).addTopCommand,
    tree: async () => (await import("./commands/reading.ts")).addTreeCommand,
    retainers: async () => (await import("./commands/reading.ts")).addRetainersCommand,
  },
  "Compare and check:": {
    diff: async () => (await import("./commands/reading.ts")).addDiffCommand,
    check: async () => (await import("./commands/check.ts")).addCheckCommand,
  },
  "Export:": {
    export: async () => (await import("./commands/export.ts")).addExportCommand,
    "waste-print": async () => (await import("./commands/reading.ts")).addWastePrintCommand,
  },
  "For agents:": {
    mcp: async () => (await import("./commands/mcp.ts")).addMcpCommand,
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
  "Cache:": {
    cache: async () => (await import("./commands/cache.ts")).addCacheCommand,
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

/** Commands that give their standard streams to a program. */
const RUNNING_COMMANDS = ["run", "node", "demo"];

/**
 * Creates the command line: with the command that `args` names, or with all commands if it names none. Errors
 * are thrown as one line each.
 */
export async function createProgram(args: readonly string[]): Promise<Command> {
  const program = new Command("memshade")
    .description(
      "Memory profiler for WebAssembly and native Linux programs: shows which code allocates, leaks and wastes memory.",
    )
    .version(MEMSHADE_VERSION, "-V, --version", "print the version")
    .helpOption("-h, --help", "print this help")
    .addHelpCommand(
      new Command("help").argument("[verb]").helpGroup("Help:").description("print the help of a command"),
    )
    // Arguments are left out of the terms to leave room for the descriptions.
    .configureHelp({ subcommandTerm: (command) => command.name(), optionDescription: withoutEmptyDefault })
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({ outputError: () => {}, writeOut: print })
    .addHelpText("after", EXAMPLES);
  const [verb, about] = args;
  if (verb === "help" && about !== undefined && about !== "help" && !COMMANDS.has(about))
    throw new UserError(unknownCommand(about));
  const requested = COMMANDS.get(verb ?? "");
  for (const { group, load } of requested === undefined ? COMMANDS.values() : [requested]) {
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

function withoutEmptyDefault(this: Help, option: Option): string {
  return Help.prototype.optionDescription.call(this, option).replace(" (default: [])", "");
}

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
