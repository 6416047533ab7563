import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";

const MEMSHADE = fileURLToPath(new URL("../../bin/memshade.js", import.meta.url));
const isBuilt = existsSync(fileURLToPath(new URL("../../dist/main.js", import.meta.url)));
if (!isBuilt) console.warn("SKIPPED: the package is not built: its command does not start");
const isNative = process.platform === "linux" && process.arch === "x64";
if (!isNative) console.warn("SKIPPED: this is not x86-64 Linux: no native program is recorded");

describe.skipIf(!isBuilt || !isNative)("the first moments of a run", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-first-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  /** Starts the command, and sends it a signal while only its first lines have run. */
  function signalled(signal: string, ...args: string[]) {
    writeFileSync(
      join(folder, "signal.cjs"),
      `process.nextTick(() => process.kill(process.pid, ${JSON.stringify(signal)}));\n`,
    );
    return spawnSync(process.execPath, ["--require", "./signal.cjs", MEMSHADE, ...args], {
      cwd: folder,
      encoding: "utf8",
      env: { ...process.env, TMPDIR: folder },
      timeout: 100_000,
    });
  }

  it.each([[["run", "--quiet", "--out", "run", "--", "/bin/echo", "ran"]], [["node", "--quiet", "ran.cjs"]]])(
    "survive a signal that asks for a dump: %s",
    (args) => {
      writeFileSync(join(folder, "ran.cjs"), 'console.log("ran")\n');
      const { status, signal, stdout } = signalled("SIGUSR2", ...args);
      expect({ status, signal, stdout }).toEqual({ status: 0, signal: null, stdout: "ran\n" });
    },
  );

  it.each(["SIGINT", "SIGTERM", "SIGHUP"])("are the last ones at %s, of which nothing is left", (name) => {
    const { signal } = signalled(name, "run", "--out", "ended", "--", "/bin/echo", "ran");
    expect(signal).toBe(name);
    expect(readdirSync(folder).filter((entry) => /ended|^memshade-/.test(entry))).toEqual([]);
  });

  const SHOP = fileURLToPath(new URL("../../demo/shop.wasm", import.meta.url));
  const NATIVE = ["alloc", "heap", "waste", "workingset"].map((tool) => [tool, "/bin/echo"]);
  const OF_WASM = ["heap", "waste", "workingset"].map((tool) => [tool, SHOP]);

  it.each([...NATIVE, ...OF_WASM])("end with a line at a signal: %s of %s", (tool, program) => {
    writeFileSync(
      join(folder, "listened.cjs"),
      `process.once("newListener", function look(name) {
         if (name !== "SIGTERM") return process.once("newListener", look);
         queueMicrotask(() => process.kill(process.pid, name));
       });`,
    );
    const { signal, stderr, stdout } = spawnSync(
      process.execPath,
      ["--require", "./listened.cjs", MEMSHADE, "run", "--tool", tool!, "--out", "ended", "--", program!],
      { cwd: folder, encoding: "utf8", env: { ...process.env, TMPDIR: folder }, timeout: 100_000 },
    );
    expect({ signal, stdout, stderr }).toEqual({
      signal: "SIGTERM",
      stdout: "",
      stderr: "memshade: ended by SIGTERM before anything was recorded\n",
    });
    expect(readdirSync(folder).filter((entry) => /ended|^memshade-/.test(entry))).toEqual([]);
  });

  /** Runs a program with only the standard streams open, under a limit. */
  function limited(limit: string, program: string) {
    const close = `for fd in /proc/$$/fd/*; do [ "\${fd##*/}" -le 2 ] || eval "exec \${fd##*/}>&-"; done`;
    const command = `${close}; ulimit ${limit}; exec "$0" run --quiet --out run -- ${program}`;
    const { status, stdout, stderr } = spawnSync("bash", ["-c", command, MEMSHADE], {
      cwd: folder,
      encoding: "utf8",
    });
    return { status, stdout, stderr };
  }

  it.each([
    ["-n 11", "the limit ulimit -n is 11 open files, and memshade needs 60; raise it"],
    ["-n 20", "the limit ulimit -n is 20 open files, and memshade needs 60; raise it"],
    ["-v 500000", "the limit ulimit -v is 500000 KiB of addresses, and memshade needs 2500000; raise it"],
  ])("end with a line where Node could not start: ulimit %s", (limit, line) => {
    expect(limited(limit, "/bin/echo ran")).toEqual({
      status: 2,
      stdout: "",
      stderr: `memshade: ${line}\n`,
    });
  });

  it("raise a limit of open files that may be raised, but not for the program", () => {
    expect(limited("-Sn 11", "sh -c 'ulimit -Sn'")).toEqual({ status: 0, stdout: "11\n", stderr: "" });
  });

  it("hand on more arguments than a variable may have bytes, and end with a line where there are too many", () => {
    writeFileSync(
      join(folder, "count.cjs"),
      'console.log(process.argv.slice(2).map((one) => one.length).join(" "))\n',
    );
    const started = (...args: string[]) =>
      spawnSync(MEMSHADE, ["node", "--out", "run", ...args], {
        cwd: folder,
        encoding: "utf8",
        timeout: 60_000,
      });
    const long = "x".repeat(100_000);
    expect(started("count.cjs", long, long, long)).toMatchObject({
      status: 0,
      stdout: "100000 100000 100000\n",
    });
    // The hook gets its options in one environment variable, which is limited to 128 KiB.
    expect(started("--allocator", `malloc=${"x".repeat(131_000)}`, "count.cjs")).toMatchObject({
      status: 2,
      stdout: "",
      stderr: "memshade: cannot start Node: arguments and variables are too long together\n",
    });
  });

  it("leave a module of a script as it is where limits leave no room for the memories that it would get", () => {
    const module = fileURLToPath(
      new URL("../fixtures/programs/allocation/never-freed.stripped.wasm", import.meta.url),
    );
    writeFileSync(
      join(folder, "small.mjs"),
      `import { readFileSync } from "node:fs";
       const small = new WebAssembly.Module(readFileSync(${JSON.stringify(module)}));
       const { exports } = new WebAssembly.Instance(small);
       exports._initialize();
       exports.run();
       console.log("ran");`,
    );
    const command = `ulimit -v 3000000; exec "$0" node --out run small.mjs`;
    const { status, stdout, stderr } = spawnSync("sh", ["-c", command, MEMSHADE], {
      cwd: folder,
      encoding: "utf8",
    });
    expect({ status, stdout }).toEqual({ status: 0, stdout: "ran\n" });
    expect(stderr).toMatch(
      /^memshade: \S+ runs without being profiled: the limit ulimit -v is 3072000000 bytes, .*; raise it\n$/,
    );
  });
});
