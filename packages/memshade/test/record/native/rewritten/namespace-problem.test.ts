import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { STEP } from "../../../../src/record/native/rewritten/enter-namespace.ts";
import { namespaceProblem } from "../../../../src/record/native/rewritten/rewritten-run.ts";
import { REPORT } from "../../../../src/record/native/start/launcher.ts";

const { EPERM, ENOSPC, EACCES } = constants.errno;
const root = mkdtempSync(join(tmpdir(), "memshade-problem-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

function problemWith(files: Readonly<Record<string, string>>, step: number, error: number) {
  rmSync(root, { recursive: true, force: true });
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), content);
  }
  mkdirSync(root, { recursive: true });
  return namespaceProblem(
    { step, error },
    { mounts: [{ file: "x", path: "/bin/server" }], ids: undefined },
    root,
  );
}

it("a refused namespace is told with what allows it: an option of the container", () => {
  expect(problemWith({ ".dockerenv": "" }, STEP.unshare, EPERM)).toBe(
    "the system does not allow a mount namespace, in which instrumented files replace the originals (not permitted): start the container with --cap-add SYS_ADMIN, and with --security-opt apparmor=unconfined where AppArmor forbids to mount, or run it without --tool, to record only its allocations",
  );
});

it("or a setting of the system, whatever step it lets fail", () => {
  const restricted = { "proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1\n" };
  expect(problemWith(restricted, STEP.ids, EPERM)).toContain(
    ": sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0 allows it, as does root, or run it without",
  );
  expect(problemWith({ "proc/sys/user/max_user_namespaces": "0\n" }, STEP.unshare, ENOSPC)).toContain(
    "(it has as many as it allows): sudo sysctl user.max_user_namespaces=10000 allows",
  );
});

it("or root, and which file cannot be replaced", () => {
  expect(problemWith({}, STEP.mount, EACCES)).toMatch(
    /^the system does not let \/bin\/server be replaced \(permission denied\): run memshade as root, or /,
  );
});

it("what failed besides is none of it", () => {
  expect(problemWith({}, REPORT.execute, EACCES)).toBeUndefined();
});
