// Groups of parameters told apart by their names.

import { failure, shown } from '../errors.js';
import type { Tensor } from '../tensor.js';

/** What has named parameters, as a Module has. */
interface Named {
  namedParameters(): Iterable<readonly [string, Tensor]>;
}

/** Options of the parameters that `match`: a pattern of their names, or a function of name and tensor. */
export type NameRule<O> = O & { readonly match: RegExp | ((name: string, param: Tensor) => boolean) };

/**
 * Groups for an optimizer: each parameter that requires grad goes to the first rule that matches its name, or else to a
 * last group with the optimizer's own options.
 *
 * ```ts
 * new AdamW(groupsByName(net, [{ match: /bias|norm/, weightDecay: 0 }, { match: /^head\./, lr: 1e-2 }]))
 * ```
 *
 * @throws OmnigradError if a rule matches nothing: a misspelt pattern would train otherwise than meant
 */
export function groupsByName<O extends object>(
  module: Named,
  rules: readonly NameRule<O>[],
): (Omit<O, 'match'> & { readonly params: Tensor[] })[] {
  const op = 'groupsByName';
  if (typeof (module as Partial<Named> | null | undefined)?.namedParameters !== 'function')
    throw failure(op, 'argument', `module is ${shown(module)}; it must be a Module`);
  const given: unknown = rules;
  if (!Array.isArray(given)) throw failure(op, 'argument', `rules is ${shown(given)}; it must be a list`);
  rules.forEach(({ match }: { match?: unknown }, i) => {
    if (!(match instanceof RegExp) && typeof match !== 'function')
      throw failure(
        op,
        'argument',
        `match of rule ${i} is ${shown(match)}; it must be a RegExp or a function`,
      );
  });
  const groups = rules.map(({ match: _, ...options }) => ({ ...options, params: [] as Tensor[] }));
  const rest = { params: [] as Tensor[] };
  for (const [name, param] of module.namedParameters()) {
    if (!param.requiresGrad) continue;
    const found = rules.findIndex(({ match }) =>
      match instanceof RegExp ? name.search(match) >= 0 : match(name, param),
    );
    (groups[found] ?? rest).params.push(param);
  }
  groups.forEach(({ params }, i) => {
    if (params.length > 0) return;
    const { match } = rules[i] as NameRule<O>;
    throw failure(
      op,
      'option',
      `rule ${i}, ${match instanceof RegExp ? String(match) : 'a function'}, matches no parameter that is left`,
    );
  });
  const all = rest.params.length > 0 ? [...groups, rest] : groups;
  return all as (Omit<O, 'match'> & { params: Tensor[] })[];
}
