import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { openObject } from "../../../../src/code/objects/index.ts";
import { rewriteFile } from "../../../../src/record/native/rewrite/rewrite-file.ts";
import { canCompile, compileProgram } from "../support/record.ts";
import { poison } from "./support/poison.ts";

const folder = mkdtempSync(join(tmpdir(), "memshade-rewrite-"));
afterAll(() => rmSync(folder, { recursive: true }));

const hasGdb = spawnSync("gdb", ["--version"], { stdio: "ignore" }).status === 0;
if (!hasGdb) console.warn("SKIPPED: gdb is not installed: it walks no rewritten program");

function rewritten(path: string, plan = poison(1)): string {
  const to = `${path}.rewritten`;
  // The program runs with the system's dynamic linker, or with none.
  writeFileSync(to, rewriteFile(readFileSync(path), plan).bytes, { mode: 0o755 });
  return to;
}

function outcome(program: string, args: readonly string[] = []): unknown {
  const { status, signal, stdout } = spawnSync(program, args, { timeout: 20_000, encoding: "utf8" });
  return { status, signal, stdout };
}

function compileAborting(target: string, options: readonly string[]): void {
  const source = join(folder, "aborting.c");
  const code =
    "#include <stdlib.h>\n__attribute__((noinline)) int inner(int n) { if (n) abort(); return n; }\n" +
    "__attribute__((noinline)) int outer(int n) { return inner(n) + 1; }\nint main(int n) { return outer(n) * 3; }\n";
  writeFileSync(source, code);
  const { status } = spawnSync("gcc", ["-g", "-O1", ...options, source, "-o", target]);
  if (status !== 0) throw new Error("gcc failed");
}

function stackByGdb(program: string): string[] {
  const args = ["-q", "-nx", "-batch", "-ex", "run", "-ex", "bt", program];
  const { stdout } = spawnSync("gdb", args, { encoding: "utf8" });
  const names = [...stdout.matchAll(/^#\d+ +(?:0x[0-9a-f]+ in )?(\S+) \(/gm)].map(([, name]) => name);
  return names.slice(0, names.indexOf("main") + 1);
}

/** A function with a jump table, and distances to code that it only reads, both addressed through one register. */
const READ_DISTANCES = `
__asm__(".text\\n.type f, @function\\nf:\\n.cfi_startproc\\n"
  "lea numbers(%rip), %rdx\\nmovslq (%rdx), %rax\\nadd %rdx, %rax\\nlea first(%rip), %rcx\\nsub %rcx, %rax\\n"
  "jne end\\nand $1, %edi\\nlea table(%rip), %rdx\\nmovslq (%rdx,%rdi,4), %rcx\\nadd %rdx, %rcx\\njmp *%rcx\\n"
  "first: mov $5, %eax\\nret\\nsecond: mov $6, %eax\\nend: ret\\n.cfi_endproc\\n.size f, .-f\\n"
  ".section .rodata\\n.balign 4\\ntable: .long first - table, second - table\\nnumbers: .long first - numbers\\n.text");
int f(int);
int main(int n) { return 10 * f(n) + f(n - 1); }`;

/** Three-byte functions, directly adjacent without nops, called by pointers. */
const PACKED = `
__asm__(".text\\nfirst:\\n.rept 100\\n.cfi_startproc\\nmovl (%rdi), %eax\\nret\\n.cfi_endproc\\n.endr\\n"
  ".cfi_startproc\\nxorl %eax, %eax\\nret\\n.cfi_endproc\\n.data\\n.quad first\\n.text");
extern int first(int *);
int main(int n) { int (*volatile f)(int *) = first; return f(&n) + ((int (*)(int *))((char *)f + 30))(&n); }`;

describe.skipIf(!canCompile)("a rewritten file", () => {
  it("tells which functions have no room for a jump, nor a place nearby", () => {
    const program = join(folder, "packed");
    writeFileSync(`${program}.c`, PACKED);
    expect(spawnSync("gcc", ["-O1", `${program}.c`, "-o", program]).status).toBe(0);
    expect(outcome(program)).toMatchObject({ status: 2 });
    expect(outcome(rewritten(program))).toEqual(outcome(program));
    const { functions } = rewriteFile(readFileSync(program), () => []).unpatched;
    expect(functions).toBeGreaterThan(40);
    expect(functions).toBeLessThanOrEqual(100);
  });

  it("has other distances in tables that are jumped by alone", () => {
    const program = join(folder, "read-distances");
    writeFileSync(`${program}.c`, READ_DISTANCES);
    expect(spawnSync("gcc", ["-O1", `${program}.c`, "-o", program]).status).toBe(0);
    expect(outcome(program)).toMatchObject({ status: 65 });
    expect(outcome(rewritten(program))).toEqual(outcome(program));
  });

  for (const linking of ["-static", "-static-pie"])
    it(`does the same when it is linked with ${linking}, exceptions included`, () => {
      const program = join(folder, `control-flow${linking}`);
      compileProgram("control-flow.cpp", program, ["-O2", "-pthread", linking, "-lstdc++"]);
      expect(outcome(rewritten(program))).toEqual(outcome(program));
    });

  it("has the build id, and the names of functions at their new addresses too", () => {
    const program = join(folder, "named");
    compileAborting(program, []);
    const before = openObject(readFileSync(program));
    const after = openObject(readFileSync(rewritten(program)));
    expect(after.buildId).toBe(before.buildId);
    const named = after.sections.find(({ name }) => name === ".text.new");
    const symbols = after.symbols();
    const names = [...symbols.addresses]
      .filter((address) => named !== undefined && address >= named.address)
      .map((address) => symbols.find(address)?.name);
    expect(names).toEqual(expect.arrayContaining(["inner", "outer", "main"]));
  });

  it.skipIf(!hasGdb)("is walked by a debugger as the original is", () => {
    const program = join(folder, "walked");
    compileAborting(program, ["-static"]);
    const stack = stackByGdb(program);
    expect(stack.slice(-3)).toEqual(["inner", "outer", "main"]);
    expect(stackByGdb(rewritten(program, () => [])).slice(-3)).toEqual(["inner", "outer", "main"]);
  });

  it("ends with what was appended to the original", () => {
    const program = join(folder, "appended");
    compileAborting(program, []);
    const payload = Uint8Array.from({ length: 5000 }, (_, i) => (i * 31) & 0xff);
    const whole = new Uint8Array([...readFileSync(program), ...payload]);
    const { bytes } = rewriteFile(whole, () => []);
    expect(bytes.subarray(-payload.length)).toEqual(payload);
  });
});
