// Turns a golden case into a call of an op, by the schema and the table of deviations. A plan is plain JSON: the package
// and the native program both run it, so that this mapping exists once.
//
//   { name, path, op, inputs, options, prepare, diff, outputs, secondOrder, expect }    an op
//   { name, path, optimizer | schedule, options, fused, expect }                        optim.*, lr.*
//
// `inputs` are in the schema's order, each { slot, variadic, tensors: [golden names] } or { slot, number }; `expect` are
// the tensors that a run must give, by their golden names.
import { deviations, fusedSteps } from '../conventions.mjs';

/** PyTorch's name with `_x` turned into `X`. */
export const camel = (name) => name.replace(/_([a-z0-9])/gi, (_, letter) => letter.toUpperCase());

/** Throws where the op, an input or an option does not exist. */
export function planOf(golden, schema) {
  const base = { name: golden.name, path: golden.file.path };
  const [group, name] = golden.op.split('.');
  if (group === 'optim') return optimizerPlan(base, name, golden);
  if (group === 'lr') return { ...base, schedule: name, options: camelKeys(golden.args), expect: ['lrs'] };

  const deviation = deviations[golden.op] ?? {};
  const opName = deviation.op ?? camel(golden.op);
  const op = schema.ops.find((one) => one.name === opName && !one.internal);
  if (!op) throw new Error(`there is no op ${opName}`);
  const { options, numbers } = optionsOf(golden, op, deviation);
  return {
    ...base,
    op: opName,
    inputs: inputsOf(golden, op, deviation, numbers),
    options,
    prepare: deviation.prepare ?? {},
    diff: golden.diff,
    outputs: golden.outputs,
    secondOrder: golden.second_order,
    expect: expected(golden),
  };
}

function optimizerPlan(base, optimizer, golden) {
  const options = camelKeys(golden.args);
  const step = fusedSteps[optimizer];
  const fused = step && {
    op: step.op,
    states: step.states(options),
    options: { ...step.options, ...options },
  };
  return { ...base, optimizer, options, fused, expect: ['params'] };
}

const camelKeys = (args) => Object.fromEntries(Object.entries(args).map(([key, v]) => [camel(key), v]));

function optionsOf(golden, op, deviation) {
  const options = {};
  const numbers = {};
  for (const [arg, value] of Object.entries(golden.args)) {
    const rule = deviation.args && arg in deviation.args ? deviation.args[arg] : { option: camel(arg) };
    if (rule === undefined || value === null) continue;
    if (rule.input) {
      numbers[rule.input] = value;
      continue;
    }
    if (!op.options.some((option) => option.name === rule.option)) {
      throw new Error(`${op.name} has no option ${rule.option}`);
    }
    options[rule.option] = rule.convert ? rule.convert(value) : value;
  }
  return { options, numbers };
}

// An input goes where its name says; what is left over goes in order to the inputs that are left over, those that must
// be there first, and a variadic one takes all that remain.
function inputsOf(golden, op, deviation, numbers) {
  const slots = new Map(op.inputs.map((input) => [input.name, []]));
  const rest = [];
  for (const input of golden.inputs) {
    const slot = slots.get(deviation.inputs?.[input] ?? camel(input));
    if (slot) slot.push(input);
    else rest.push(input);
  }
  const open = op.inputs.filter(({ name }) => slots.get(name).length === 0 && !(name in numbers));
  for (const { name, variadic } of [...open.filter((i) => !i.optional), ...open.filter((i) => i.optional)]) {
    slots.get(name).push(...rest.splice(0, variadic ? rest.length : 1));
  }
  if (rest.length > 0) throw new Error(`${op.name} has no input for ${rest.join(', ')}`);
  return op.inputs.map(({ name, variadic, optional }) => {
    if (name in numbers) return { slot: name, variadic, number: numbers[name] };
    const tensors = slots.get(name);
    if (tensors.length === 0 && !optional) throw new Error(`${op.name} needs ${name}, which the case lacks`);
    return { slot: name, variadic, tensors };
  });
}

// All values that the file has and that a run is held against.
function expected({ diff, outputs, second_order: secondOrder, file, name }) {
  const names = outputs.map((y) => `out.${y}`);
  names.push(...diff.map((x) => `grad.${x}`));
  if (secondOrder) {
    names.push(...diff.map((x) => `grad2.${x}`));
    names.push(...outputs.filter((y) => file.tensor(`${name}/gy.${y}`)).map((y) => `grad2.gy.${y}`));
  }
  return names;
}
