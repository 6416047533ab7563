import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newFolder } from "./support/command-line.ts";

const COMMAND = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const PROGRAM = fileURLToPath(new URL("../fixtures/programs/allocation/lifecycle.wasm", import.meta.url));
const SESSIONS = fileURLToPath(new URL("../fixtures/planted/c/growing-sessions.wasm", import.meta.url));

const client = new Client({ name: "test", version: "1.0.0" });
let cwd: string;
beforeAll(async () => {
  cwd = newFolder();
  copyFileSync(PROGRAM, join(cwd, "lifecycle.wasm"));
  copyFileSync(SESSIONS, join(cwd, "sessions.wasm"));
  const args = ["--no-warnings", COMMAND, "mcp"];
  await client.connect(new StdioClientTransport({ command: process.execPath, args, cwd, stderr: "inherit" }));
});
afterAll(() => client.close());

/** Calls a tool. The client itself compares the answer with the tool's output schema. */
async function call(name: string, args: Record<string, unknown> = {}): Promise<Record<string, unknown>> {
  const { structuredContent, content, isError } = await client.callTool({ name, arguments: args });
  const [{ text }] = content as [{ text: string }];
  expect(text.length).toBeLessThanOrEqual(8192);
  if (isError === true) return { isError, ...JSON.parse(text) };
  expect(JSON.parse(text)).toEqual(structuredContent);
  return structuredContent as Record<string, unknown>;
}

describe("memshade mcp", () => {
  it("lists its tools, each with the form of its answer", async () => {
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      "record",
      "findings",
      "explain",
      "top",
      "retainers",
      "tree",
      "source",
      "diff",
    ]);
    for (const { outputSchema, description } of tools) {
      expect(outputSchema?.type).toBe("object");
      expect(description).not.toBe("");
    }
  });

  it("records a program, and answers who holds the memory", async () => {
    const recorded = await call("record", { command: ["lifecycle.wasm"] });
    expect(recorded).toMatchObject({ exitCode: 0, findings: [{ kind: "churn" }] });
    const { run } = recorded;
    const { rows } = (await call("top", { run, by: "left" })) as {
      rows: { value: number; place: unknown }[];
    };
    expect(rows[0]!.value).toBeGreaterThan(0);
    expect(await call("findings", { run })).toMatchObject({ run, findings: [{ kind: "churn" }] });
    expect(await call("tree", { run, by: "left" })).toMatchObject({ schema: "memshade-tree" });
    expect(await call("source", { run })).toMatchObject({ tool: "heap" });
    const again = await call("record", { command: ["lifecycle.wasm"], tool: "heap" });
    expect(await call("diff", { old: run, new: again.run })).toMatchObject({ schema: "memshade-diff" });
    expect(await call("explain", { word: "churn" })).toMatchObject({ text: /freed/ });
  });

  it("answers who holds the live blocks of a recorded run", async () => {
    const { run } = await call("record", { command: ["sessions.wasm"] });
    const held = await call("retainers", { run, site: "session_of" });
    expect(held).toMatchObject({
      bytes: 384_000,
      places: [
        {
          place: { function: "session_of", line: 27 },
          blocks: 3000,
          paths: [{ root: { kind: "static", name: "table" }, holders: [], falls: 384_000 }],
        },
      ],
    });
  });

  it.each([
    ["findings", { run: "nowhere" }, "nowhere"],
    ["findings", { run: 7 }, "the argument 'run' must be a string"],
    ["findings", { runs: "x" }, "there is no argument 'runs': run"],
    ["explain", {}, "the argument 'word' is missing"],
    ["record", { command: [] }, "the argument 'command' must be a list of texts"],
    ["record", { command: ["--help"] }, "--help"],
    ["top", { by: "colour" }, "colour"],
    ["retainers", { site: "nobody" }, 'no place with live blocks contains "nobody"'],
    ["guess", {}, "there is no tool 'guess'"],
  ])("says what is wrong with %s %j", async (name, args, message) => {
    const failed = (await call(name, args)) as { error: { message: string } };
    expect(failed).toMatchObject({ isError: true, error: { kind: "user-error" } });
    expect(failed.error.message).toContain(message);
    expect(failed.error.message).not.toContain("\n    at ");
  });
});
