import { Digest, packageFile, requireAnew, runAsScript, sequence, type Workload } from "./workload.ts";

/** Rapier: Rust; a heap of boxes and balls that falls and comes to rest. */
export const rapier: Workload = {
  name: "rapier",
  files: () => [{ wasm: packageFile("@dimforge/rapier2d-compat", "dist/rapier_wasm2d_bg.wasm") }],
  load: async () => {
    const Rapier = requireAnew("@dimforge/rapier2d-compat");
    await Rapier.init();
    return {
      run: (scale) => {
        const next = sequence(13);
        const world = new Rapier.World({ x: 0, y: -9.81 });
        world.createCollider(Rapier.ColliderDesc.cuboid(40, 0.5));
        const bodies = Array.from({ length: scale === "full" ? 200 : 20 }, (_, index) => {
          const body = world.createRigidBody(
            Rapier.RigidBodyDesc.dynamic().setTranslation((index % 20) * 1.5 - 15, 2 + next(200) / 10),
          );
          const size = 0.3 + next(50) / 100;
          world.createCollider(
            index % 2 === 0 ? Rapier.ColliderDesc.cuboid(size, size) : Rapier.ColliderDesc.ball(size),
            body,
          );
          return body;
        });
        for (let step = 0; step < (scale === "full" ? 120 : 10); step++) world.step();
        const digest = new Digest();
        for (const body of bodies) digest.add(body.translation()).add(body.rotation());
        world.free();
        return digest.finish(`${bodies.length} bodies`);
      },
    };
  },
};

if (import.meta.main) await runAsScript(rapier);
