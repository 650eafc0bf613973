// A form made from rules: a field for each setting, read by the rule that the address and the flags are read by.

import { find, make } from './dom.js';
import type { Rule, Rules, Values } from './settings.js';
import { written } from './settings.js';

type Control = HTMLInputElement | HTMLSelectElement;

export interface Form<R extends Rules> {
  /** What the fields say; undefined if one is wrong, which is then shown beside it. */
  read(): Values<R> | undefined;
  /** Writes values into the fields. */
  write(values: Partial<Values<R>>): void;
}

/** Fills `place` with a field for each rule; the field of setting `seed` has the id `field-seed`. */
export function settingsForm<R extends Rules>(place: HTMLElement, rules: R): Form<R> {
  const controls = Object.entries(rules).map(([name, rule]) => {
    const made = control(rule);
    made.id = `field-${name}`;
    made.name = name;
    made.addEventListener('input', () => {
      made.setCustomValidity('');
    });
    place.append(make('label', {}, rule.label ?? name, ' ', made));
    return [name, rule, made] as const;
  });
  return {
    read() {
      const values: Record<string, unknown> = {};
      for (const [name, rule, field] of controls) {
        // A number that is no number is empty to us, and a problem that the browser knows of.
        const value = field.validity.badInput ? undefined : rule.read(textOf(field));
        field.setCustomValidity(value === undefined ? `It is ${rule.allowed}.` : '');
        if (value === undefined) {
          field.reportValidity();
          return undefined;
        }
        values[name] = value;
      }
      return values as Values<R>;
    },
    write(values) {
      for (const [name, value] of Object.entries(values)) {
        const field = find<Control>(`field-${name}`);
        field.setCustomValidity('');
        if (field instanceof HTMLInputElement && field.type === 'checkbox') field.checked = value === true;
        else field.value = value === 'auto' && field instanceof HTMLInputElement ? '' : written(value);
      }
    },
  };
}

const textOf = (field: Control): string =>
  field instanceof HTMLInputElement && field.type === 'checkbox'
    ? written(field.checked)
    : field.value.trim();

function control({ field, initial }: Rule): Control {
  if (field.kind === 'choice') {
    const select = make('select');
    select.append(...field.choices.map((value) => make('option', { value }, value)));
    select.value = written(initial);
    return select;
  }
  if (field.kind === 'switch') return make('input', { type: 'checkbox', checked: initial === true });
  const auto = initial === 'auto';
  return make('input', {
    type: 'number',
    min: String(field.low),
    max: String(field.high),
    step: field.whole ? '1' : 'any',
    inputMode: field.whole ? 'numeric' : 'decimal',
    ...(auto ? { placeholder: 'auto' } : { required: true, value: written(initial) }),
  });
}
