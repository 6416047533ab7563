// A pyramid of boxes falls and comes to rest.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
const require = createRequire(import.meta.url);
const Box2DFactory = require("box2d-wasm/dist/umd/Box2D.js");
const box2D = await Box2DFactory({ wasmBinary: readFileSync(require.resolve("box2d-wasm/dist/umd/Box2D.wasm")) });
const { b2World, b2Vec2, b2BodyDef, b2PolygonShape, b2_dynamicBody } = box2D;
const world = new b2World(new b2Vec2(0, -10));
const ground = world.CreateBody(new b2BodyDef());
const floor = new b2PolygonShape();
floor.SetAsBox(50, 1);
ground.CreateFixture(floor, 0);
const box = new b2PolygonShape();
box.SetAsBox(0.5, 0.5);
const bodies = [];
for (let row = 0; row < 16; row++)
  for (let column = row; column < 16; column++) {
    const definition = new b2BodyDef();
    definition.set_type(b2_dynamicBody);
    definition.set_position(new b2Vec2(column * 1.1 - row * 0.55 - 8, 2 + row * 1.05));
    const body = world.CreateBody(definition);
    body.CreateFixture(box, 1);
    bodies.push(body);
  }
for (let step = 0; step < 90; step++) world.Step(1 / 60, 8, 3);
console.log(bodies.reduce((sum, body) => sum + body.GetPosition().get_y(), 0).toFixed(3));
