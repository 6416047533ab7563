import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { memshade, newFolder } from "../cli/support/command-line.ts";

const PROGRAM = fileURLToPath(new URL("../fixtures/programs/allocation/lifecycle.wasm", import.meta.url));

it("questions to a store read nothing of the folder for temporary files", async () => {
  const cwd = newFolder();
  const temporary = join(cwd, "tmp");
  mkdirSync(temporary);
  const secret = join(temporary, "secret.csv");
  writeFileSync(secret, "a,b\n1,2\n");
  const env = { TMPDIR: temporary };
  expect((await memshade(["run", "--out", "run", PROGRAM], { cwd })).code).toBe(0);
  expect((await memshade(["store", "add", "--to", "store", "--build", "b", "run"], { cwd, env })).code).toBe(
    0,
  );
  const runs = await memshade(["store", "query", "store", "select count(*) as n from runs"], { cwd, env });
  expect(runs).toMatchObject({ code: 0 });
  const reach = `select * from read_csv('${secret}')`;
  const refused = await memshade(["store", "query", "store", reach], { cwd, env });
  expect({ code: refused.code, stdout: refused.stdout }).toEqual({ code: 2, stdout: "" });
  expect(refused.stderr).toContain("disabled by configuration");
});

it("a question leaves no folder for temporary files, and removes that of one that was killed", async () => {
  const cwd = newFolder();
  const temporary = join(cwd, "tmp");
  const killed = join(temporary, "memshade-store-killed");
  mkdirSync(killed, { recursive: true });
  writeFileSync(join(killed, "owner"), JSON.stringify({ pid: 4_194_304, host: hostname(), started: "" }));
  expect((await memshade(["run", "--out", "run", PROGRAM], { cwd })).code).toBe(0);
  expect((await memshade(["store", "add", "--to", "store", "--build", "b", "run"], { cwd })).code).toBe(0);
  const query = ["store", "query", "store", "select count(*) as n from runs"];
  expect((await memshade(query, { cwd, env: { TMPDIR: temporary } })).code).toBe(0);
  expect(readdirSync(temporary)).toEqual([]);
});
