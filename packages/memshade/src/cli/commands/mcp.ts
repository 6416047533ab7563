import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { setImmediate } from "node:timers/promises";
import type { CallToolResult, Tool } from "@modelcontextprotocol/sdk/types.js";
import type { Command } from "commander";
import { UserError } from "../../ground/bytes/errors.ts";
import { MEMSHADE_VERSION } from "../../profile/model/version.ts";
import { say } from "../../record/host/run/terminal-line.ts";
import { bounded, jsonText } from "../../show/report/json/text.ts";
import { verbFor } from "../kind-of-program.ts";

const PACKAGE = "@modelcontextprotocol/sdk";
/** Most characters of an answer, which has to fit into the context of a model. */
const MOST_LENGTH = 1 << 13;
/** Most characters of a program's own output in an answer. */
const MOST_OUTPUT = 1000;

const EXAMPLES = `
Examples:
  claude mcp add memshade -- npx memshade mcp
  npx memshade mcp < requests.jsonl      one JSON-RPC message a line

docs/agents.md lists the tools.`;

export function addMcpCommand(program: Command): void {
  program
    .command("mcp")
    .summary("answer coding agents over the Model Context Protocol")
    .description(
      "Records programs and answers questions about runs over the Model Context Protocol, on standard input and output (docs/agents.md).",
    )
    .addHelpText("after", EXAMPLES)
    .action(serve);
}

type Values = Readonly<Record<string, unknown>>;

/** A tool of the protocol, answered by a command of memshade. */
interface CommandTool {
  readonly description: string;
  /** JSON Schema of each argument. */
  readonly arguments: Readonly<Record<string, { readonly type: string; readonly description: string }>>;
  readonly required?: readonly string[];
  /** Schema of the answer: the name of a file of the package, or the schema. */
  readonly answer: string | Readonly<Record<string, unknown>>;
  readonly call: (values: Values) => Promise<object>;
}

const RUN = { type: "string", description: "folder of a run (default: the newest run in memshade.out)" };
const TEXT = { type: "string" };

const TOOLS: Readonly<Record<string, CommandTool>> = {
  record: {
    description:
      "Runs a program (WebAssembly, Node script or native Linux program) and records its memory. The answer has the run's folder and its findings.",
    arguments: {
      command: { type: "array", description: "program and its arguments" },
      tool: {
        type: "string",
        description: "heap, alloc, waste, workingset or several with commas (default: as memshade run)",
      },
    },
    required: ["command"],
    answer: {
      type: "object",
      properties: { run: TEXT, exitCode: { type: "number" }, output: TEXT, findings: { type: "array" } },
      required: ["run", "exitCode", "output", "findings"],
    },
    call: record,
  },
  findings: {
    description: "Findings of a run, the largest first: a sentence, what to do, and the place of each.",
    arguments: { run: RUN },
    answer: "memshade-findings",
    call: ({ run }) => json(["report", "--findings", ...given(run)]),
  },
  explain: {
    description: "Meaning of a word of the findings or reports, and what to try against a finding.",
    arguments: { word: { type: "string", description: "kind of a finding, or another word" } },
    required: ["word"],
    answer: { type: "object", properties: { text: TEXT }, required: ["text"] },
    call: async ({ word }) => ({ text: (await memshade(["explain", ...given(word)])).stdout }),
  },
  top: {
    description:
      "Allocation sites of a run, ranked by a measure: left (who holds what is live at the end), peak, bytes, blocks, accesses, lost, dead …",
    arguments: {
      run: RUN,
      by: { type: "string", description: "measure (default: bytes allocated)" },
      rows: { type: "number", description: "number of sites" },
    },
    answer: "memshade-top",
    call: ({ run, by, rows }) =>
      json(["top", "--json", ...option("--by", by), ...option("--rows", rows), ...given(run)]),
  },
  retainers: {
    description:
      "Who holds the live blocks of a run: for each place that allocated some, paths from a global, a stack or another root to them, and the bytes that fall without these pointers.",
    arguments: {
      run: RUN,
      site: {
        type: "string",
        description: "part of a function's name or of file:line (default: all places)",
      },
      rows: { type: "number", description: "number of places" },
    },
    answer: "memshade-retainers-report",
    call: ({ run, site, rows }) =>
      json(["retainers", "--json", ...option("--site", site), ...option("--rows", rows), ...given(run)]),
  },
  tree: {
    description: "Call tree of a run by a measure, from the outermost functions inwards.",
    arguments: { run: RUN, by: { type: "string", description: "measure (default: bytes allocated)" } },
    answer: "memshade-tree",
    call: ({ run, by }) => json(["tree", "--json", ...option("--by", by), ...given(run)]),
  },
  source: {
    description: "Source lines of a run with the largest numbers of a tool, with their text.",
    arguments: {
      run: RUN,
      tool: { type: "string", description: "heap, waste, workingset or objects (default: heap)" },
    },
    answer: "memshade-source-lines",
    call: ({ run, tool = "heap" }) =>
      json(["report", "--source", "--json", ...option("--tool", tool), ...given(run)]),
  },
  diff: {
    description: "Comparison of two runs of a program by a measure: places that grew or shrank.",
    arguments: {
      old: { type: "string", description: "folder of the older run" },
      new: { type: "string", description: "folder of the newer run" },
      by: { type: "string", description: "measure (default: bytes allocated)" },
    },
    required: ["old", "new"],
    answer: "memshade-diff",
    call: ({ old, new: later, by = "bytes" }) =>
      json(["diff", "--json", ...option("--by", by), ...given(old, later)]),
  },
};

/** Returns words that are no options, whatever they begin with. */
function given(...words: readonly unknown[]): string[] {
  return ["--", ...words.filter((word) => word !== undefined).map(String)];
}

