// Looking for things inside of what users hand over. Knows no tensors: the page's side of a worker needs none.

/** Every object that passes the test, found through arrays, Maps, Sets and the values of other objects. */
export function reachable<T extends object>(value: unknown, test: (item: object) => item is T): Set<T> {
  const found = new Set<T>();
  const seen = new Set<object>();
  const pending: unknown[] = [value];
  while (pending.length > 0) {
    const next = pending.pop();
    if (typeof next !== 'object' || next === null) continue;
    if (test(next)) {
      found.add(next);
      continue;
    }
    if (seen.has(next)) continue;
    seen.add(next);
    if (ArrayBuffer.isView(next)) continue;
    if (Array.isArray(next) || next instanceof Set) for (const item of next) pending.push(item);
    else if (next instanceof Map) pending.push(...next.keys(), ...next.values());
    else pending.push(...(Object.values(next) as unknown[]));
  }
  return found;
}
