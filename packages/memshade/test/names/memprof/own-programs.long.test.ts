import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { joinPieces } from "../../../src/ground/bytes/file-piece.ts";
import { convertProfile } from "../../../src/names/memprof/convert.ts";
import { showProfile } from "../../../src/names/memprof/show.ts";
import { writeIndexed } from "../../../src/profile/formats/memprof-indexed/index.ts";
import { HOT_COLD_FIELDS } from "../../../src/profile/model/memprof/index.ts";

// Programs that the test compiles with memory profiling and runs; their profiles are compared with llvm-profdata's output.

const folder = mkdtempSync(join(tmpdir(), "memshade-own-programs-"));
afterAll(() => rmSync(folder, { recursive: true }));

function run(tool: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const options = { encoding: "utf8", cwd: folder, env: { ...process.env, ...env } } as const;
  return spawnSync(tool, args, { ...options, maxBuffer: 1 << 28 });
}

const FLAGS = [
  ..."-g -fmemory-profile -fdebug-info-for-profiling -fno-omit-frame-pointer".split(" "),
  ..."-mno-omit-leaf-frame-pointer -Wl,--build-id -std=c++17 -pthread".split(" "),
];

/** Destructors of unnamed structs share a name, and may be at the same positions of it. */
const UNNAMED = `
#include <cstdlib>
#include <cstring>
#include <string>
static char *volatile keep;
struct Noisy { char *p = new char[20]; ~Noisy() { delete[] p; keep = strdup("in a destructor"); free(keep); } };
struct Holder { struct { Noisy a, b; } inner; };
static auto made = [](int n) {
  struct { Noisy a; std::string s; } local; local.s.assign(n, 'z');
  return [n] { struct { Noisy b; } deeper; keep = new char[n]; delete[] keep; };
};
static struct { Noisy g; } unnamed;
template <class T> struct Box { T value; Noisy n; };
template <class T> Box<T> *box(T) { return new Box<T>; }
struct Outer { Noisy *m; Outer() { struct { Noisy in; } here; m = new Noisy; } ~Outer() { delete m; } };
typedef struct { Noisy named; } Named;
int main() {
  { Holder h; } made(100)(); { Outer o; } { Named n; }
  struct { int i; } s; delete box(s); delete box(1);
  { struct { Noisy one; } a; { struct { Noisy two; } b; } }
}`;

const THREADS = `
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>
template <class T, int N> struct Ring {
  std::vector<T> v;
  void add(T t) { if (v.size() < N) v.push_back(std::move(t)); else v[v.size() % N] = std::move(t); }
};
static void work(int id) {
  Ring<std::unique_ptr<std::string>, 16> ring;
  std::map<int, std::vector<char>> kept;
  for (int i = 0; i < 200; i++) { ring.add(std::make_unique<std::string>(40 + i % 7, 'x')); kept[i % 50].resize(id + i); }
}
int main() {
  std::vector<std::thread> all;
  for (int id = 0; id < 4; id++) all.emplace_back(work, id);
  for (auto &one : all) one.join();
}`;

const DUMPS = `
#include <cstdlib>
extern "C" void __memprof_profile_dump(void);
static char *deep(int size, int depth) { return depth == 0 ? (char *)calloc(size, 1) : deep(size + 1, depth - 1); }
int main() {
  for (int round = 0; round < 3; round++) {
    char *all[60];
    for (int i = 0; i < 60; i++) all[i] = deep(i + 1, i % (10 + round));
    for (int i = 0; i < 60; i += 2) free(all[i]);
    __memprof_profile_dump();
    for (int i = 1; i < 60; i += 2) free(all[i]);
  }
}`;

function profiled(llvm: string, source: string, flags: readonly string[]) {
  writeFileSync(join(folder, "own.cpp"), source);
  expect(run(`clang++-${llvm}`, [...FLAGS, ...flags, "own.cpp", "-o", "own"])).toMatchObject({ status: 0 });
  const ran = run("./own", [], { MEMPROF_OPTIONS: `log_path=${folder}/raw` });
  expect(ran).toMatchObject({ status: 0 });
  const [raw] = readdirSync(folder).filter((name) => name.startsWith("raw."));
  renameSync(join(folder, raw!), join(folder, "profile"));
  return { binary: join(folder, "own"), profile: join(folder, "profile") };
}

describe.each(["22", "19"])("programs that LLVM %s compiled", (llvm) => {
  let hasRuntime = false;
  beforeAll(() => {
    writeFileSync(join(folder, "none.cpp"), "int main() {}");
    const isThere = run("llvm-profdata-22", ["--version"]).status === 0;
    hasRuntime = isThere && run(`clang++-${llvm}`, [...FLAGS, "none.cpp", "-o", "none"]).status === 0;
    if (!hasRuntime)
      console.warn(`SKIPPED: clang++-${llvm} has no runtime for memory profiles (libclang-rt-${llvm}-dev)`);
  });

  it.each([
    ["structs without a name", UNNAMED, ["-O0"]],
    ["structs without a name, inlined", UNNAMED, ["-O2"]],
    ["threads and templates", THREADS, ["-O1"]],
    ["threads and templates in DWARF 4", THREADS, ["-O2", "-gdwarf-4"]],
    ["histograms", THREADS, ["-O2", "-mllvm", "-memprof-histogram", "-mllvm", "-memprof-use-callbacks=true"]],
    ["several dumps", DUMPS, ["-O1"]],
  ])("are shown and converted as llvm-profdata does: %s", async (_, source, flags) => {
    if (!hasRuntime) return;
    const { binary, profile } = profiled(llvm, source, flags);
    const shown = run("llvm-profdata-22", ["show", "--memory", profile, "--profiled-binary", binary]);
    // The value is an address in the printing tool.
    const known = (text: string) => text.replace(/AccessHistogram: \d+/g, "AccessHistogram: 0");
    expect(known([...showProfile(profile, [binary])].join(""))).toBe(known(shown.stdout));
    for (const version of [2, 3, 4] as const) {
      const places = { binaries: [binary], searchPaths: [] };
      const converted = await convertProfile({ path: profile, modules: [] }, places, HOT_COLD_FIELDS);
      const { profile: read, order, stackOrder } = converted!;
      const options = { version, container: 13, schema: HOT_COLD_FIELDS, order, stackOrder } as const;
      const flags = [`--memprof-version=${version}`, "--profiled-binary", binary, "-o", "indexed"];
      expect(run("llvm-profdata-22", ["merge", profile, ...flags])).toMatchObject({ status: 0 });
      const output = readFileSync(join(folder, "indexed"));
      expect(Buffer.from(joinPieces(writeIndexed(read, options))).equals(output), `version ${version}`).toBe(
        true,
      );
      const again = run("llvm-profdata-22", ["show", "--memory", "indexed"]).stdout;
      expect([...showProfile(join(folder, "indexed"), [])].join("")).toBe(again);
    }
  });
});
