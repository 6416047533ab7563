import {
  type SampleFrame,
  type SampleProfile,
  SampleProfileBuilder,
} from "../../profile/model/sample-profile.ts";
import { addressToName, type ImageStacks } from "./image-stacks.ts";
import { type FrameNamer, withoutParameters } from "./names.ts";
import { MappedModule, type NativeFile } from "./native-file.ts";

/** The threads of a dump as a profile: a sample for each, so that equal stacks stand together. */
export function profileOfImage({ image, threads }: ImageStacks, namer: FrameNamer): SampleProfile {
  const builder = new SampleProfileBuilder({
    name: image.command ?? "dump",
    valueTypes: [{ type: "threads", unit: "count" }],
    notes: ["Where each thread was when the process was stopped."],
  });
  const modules = new Map<NativeFile, number>();
  const moduleOf = (file: NativeFile): number => {
    let module = modules.get(file);
    if (module === undefined) {
      const ends = file.found?.object.segments.map((segment) => segment.address + segment.memorySize) ?? [];
      const name = file.path.slice(file.path.lastIndexOf("/") + 1);
      const buildId = file.found?.object.buildId ?? file.buildId;
      module = builder.addModule({ name, path: file.path, buildId, start: 0, end: Math.max(0, ...ends) });
      modules.set(file, module);
    }
    return module;
  };
  for (const { thread, frames } of threads) {
    const { lwp, name } = thread;
    const index = builder.addThread({ pid: image.pid ?? 0, tid: lwp, name: name ?? `LWP ${lwp}` });
    const stack = frames.flatMap((frame): SampleFrame[] => {
      if (!(frame.module instanceof MappedModule)) return [{ function: `0x${frame.pc.toString(16)}` }];
      const { file } = frame.module;
      const address = addressToName(frame);
      const module = moduleOf(file);
      return namer.name(file, address).frames.map((one) => ({
        linkageName: one.linkageName,
        file: one.file,
        line: one.line,
        column: one.column,
        startLine: one.startLine,
        inlined: one.inlined,
        address,
        module,
        function: one.function ? withoutParameters(one.function) : `0x${address.toString(16)}`,
      }));
    });
    builder.addSample(index, builder.stackOf(stack), [1]);
  }
  return builder.finish();
}
