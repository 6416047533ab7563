import { bytesOfBase64 } from "../../../bytes/base64.ts";
import { ATTRIBUTION_RUNTIME_BASE64 } from "../attribution/attribution.generated.ts";
import { LOCALITY_RUNTIME_BASE64 } from "../locality/locality.generated.ts";
import { WORKING_SET_RUNTIME_BASE64 } from "../working-set.generated.ts";

let workingSet: Uint8Array | undefined;
let locality: Uint8Array | undefined;
let attribution: Uint8Array | undefined;

/** The code of the working-set tool that runs inside the module. Built from `tools/working-set/assembly`. */
export function workingSetRuntimeBytes(): Uint8Array {
  workingSet ??= bytesOfBase64(WORKING_SET_RUNTIME_BASE64);
  return workingSet;
}

/** The code of `--locality`, built from `tools/working-set/assembly/locality`. */
export function localityRuntimeBytes(): Uint8Array {
  locality ??= bytesOfBase64(LOCALITY_RUNTIME_BASE64);
  return locality;
}

/** The code that tells whose lines are, built from `tools/working-set/assembly/attribution`. */
export function attributionRuntimeBytes(): Uint8Array {
  attribution ??= bytesOfBase64(ATTRIBUTION_RUNTIME_BASE64);
  return attribution;
}
