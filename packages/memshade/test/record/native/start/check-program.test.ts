import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { checkProgram } from "../../../../src/record/native/start/check-program.ts";

const folder = mkdtempSync(join(tmpdir(), "memshade-elf-"));
afterAll(() => rmSync(folder, { recursive: true }));

function changed(name: string, changes: Readonly<Record<number, number>>): string {
  const bytes = readFileSync("/bin/ls");
  for (const [at, value] of Object.entries(changes)) bytes[Number(at)] = value;
  const file = join(folder, name);
  writeFileSync(file, bytes);
  return file;
}

const refusal = (file: string) => {
  try {
    return checkProgram(file);
  } catch (error) {
    return (error as Error).message;
  }
};

describe.skipIf(process.arch !== "x64" || process.platform !== "linux")("a native program", () => {
  it("can be recorded when the GNU C library's linker starts it", () => {
    expect(checkProgram("/bin/ls").linker).toMatch(/ld-linux-x86-64/);
  });

  it("is refused with the reason when it is for another machine, or no program", () => {
    const E_TYPE = 16;
    const E_MACHINE = 18;
    expect(refusal(changed("aarch64", { [E_MACHINE]: 183 }))).toMatch(/another machine \(aarch64\)/);
    expect(refusal(changed("riscv", { [E_MACHINE]: 243 }))).toMatch(/another machine/);
    expect(refusal(changed("relocatable", { [E_TYPE]: 1 }))).toMatch(/it is not a program/);
    expect(refusal(changed("core", { [E_TYPE]: 4 }))).toMatch(/a core dump, no program; memshade unwind/);
    expect(refusal("/etc/passwd")).toMatch(/neither ELF, nor WebAssembly, nor a script/);
  });

  it("is refused when it is damaged, a library, or its dynamic linker is not there", () => {
    const bytes = readFileSync("/bin/ls");
    const cut = join(folder, "cut");
    writeFileSync(cut, bytes.subarray(0, 3000));
    expect(refusal(cut)).toMatch(/it is damaged: it ends at byte 3000, and should have \d+$/);
    const PROGRAM_HEADERS = 56;
    expect(refusal(changed("nothing", { [PROGRAM_HEADERS]: 0 }))).toMatch(/no segments to load/);
    expect(refusal("/lib64/ld-linux-x86-64.so.2")).toMatch(/it is a library, or a dynamic linker/);
    const at = bytes.indexOf("ld-linux-x86-64.so.2");
    bytes.write("ld-linux-x86-64.so.9", at, "latin1");
    const alone = join(folder, "alone");
    writeFileSync(alone, bytes);
    expect(refusal(alone)).toMatch(/its dynamic linker \/lib64\/ld-linux-x86-64.so.9 is not there/);
  });

  it("is refused when nothing would load what records it", () => {
    const bytes = readFileSync("/bin/ls");
    const at = bytes.indexOf("ld-linux-x86-64.so.2");
    bytes.write("ld-musl-x86_64.so.1\0", at, "latin1");
    const file = join(folder, "musl");
    writeFileSync(file, bytes);
    expect(refusal(file)).toMatch(/musl/);
  });
});