function option(name: string, value: unknown): string[] {
  return value === undefined ? [] : [`${name}=${value}`];
}

async function json(words: readonly string[]): Promise<object> {
  return JSON.parse((await memshade(words)).stdout);
}

async function record({ command, tool }: Values): Promise<object> {
  const [program = "", ...rest] = command as string[];
  const verb = verbFor(program) ?? "run";
  const run = join("memshade.out", `${basename(program)}.${process.pid}.${Date.now().toString(36)}`);
  const words = [verb, "--quiet", `--out=${run}`, ...option("--tool", tool), ...given(program, ...rest)];
  const { code, stdout, stderr } = await start(words);
  const found = (await json(["report", "--findings", ...given(run)]).catch((error: unknown) => {
    throw error instanceof UserError ? new UserError(stderr.trim() || error.message) : error;
  })) as { readonly findings: readonly object[] };
  return { run, exitCode: code, output: `${stdout}${stderr}`.slice(-MOST_OUTPUT), findings: found.findings };
}

/** Runs a command of memshade. @throws UserError if it fails */
async function memshade(words: readonly string[]): Promise<{ stdout: string }> {
  const { code, stdout, stderr } = await start(words);
  if (code !== 0) throw new UserError(stderr.trim().replace(/^memshade: /, ""));
  return { stdout };
}

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function start(words: readonly string[]): Promise<Ended> {
  return new Promise((resolve) => {
    const argv = [...process.execArgv, process.argv[1]!, ...words];
    const child = execFile(process.execPath, argv, { maxBuffer: 1 << 30 }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : 1;
      resolve({ code, stdout, stderr });
    });
    // The program must not read the requests.
    child.stdin?.end();
  });
}

async function serve(): Promise<void> {
  const { Server, StdioServerTransport, types } = await loadSdk();
  const server = new Server({ name: "memshade", version: MEMSHADE_VERSION }, { capabilities: { tools: {} } });
  server.setRequestHandler(types.ListToolsRequestSchema, () => ({
    tools: Object.entries(TOOLS).map(([name, tool]) => describe(name, tool)),
  }));
  const calls = new Set<Promise<unknown>>();
  server.setRequestHandler(types.CallToolRequestSchema, ({ params }) => {
    const call = answer(params.name, params.arguments ?? {});
    calls.add(call);
    return call.finally(() => calls.delete(call));
  });
  server.onerror = ({ message }) => say(message.split("\n")[0]!);
  await server.connect(new StdioServerTransport());
  await new Promise<void>((resolve) => {
    server.onclose = resolve;
    process.stdin.once("end", resolve);
  });
  // Requests that came before the end are answered.
  await setImmediate();
  while (calls.size > 0) await Promise.allSettled(calls);
  await setImmediate();
}

function describe(name: string, tool: CommandTool): Tool {
  const properties = Object.fromEntries(
    Object.entries(tool.arguments).map(([key, schema]) => [
      key,
      schema.type === "array" ? { ...schema, items: TEXT } : schema,
    ]),
  );
  return {
    name,
    description: tool.description,
    inputSchema: { type: "object", properties, required: [...(tool.required ?? [])] },
    outputSchema: (typeof tool.answer === "string"
      ? packagedSchema(tool.answer)
      : tool.answer) as Tool["outputSchema"],
  };
}

/** Returns a schema of the package. Clients know drafts without `prefixItems`, and no other schema by address. */
function packagedSchema(name: string): object {
  const folder = import.meta.url.endsWith(".ts") ? "../../../dist/schemas/" : "schemas/";
  const text = readFileSync(new URL(`${folder}${name}.json`, import.meta.url), "utf8");
  const { $schema: _, ...schema } = JSON.parse(text, (__, value) =>
    value?.prefixItems === undefined ? value : { type: "array" },
  );
  return schema;
}

async function answer(name: string, values: Values): Promise<CallToolResult> {
  try {
    const tool = TOOLS[name];
    if (tool === undefined)
      throw new UserError(`there is no tool '${name}': ${Object.keys(TOOLS).join(", ")}`);
    checkArguments(tool, values);
    const found = bounded(await tool.call(values), MOST_LENGTH) as Record<string, unknown>;
    return { content: [{ type: "text", text: jsonText(found) }], structuredContent: found };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    // Structured content would have to be an answer of the tool.
    const failure = { error: { kind: "user-error", message: error.message } };
    return { isError: true, content: [{ type: "text", text: jsonText(failure) }] };
  }
}

/** @throws UserError for an argument that is missing, unknown or of another type */
function checkArguments(tool: CommandTool, values: Values): void {
  for (const name of tool.required ?? [])
    if (values[name] === undefined) throw new UserError(`the argument '${name}' is missing`);
  for (const [name, value] of Object.entries(values)) {
    const expected = tool.arguments[name]?.type;
    if (expected === undefined)
      throw new UserError(`there is no argument '${name}': ${Object.keys(tool.arguments).join(", ")}`);
    const isRight =
      expected === "array"
        ? Array.isArray(value) && value.length > 0 && value.every((each) => typeof each === "string")
        : typeof value === expected;
    if (!isRight)
      throw new UserError(
        `the argument '${name}' must be ${expected === "array" ? "a list of texts" : `a ${expected}`}`,
      );
  }
}

async function loadSdk() {
  try {
    const [{ Server }, { StdioServerTransport }, types] = await Promise.all([
      import("@modelcontextprotocol/sdk/server/index.js"),
      import("@modelcontextprotocol/sdk/server/stdio.js"),
      import("@modelcontextprotocol/sdk/types.js"),
    ]);
    return { Server, StdioServerTransport, types };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw error;
    throw new UserError(`mcp needs a package: npm install ${PACKAGE}`);
  }
}
