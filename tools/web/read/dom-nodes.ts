/** As much of the DOM as is read here. The room has no DOM types, and a foreign page needs no more. */
export interface DomNode {
  readonly nodeType: number;
  readonly nodeName: string;
  readonly textContent: string | null;
  readonly parentNode: DomNode | null;
  readonly childNodes: ArrayLike<DomNode>;
}

export interface DomElement extends DomNode {
  getAttribute(name: string): string | null;
  querySelector(selector: string): DomElement | null;
  remove(): void;
}

export const ELEMENT = 1;
export const TEXT = 3;

export function isElement(node: DomNode): node is DomElement {
  return node.nodeType === ELEMENT;
}
