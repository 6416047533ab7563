/**
 * Compares decoded machine code with objdump. For each instruction in a file's functions it compares the length, the target, the operand
 * with
 * base, index, displacement and size, the control flow, and the named general registers. Files are those of the Debian packages below,
 * or the given ones. Exit code 1 if there is a difference. Linux on x86-64; needs `objdump`.
 * node bench/rewrite/decoder.ts [FILE]…
 */
import { existsSync, readFileSync } from "node:fs";
import { openObject } from "../../packages/memshade/src/code/objects/index.ts";
import { UnwindTable } from "../../packages/memshade/src/code/unwind/index.ts";
import { compareWithObjdump } from "../../packages/memshade/test/code/x64/support/compare-with-objdump.ts";

const LIBRARIES = "/usr/lib/x86_64-linux-gnu";
const GCC = "/usr/lib/gcc/x86_64-linux-gnu/12";
/** Debian 12 packages, and a file of each. */
const FILES: readonly (readonly [packageName: string, path: string])[] = [
  ["libc6", `${LIBRARIES}/libc.so.6`],
  ["libc6 (mathematics)", `${LIBRARIES}/libm.so.6`],
  ["libstdc++6", `${LIBRARIES}/libstdc++.so.6`],
  ["libssl3", `${LIBRARIES}/libcrypto.so.3`],
  ["libgcrypt20", `${LIBRARIES}/libgcrypt.so.20`],
  ["libgnutls30", `${LIBRARIES}/libgnutls.so.30`],
  ["libgmp10", `${LIBRARIES}/libgmp.so.10`],
  ["libzstd1", `${LIBRARIES}/libzstd.so.1`],
  ["libx264-164", `${LIBRARIES}/libx264.so.164`],
  ["libx265-199", `${LIBRARIES}/libx265.so.199`],
  ["libavcodec59", `${LIBRARIES}/libavcodec.so.59`],
  ["libdav1d6", `${LIBRARIES}/libdav1d.so.6`],
  ["libsvtav1enc1", `${LIBRARIES}/libSvtAv1Enc.so.1`],
  ["libaom3", `${LIBRARIES}/libaom.so.3`],
  ["libvpx7", `${LIBRARIES}/libvpx.so.7`],
  ["libjpeg62-turbo", `${LIBRARIES}/libjpeg.so.62`],
  ["libfftw3-double3", `${LIBRARIES}/libfftw3.so.3`],
  ["libopenblas0-pthread", `${LIBRARIES}/openblas-pthread/libopenblas.so.0`],
  [
    "python3-numpy",
    "/usr/lib/python3/dist-packages/numpy/core/_multiarray_umath.cpython-311-x86_64-linux-gnu.so",
  ],
  ["python3", "/usr/bin/python3.11"],
  ["perl", "/usr/bin/perl"],
  ["ruby", `${LIBRARIES}/libruby-3.1.so.3.1`],
  ["php8.2-cli", "/usr/bin/php8.2"],
  ["luajit", "/usr/bin/luajit"],
  ["sbcl", "/usr/bin/sbcl"],
  ["libsqlite3-0", `${LIBRARIES}/libsqlite3.so.0`],
  ["postgresql-15", "/usr/lib/postgresql/15/bin/postgres"],
  ["git", "/usr/bin/git"],
  ["gdb", "/usr/bin/gdb"],
  ["ripgrep (Rust)", "/usr/bin/rg"],
  ["shellcheck (Haskell)", "/usr/bin/shellcheck"],
  ["libicu72", `${LIBRARIES}/libicui18n.so.72`],
  ["libqt5gui5", `${LIBRARIES}/libQt5Gui.so.5`],
  ["libgfortran5", `${LIBRARIES}/libgfortran.so.5`],
  ["cpp-12 (cc1)", `${GCC}/cc1`],
  ["gnat-12 (gnat1)", `${GCC}/gnat1`],
  ["libllvm14", `${LIBRARIES}/libLLVM-14.so.1`],
];

const named = process.argv.slice(2);
let different = 0;
console.log("| package | instructions | differences |\n| --- | --: | --: |");
for (const [name, path] of named.length > 0 ? named.map((file) => [file, file] as const) : FILES) {
  if (!existsSync(path)) {
    console.error(`decoder: ${path} is SKIPPED, not installed (${name})`);
    continue;
  }
  const table = UnwindTable.fromObject(openObject(readFileSync(path)));
  const { instructions, differences } = await compareWithObjdump(
    path,
    (address) => table.find(address) !== 0,
  );
  console.log(`| ${name} | ${instructions} | ${differences.length} |`);
  for (const difference of differences.slice(0, 20)) console.log(`  ${difference}`);
  different += differences.length;
}
if (different > 0) process.exit(1);
