import * as Op from "../../../code/wasm/op.generated.ts";
import type { SnippetSink } from "./snippet-sink.ts";

export interface LinearForm {
  terms: { local: number; factor: number }[];
  constant: number;
}

export function pushForm(sink: SnippetSink, { terms, constant }: LinearForm, more = 0): void {
  let pushed = false;
  for (const { local, factor } of terms) {
    sink.local(Op.LOCAL_GET, local);
    if (factor !== 1) {
      sink.i32(factor);
      sink.plain(Op.I32_MUL);
    }
    if (pushed) sink.plain(Op.I32_ADD);
    pushed = true;
  }
  const sum = (constant + more) | 0;
  if (pushed && sum === 0) return;
  sink.i32(sum);
  if (pushed) sink.plain(Op.I32_ADD);
}
