import * as Op from "../../../code/wasm/op.generated.ts";
import type { Insertion } from "./insertions.ts";

export function clearLocal(local: number): Insertion {
  return {
    write(sink) {
      sink.i32(0);
      sink.local(Op.LOCAL_SET, local);
    },
  };
}

export function addTrip(trips: number): Insertion {
  return {
    write(sink) {
      sink.local(Op.LOCAL_GET, trips);
      sink.i32(1);
      sink.plain(Op.I32_ADD);
      sink.local(Op.LOCAL_SET, trips);
    },
  };
}

export function copyLocal(to: number, from: number): Insertion {
  return {
    write(sink) {
      sink.local(Op.LOCAL_GET, from);
      sink.local(Op.LOCAL_SET, to);
    },
  };
}

/**
 * Computes the number of trips after a loop. `trips` holds the value of `local` before the loop, and then becomes the
 * result. The local moved by `stride` per trip.
 */
export function tripsFromDistance(trips: number, local: number, stride: number): Insertion {
  return {
    write(sink) {
      sink.local(Op.LOCAL_GET, stride > 0 ? local : trips);
      sink.local(Op.LOCAL_GET, stride > 0 ? trips : local);
      sink.plain(Op.I32_SUB);
      const step = Math.abs(stride);
      const shift = Math.log2(step);
      if (!Number.isInteger(shift)) {
        sink.i32(step);
        sink.plain(Op.I32_DIV_U);
      } else if (shift > 0) {
        sink.i32(shift);
        sink.plain(Op.I32_SHR_U);
      }
      sink.local(Op.LOCAL_SET, trips);
    },
  };
}
