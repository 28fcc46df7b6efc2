// The control page. It knows nothing that the daemon does not tell it by the calls and streams that everybody has.

import { effect, untracked } from "@preact/signals";
import { render } from "preact";
import { Login } from "./login.tsx";
import { Shell } from "./shell.tsx";
import { watchRows } from "./state/rows.ts";
import { apply } from "./state/theme.ts";
import { watchBearer } from "./wire/scope.ts";
import { connect, hurry } from "./wire/socket.ts";
import { token } from "./wire/token.ts";
import "./style/base.css";
import "./style/parts.css";
import "./style/layers.css";
import "./style/views.css";
import "./style/shell.css";

function Page() {
  return token.value === null ? <Login /> : <Shell />;
}

apply();
watchRows();
watchBearer();
effect(() => {
  void token.value; // A new one needs a new connection; nothing else does.
  untracked(connect);
});
addEventListener("online", hurry);
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible") hurry();
});
const root = document.querySelector("#page");
if (root !== null) render(<Page />, root);
