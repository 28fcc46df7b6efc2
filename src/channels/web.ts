// The web chat: a page that shows a conversation with an agent. Its messages come in by `receive`, with the channel "web" and
// the visitor's id as peer.
//
// A page is not called: it follows its chat (calls/chat.ts), which is made of the transcript. So an answer is where it belongs
// as soon as it is committed, and handing it over has nothing left to do. A page that comes later reads it there.

import { WEB } from "../calls/chat.ts";
import type { Channel } from "./channel.ts";

export const webChannel: Channel = { name: WEB, deliver: async () => {} };
