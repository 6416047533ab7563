// Cubes fall onto a floor.
import RAPIER from "@dimforge/rapier3d-compat";
await RAPIER.init();
const world = new RAPIER.World({ x: 0, y: -9.81, z: 0 });
world.createCollider(RAPIER.ColliderDesc.cuboid(50, 0.1, 50));
const bodies = [];
for (let i = 0; i < 400; i++) {
  const place = RAPIER.RigidBodyDesc.dynamic().setTranslation((i % 8) * 1.2, 1 + Math.floor(i / 64) * 1.5, Math.floor(i / 8) % 8 * 1.2);
  const body = world.createRigidBody(place);
  world.createCollider(RAPIER.ColliderDesc.cuboid(0.5, 0.5, 0.5), body);
  bodies.push(body);
}
for (let step = 0; step < 150; step++) world.step();
console.log(bodies.reduce((sum, body) => sum + body.translation().y, 0).toFixed(3));
