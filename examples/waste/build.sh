#!/bin/sh
# Builds records.wasm as it was and records-fixed.wasm without the clear, both with lines.
set -e
cd "$(dirname "$0")"
FLAGS="--target=wasm32 -O1 -g -fno-builtin -nostdlib --no-wasm-opt -Wl,--no-entry -Wl,--export-memory"
${CLANG:-clang-22} $FLAGS records.c -o records.wasm
${CLANG:-clang-22} $FLAGS -DWITHOUT_CLEAR records.c -o records-fixed.wasm
