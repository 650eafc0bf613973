// Small hands for the page's elements.

/** The element with an id. A page that lacks one is a mistake of its author. */
export function find<E extends HTMLElement = HTMLElement>(id: string): E {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no #${id}`);
  return element as E;
}

/** Writes a text, if it is another one. */
export function show(id: string, text: string): void {
  const element = find(id);
  if (element.textContent !== text) element.textContent = text;
}

type Properties<K extends keyof HTMLElementTagNameMap> = Partial<
  Omit<HTMLElementTagNameMap[K], 'style' | 'children'>
>;

/** A new element with properties and what is in it. */
export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Properties<K> = {},
  ...inside: readonly (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...inside);
  return element;
}

/** A number for reading: three digits that matter, or all before the point. */
export function readable(value: number): string {
  const size = Math.abs(value);
  if (value === 0 || !Number.isFinite(value)) return String(value);
  if (size >= 1e6 || size < 1e-3) return value.toExponential(2);
  if (size >= 100) return Math.round(value).toLocaleString('en');
  return String(Number(value.toPrecision(3)));
}
