import assert from "node:assert/strict";
import { test } from "node:test";
import type { Event } from "../../events/bus.ts";
import { DEFAULT_AGENT, mainKey } from "../../routing/key.ts";
import type { Block, Body } from "../../transcript/entry.ts";
import { Reading } from "./reading.ts";

const KEY = mainKey(DEFAULT_AGENT);
const TURN = "turn-1";

/** Events of one session, with numbers as they come. */
class Scene {
  readonly reading = new Reading((id) => id === "ours");
  #seq = 0;

  entry(body: Body): string {
    this.#seq += 1;
    const stamp = {
      id: `e-${this.#seq}`,
      parentId: null,
      seq: this.#seq,
      timestamp: "2026-01-01T00:00:00.000Z",
    };
    return this.reading.hear({ type: "entry", key: KEY, seq: this.#seq, entry: { ...body, ...stamp } });
  }

  note(what: string, data: object): string {
    return this.entry({ type: "custom", customType: `sessiond/${what}`, data: { turn: TURN, ...data } });
  }

  letter(mailId: string): string {
    return this.entry({ type: "message", mailId, message: { role: "user", content: "Hi.", timestamp: 0 } });
  }

  begin(): void {
    this.note("turn-started", { class: "interactive" });
    this.letter("ours");
    this.state();
  }

  end(): void {
    this.note("turn-ended", { outcome: "done", reason: null, steps: 1 });
  }

  state(): void {
    const state = { kind: "running", sinceMs: 0, turn: TURN, step: 1 } as const;
    assert.equal(this.reading.hear({ type: "state", key: KEY, state }), "");
  }

  piece(text: string, of: Partial<Extract<Event, { type: "delta" }>> = {}): string {
    return this.reading.hear({ type: "delta", key: KEY, turn: TURN, step: 1, kind: "text", text, ...of });
  }

  answer(...texts: readonly string[]): string {
    return this.#said(texts.map((text): Block => ({ type: "text", text })));
  }

  /** An answer of which the entry has a part. */
  long(text: string): string {
    return this.#said([{ type: "text", text, blob: { sha256: "0".repeat(64), bytes: 9 } }]);
  }

  #said(content: readonly Block[]): string {
    return this.entry({
      type: "message",
      message: {
        role: "assistant",
        content,
        api: "a",
        provider: "p",
        model: "m",
        usage: { input: 1, output: 2, cacheRead: 3, cacheWrite: 4 },
        stopReason: "stop",
        timestamp: 0,
      },
    });
  }
}

test("pieces are told as they come, and the entry adds nothing", () => {
  const scene = new Scene();
  scene.begin();
  assert.deepEqual(
    [scene.piece("One "), scene.piece("two."), scene.answer("One two.")],
    ["One ", "two.", ""],
  );
  scene.end();
  assert.equal(scene.reading.text(), "One two.");
  assert.deepEqual(scene.reading.tokens, { input: 8, cached: 3, output: 2 });
  assert.equal(scene.reading.end?.outcome, "done");
});

test("who came in the middle of a step is told it when it is over", () => {
  const scene = new Scene();
  scene.note("turn-started", { class: "interactive" });
  scene.letter("ours");
  assert.equal(scene.piece("two."), ""); // the pieces before it were missed
  assert.equal(scene.answer("One two."), "One two.");
  scene.state();
  assert.equal(scene.piece("Three", { step: 2 }), "\n\nThree");
  assert.equal(scene.answer("Three."), ".");
  assert.equal(scene.reading.text(), "One two.\n\nThree.");
});

test("who missed something is told the rest with the entry", () => {
  const scene = new Scene();
  scene.begin();
  assert.equal(scene.piece("One "), "One ");
  scene.reading.lose();
  assert.equal(scene.piece("three."), "");
  assert.equal(scene.answer("One two three."), "two three.");
});

test("pieces of a step that is over, of another turn and thoughts are not told", () => {
  const scene = new Scene();
  scene.begin();
  scene.answer("One.");
  assert.equal(scene.piece("One."), "");
  assert.equal(scene.piece("Other.", { turn: "turn-2", step: 2 }), "");
  assert.equal(scene.piece("Hm.", { kind: "thinking", step: 2 }), "");
  assert.equal(scene.reading.text(), "One.");
});

test("what came before our letter is not its answer", () => {
  const scene = new Scene();
  scene.note("turn-started", { class: "interactive" });
  scene.letter("another's");
  scene.state();
  assert.equal(scene.piece("To them."), "");
  assert.equal(scene.answer("To them."), "");
  scene.note("turn-ended", { outcome: "done", reason: null, steps: 1 });
  assert.equal(scene.reading.end, null);
  scene.begin();
  assert.equal(scene.answer("To us."), "To us.");
  assert.equal(scene.reading.text(), "To us.");
});

test("texts of one answer are parted as its entry has it", () => {
  const scene = new Scene();
  scene.begin();
  assert.equal(scene.piece("One."), "One.");
  scene.piece("Hm.", { kind: "thinking" });
  assert.equal(scene.piece("Two."), "\nTwo.");
  assert.equal(scene.answer("One.", "Two."), "");
  const other = new Scene();
  other.begin();
  assert.deepEqual([other.piece("One."), other.piece("Two")], ["One.", "Two"]);
  assert.equal(other.answer("One.", "Two."), ".");
});

test("a model that failed and was asked again has its whole answer told", () => {
  const again = new Scene();
  again.begin();
  assert.deepEqual([again.piece("On"), again.piece("One."), again.answer("One.")], ["On", "One.", ""]);
  const silent = new Scene();
  silent.begin();
  assert.deepEqual([silent.piece("Uh"), silent.answer("One.")], ["Uh", "\n\nOne."]);
  assert.equal(silent.reading.text(), "One.");
});

test("a very long answer is told whole when somebody knows it, and else as its entry has it", () => {
  const long = (): Scene => {
    const scene = new Scene();
    assert.equal(scene.reading.text("Heard."), "Heard.");
    scene.begin();
    assert.equal(scene.answer("One."), "One.");
    scene.state();
    assert.equal(scene.piece("Two,", { step: 2 }), "\n\nTwo,");
    scene.reading.lose();
    assert.equal(scene.long("T… e."), "");
    return scene;
  };
  const known = long();
  assert.equal(known.reading.complete("Two, whole."), " whole.");
  assert.equal(known.reading.text(), "One.\n\nTwo, whole.");
  assert.equal(known.reading.isLeft, false);
  const unknown = long();
  assert.equal(unknown.answer("Three."), "\n\nT… e.\n\nThree.");
  assert.equal(long().reading.text("Two, whole."), "One.\n\nTwo, whole.");
});
