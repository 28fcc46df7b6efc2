// A picture that a provider refuses, and what becomes of the request that holds it.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { APIS, ask, asking, modelAt, PIXEL, result, saidBy, user } from "../../test/providers/asking.ts";
import { hang, refusePictures, Standin, status } from "../../test/providers/standin.ts";
import { errorBody, pictureBody } from "../../test/providers/wire.ts";
import type { Block } from "../transcript/entry.ts";

const PICTURE: Block = { type: "image", data: PIXEL, mimeType: "image/png" };
const CALL: Block = { type: "toolCall", id: "c1", name: "look", arguments: {} };

let standin: Standin;
before(async () => {
  standin = await Standin.open();
});
after(() => standin.close());

for (const api of APIS)
  describe(api, () => {
    const messages = [
      user([{ type: "text", text: "see" }, PICTURE]),
      saidBy({ api, provider: api, name: "another" }, [CALL]),
      result("c1", [PICTURE]),
    ];

    test("is asked once more with words for the pictures, and that is the answer", async () => {
      const from = standin.requests.length;
      standin.play(refusePictures(), refusePictures());
      const { answer, shown } = await ask(modelAt(standin, api), messages);
      assert.ok(answer.kind === "reply", JSON.stringify(answer));
      assert.equal(shown.map(({ text }) => text).join(""), "ok");
      const bodies = standin.requests.slice(from).map(({ body }) => JSON.stringify(body));
      assert.deepEqual(
        bodies.map((body) => [body.split(PIXEL).length - 1, body.split("cannot see").length - 1]),
        [
          [2, 0],
          [0, 2],
        ],
      );
    });

    test("the first refusal is told when words do not help, and what passes is tried again by who asked", async () => {
      standin.play(refusePictures(), status(400, errorBody(api, 400, "no such temperature")));
      const refused = await ask(modelAt(standin, api), messages);
      assert.ok(refused.answer.kind === "failed" && refused.answer.why === "local");
      assert.match(refused.answer.message, /image|multimodal/);
      standin.play(refusePictures(), status(429));
      const busy = await ask(modelAt(standin, api), messages);
      assert.ok(busy.answer.kind === "failed" && busy.answer.why === "retry" && busy.answer.throttled);
    });

    test("is asked once when there is no picture, or none was shown", async () => {
      for (const [model, said] of [
        [modelAt(standin, api), [user("hi")]],
        [modelAt(standin, api, { facts: { images: false } }), messages],
      ] as const) {
        const from = standin.requests.length;
        standin.play(status(400, pictureBody(api)));
        assert.equal((await ask(model, said)).answer.kind, "failed");
        assert.equal(standin.requests.length, from + 1);
      }
    });

    test("can be stopped in the second try", async () => {
      const reason = new Error("enough");
      const controller = new AbortController();
      const from = standin.requests.length;
      standin.play(refusePictures(), hang());
      const waiting = modelAt(standin, api).ask(asking(messages, { signal: controller.signal }), () => {});
      while (standin.requests.length < from + 2) await new Promise(setImmediate);
      controller.abort(reason);
      await assert.rejects(waiting, reason);
    });
  });
