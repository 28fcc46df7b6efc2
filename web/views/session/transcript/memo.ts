// An element that is drawn again only if something that it is given is another.

import { Component, h, type ComponentType, type VNode } from "preact";

export function memo<Parts extends object>(Inner: ComponentType<Parts>): ComponentType<Parts> {
  return class Memo extends Component<Parts> {
    override shouldComponentUpdate(next: Readonly<Parts>): boolean {
      const [was, is] = [Object.entries(this.props), next as Readonly<Record<string, unknown>>];
      return was.some(([name, value]) => !Object.is(value, is[name]));
    }

    override render(): VNode {
      return h(Inner as ComponentType<object>, this.props);
    }
  };
}
