#!/bin/sh
":" /* A shell runs this file down to "exec", and Node runs the rest. At its start Node changes what a process inherits, so the shell records
# the process id, the signal mask, the ignored signals, the limit of open files and the open descriptors for src/record/host/run/inherited.ts.
# It also records variables whose names are not valid in shells, because some shells drop them. Variables that the dynamic linker, the
# C library or Node would obey are meant for the recorded program: they are passed on under other names.
# With fewer open files or addresses, Node ends with a failed assertion. A subshell prints the message, since it saves no descriptor before it
# redirects: a limit of 11 open files has no room for that. With fewer than 11, dash cannot read this file at all.
# SIGUSR2 requests a dump, but no program runs yet. If the signal were ignored here, it would count as inherited.
trap : USR2
MEMSHADE_1=$(ulimit -Hn)
if [ "$MEMSHADE_1" != unlimited ] && [ "${MEMSHADE_1:-0}" -lt 60 ]; then
  (echo "memshade: the limit ulimit -n is ${MEMSHADE_1:-too few} open files, and memshade needs 60; raise it") >&2
  exit 2
fi
MEMSHADE_OPEN_FILES=$(ulimit -Sn)
if [ "$MEMSHADE_OPEN_FILES" != unlimited ] && [ "${MEMSHADE_OPEN_FILES:-0}" -lt 60 ]; then
  ulimit -Sn 60
fi
MEMSHADE_1=$(ulimit -Sv 2>/dev/null || echo unlimited)
if [ "$MEMSHADE_1" != unlimited ] && [ "$MEMSHADE_1" -lt 2500000 ]; then
  (echo "memshade: the limit ulimit -v is $MEMSHADE_1 KiB of addresses, and memshade needs 2500000; raise it") >&2
  exit 2
fi
case $1 in
  run | node | browser | demo | --*)
    for MEMSHADE_1 in LD_PRELOAD LD_AUDIT LD_DEBUG LD_DEBUG_OUTPUT LD_PROFILE LD_SHOW_AUXV GLIBC_TUNABLES NODE_OPTIONS MALLOC_CONF \
      MALLOC_ARENA_MAX MALLOC_ARENA_TEST MALLOC_CHECK_ MALLOC_MMAP_MAX_ MALLOC_MMAP_THRESHOLD_ MALLOC_PERTURB_ MALLOC_TOP_PAD_ \
      MALLOC_TRIM_THRESHOLD_; do
      eval "MEMSHADE_2=\${$MEMSHADE_1-}"
      if [ -n "$MEMSHADE_2" ]; then
        export "MEMSHADE_PROGRAM_$MEMSHADE_1=$MEMSHADE_2"
        unset "$MEMSHADE_1"
      fi
    done
    ;;
esac
if [ -r /proc/self/status ]; then
  MEMSHADE_INHERITED=$$
  while read -r MEMSHADE_1 MEMSHADE_2 MEMSHADE_3; do
    case $MEMSHADE_1 in
      SigBlk: | SigIgn:) MEMSHADE_INHERITED="$MEMSHADE_INHERITED $MEMSHADE_2" ;;
      SigCgt:) break ;;
    esac
  done </proc/self/status
  # Node starts without a handler for the signal.
  trap "" USR2
  MEMSHADE_INHERITED="$MEMSHADE_INHERITED $MEMSHADE_OPEN_FILES"
  # These two descriptors are the shell's own: this file, and the folder that it listed.
  for MEMSHADE_1 in /proc/self/fd/[0-9]*; do
    if { [ -e "$MEMSHADE_1" ] || [ -L "$MEMSHADE_1" ]; } && ! [ "$MEMSHADE_1" -ef "$0" ]; then
      MEMSHADE_INHERITED="$MEMSHADE_INHERITED ${MEMSHADE_1##*fd/}"
    fi
  done
  MEMSHADE_ODD_NAMES=$(grep -zv "^[A-Za-z_][A-Za-z0-9_]*=" /proc/$$/environ 2>/dev/null | tr "\0" "\001")
  export MEMSHADE_INHERITED MEMSHADE_ODD_NAMES
fi
exec node "$0" "$@"
*/;
"use strict";
// A request for a dump before the program begins, or after its end, does not end the recording.
if (["run", "node", "browser", "demo"].includes(process.argv[2])) process.on("SIGUSR2", () => {});
const { version } = require("../package.json");
// Clients such as Playwright start it in the place of a browser: docs/guides/playwright-tests.md.
const [, , ...args] = process.argv;
if (args[0]?.startsWith("--") && args.some((arg) => arg.startsWith("--remote-debugging-"))) {
  const { MEMSHADE_CHROMIUM, MEMSHADE_OUT, MEMSHADE_TOOLS } = process.env;
  const options = ["browser", "--as-browser"];
  if (MEMSHADE_OUT) options.push("--out", MEMSHADE_OUT);
  if (MEMSHADE_TOOLS) options.push("--tool", MEMSHADE_TOOLS);
  process.argv.splice(2, args.length, ...options, "--", MEMSHADE_CHROMIUM || "chromium", ...args);
}
if (process.argv.length === 3 && ["-V", "--version"].includes(process.argv[2])) {
  process.stdout.write(`${version}\n`);
} else {
  import("../dist/main.js");
}
