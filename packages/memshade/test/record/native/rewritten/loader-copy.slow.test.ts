import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { SLOW_PATHS } from "../../../../src/record/native/native-tool.ts";
import { loaderCopy, mappedRanges } from "../../../../src/record/native/rewritten/loader-copy.ts";
import {
  LEAST_TABLE_BYTES,
  redirect,
  tableBytesFor,
  withInterpreter,
} from "../../../../src/record/native/rewritten/redirections.ts";
import { REFUSED } from "../../../../src/record/native/start/launcher.ts";

const LINKER = "/lib64/ld-linux-x86-64.so.2";
const isThere = process.platform === "linux" && process.arch === "x64" && existsSync(LINKER);
if (!isThere) console.warn("SKIPPED: there is no dynamic linker of glibc on x86-64 here");

const canBeUnlimited = isThere && spawnSync("sh", ["-c", "ulimit -s unlimited"]).status === 0;
if (!canBeUnlimited) console.warn("SKIPPED: the stack of a process must have a limit here");

const SHADOW = { address: 0x7fff8000, bytes: 2 ** 46 };

describe.skipIf(!isThere)("a copy of the dynamic linker", () => {
  const folder = mkdtempSync(join(tmpdir(), "memshade-loader-"));
  const path = join(folder, "loader");
  const write = (tool: Parameters<typeof loaderCopy>[1]): void =>
    writeFileSync(path, loaderCopy(readFileSync(LINKER), tool), { mode: 0o755 });
  afterAll(() => rmSync(folder, { recursive: true }));

  it("runs programs, with the ranges of a tool mapped at their addresses", () => {
    write({ shadows: [SHADOW], slowPaths: 3 });
    const { stdout, status } = spawnSync(path, ["/bin/cat", "/proc/self/maps"], { encoding: "utf8" });
    expect(status).toBe(0);
    expect(stdout).toContain("7ff00000-7ff01000 rw-p");
    expect(stdout).toContain("7fff8000-40007fff8000 rw-p");
  });

  it.skipIf(!canBeUnlimited)(
    "finds room where a stack without a limit has libraries in the middle of the addresses",
    () => {
      write({ shadows: [SHADOW], slowPaths: 0 });
      const script = 'ulimit -s unlimited; exec "$@"';
      const words = [
        path,
        "/bin/sh",
        "-c",
        'ulimit -s; printf "[%s]" "$@"; cat /proc/self/maps',
        "sh",
        "a b",
        "",
      ];
      const { stdout, stderr, status } = spawnSync("sh", ["-c", script, "sh", ...words], {
        encoding: "utf8",
      });
      expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
      expect(stdout).toMatch(/^unlimited\n\[a b\]\[\]/);
    },
  );

  it("does all else that the original does", () => {
    write({ shadows: [SHADOW], slowPaths: 0 });
    const list = (linker: string): string =>
      spawnSync(linker, ["--list", "/bin/cat"], { encoding: "utf8" }).stdout.replace(/\(0x\w+\)/g, "");
    const listed = list(path).replaceAll(path, LINKER);
    expect(listed).toContain("libc.so.6");
    expect(listed.split("\n")[0]).toBe(list(LINKER).split("\n")[0]);
  });

  it("has its program headers where they were, near its beginning: programs that were packed load it by themselves", () => {
    write({ shadows: [SHADOW], slowPaths: 0 });
    const headersOf = (file: Buffer): number[] => [Number(file.readBigUInt64LE(32)), file.readUInt16LE(56)];
    expect(headersOf(readFileSync(path))).toEqual(headersOf(readFileSync(LINKER)));
  });

  it("ends a process that has no room for them, with a line", () => {
    write({ shadows: [SHADOW], slowPaths: 0 });
    const { stderr, status } = spawnSync("sh", ["-c", `ulimit -v 1000000; exec ${path} /bin/true`], {
      encoding: "utf8",
    });
    expect(status).toBe(REFUSED);
    expect(stderr).toMatch(/^memshade: the access counters cannot be mapped .*ulimit -v.*\n$/);
  });

  it("opens other files in the place of those of a table, by whatever path they are asked for", () => {
    const copy = loaderCopy(readFileSync(LINKER), { shadows: [SHADOW], slowPaths: 0 });
    const [program, other, link] = ["program", "other", "link"].map((name) => join(folder, name));
    copyFileSync("/bin/echo", program);
    copyFileSync("/bin/cat", other);
    symlinkSync("program", link);
    const files = [
      { file: join(folder, "gone"), path: "/bin/cat" },
      { file: "/bin/true", path: join(folder, "never-there") },
      { file: other, path: program },
    ];
    redirect(copy, { files }, LEAST_TABLE_BYTES);
    writeFileSync(path, copy, { mode: 0o755 });
    for (const name of [program, link, "/bin/cat"]) {
      const { stdout } = spawnSync(path, [name, "/proc/self/cmdline"], { encoding: "utf8" });
      // The program is cat, which prints its own arguments.
      expect(stdout).toBe([path, name, "/proc/self/cmdline", ""].join("\0"));
    }
  });

  it("has a table as large as it is to be", () => {
    const paths = Array.from({ length: 400 }, (_, i) => `/tmp/${"long".repeat(20)}-${i}`);
    const files = [...paths.map((file) => ({ file, path: LINKER })), { file: "/bin/cat", path: "/bin/echo" }];
    const bytes = tableBytesFor(files);
    expect(bytes).toBeGreaterThan(400 * 80);
    const copy = loaderCopy(readFileSync(LINKER), { shadows: [SHADOW], slowPaths: 0 }, bytes);
    redirect(copy, { files }, bytes);
    writeFileSync(path, copy, { mode: 0o755 });
    expect(spawnSync(path, ["/bin/echo", "/proc/self/comm"], { encoding: "utf8" }).stdout).toBe("loader\n");
  });

  it("starts a copy of a program, and finds what lies beside the original", () => {
    const [original, copy] = [join(folder, "original"), join(folder, "elsewhere", "copy")];
    mkdirSync(original);
    mkdirSync(join(folder, "elsewhere"));
    const source = join(original, "own.c");
    writeFileSync(source, "int own(void) { return 3; }\n");
    writeFileSync(join(original, "main.c"), "int own(void);\nint main(void) { return own(); }\n");
    const compile = (args: string[]) => spawnSync("gcc", args, { cwd: original, stdio: "inherit" });
    compile(["-shared", "-fPIC", "own.c", "-o", "libown.so"]);
    compile(["main.c", "-o", "main", "-L.", "-lown", "-Wl,-rpath,$ORIGIN"]);
    const linker = loaderCopy(readFileSync(LINKER), { shadows: [SHADOW], slowPaths: 0 });
    redirect(linker, { files: [], link: { file: copy, path: join(original, "main") } }, LEAST_TABLE_BYTES);
    writeFileSync(path, linker, { mode: 0o755 });
    writeFileSync(copy, withInterpreter(readFileSync(join(original, "main")), path), { mode: 0o755 });
    expect(spawnSync(copy).status).toBe(3);
    // If the link is for another file, the linker looks for libraries beside the copy.
    redirect(
      linker,
      { files: [], link: { file: "/another", path: join(original, "main") } },
      LEAST_TABLE_BYTES,
    );
    writeFileSync(path, linker, { mode: 0o755 });
    expect(spawnSync(copy).status).toBe(127);
  });

  it("is not made of one that begins otherwise", () => {
    const file = readFileSync(LINKER);
    const entry = Number(file.readBigUInt64LE(24));
    // jmp to itself: an instruction that cannot be moved
    file.set([0xeb, 0xfe], entry);
    expect(() => loaderCopy(file, { shadows: [], slowPaths: 0 })).toThrow(/first instructions are not known/);
  });
});

describe("the ranges of a tool", () => {
  it("have a page for words in front of them", () => {
    expect(mappedRanges({ shadows: [SHADOW] })).toEqual([{ address: SLOW_PATHS, bytes: 4096 }, SHADOW]);
  });
});
