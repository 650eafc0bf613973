// Runs plans through the public JavaScript API of the built package.
import * as og from 'omnigrad';
import * as optim from 'omnigrad/optim';
import { startWatchdog } from './watchdog.mjs';

const goldenDtypes = { I64: 'int64', U8: 'bool' };

/** Starts the variant; gives { schema, run(plan, file, dtype) }. */
export async function startPackage(variant) {
  const started = await og.init({ variant });
  if (started.variant !== variant) {
    throw new Error(`asked for ${variant}, got ${started.variant}: ${started.reason.message}`);
  }
  const schema = og.schema();
  const { watch } = startWatchdog();
  const run = (plan, file, dtype) => {
    watch(`${plan.name} ${dtype}`);
    try {
      return { tensors: og.scope(() => runPlan(schema, plan, file, dtype)) };
    } catch (error) {
      return { error: error instanceof Error ? `${error.name}: ${error.message}` : String(error) };
    }
  };
  return { schema, run };
}

const read = (tensor) => ({ dtype: tensor.dtype, shape: [...tensor.shape], data: tensor.toTypedArray() });

function runPlan(schema, plan, file, dtype) {
  const load = (name, requiresGrad = false) => {
    const golden = file.tensor(`${plan.name}/${name}`);
    if (!golden) return undefined;
    return og.tensor(golden.data, {
      shape: golden.shape,
      dtype: goldenDtypes[golden.dtype] ?? dtype,
      requiresGrad,
    });
  };
  if (plan.optimizer) return runOptimizer(plan, load);
  if (plan.schedule) return runSchedule(plan, dtype);
  return runOp(schema, plan, load);
}

function runOp(schema, plan, load) {
  const leaves = new Map();
  const leaf = (name) => {
    if (!leaves.has(name)) leaves.set(name, load(name, plan.diff.includes(name)));
    return leaves.get(name);
  };
  const input = (name) => {
    const first = plan.prepare[name];
    if (!first) return leaf(name);
    const args = argumentsOf(opOf(schema, first.op), [leaf(name)], first.options);
    return functionOf(first.op)(...args);
  };
  const inputs = plan.inputs.map(({ variadic, tensors, number }) => {
    if (number !== undefined) return number;
    const list = tensors.map(input);
    return variadic ? list : list[0];
  });
  const results = [functionOf(plan.op)(...argumentsOf(opOf(schema, plan.op), inputs, plan.options))].flat();
  const ys = plan.outputs.map((name, i) => ({
    name,
    y: results[i],
    gy: load(`gy.${name}`, plan.secondOrder),
  }));
  const found = {};
  for (const { name, y } of ys) if (y) found[`out.${name}`] = read(y);
  if (plan.diff.length > 0) gradients(plan, plan.diff.map(leaf), ys, load, found);
  return found;
}

const opOf = (schema, name) => schema.ops.find((op) => op.name === name);

function functionOf(name) {
  if (typeof og[name] !== 'function') throw new Error(`omnigrad exports no ${name}`);
  return og[name];
}

// As the generated signatures have them: required inputs and positional options in the schema's order, a first input that
// is no list leading; the rest in one object.
function argumentsOf(op, inputs, options) {
  const rest = {};
  const positional = [];
  op.inputs.forEach(({ name, optional, variadic, order }, i) => {
    const leads = positional.length === 0 && !variadic;
    if (!optional) positional.push({ order: leads ? -1 : order, value: inputs[i] });
    else if (inputs[i] !== undefined) rest[name] = inputs[i];
  });
  for (const option of op.options) {
    if (option.positional) positional.push({ order: option.order, value: options[option.name] });
    else if (option.name in options) rest[option.name] = options[option.name];
  }
  const list = positional.sort((a, b) => a.order - b.order).map(({ value }) => value);
  return Object.keys(rest).length > 0 ? [...list, rest] : list;
}

function gradients(plan, xs, ys, load, found) {
  const used = ys.filter(({ y, gy }) => y && gy && y.requiresGrad);
  const first = (options) =>
    vjp(
      used.map(({ y }) => y),
      used.map(({ gy }) => gy),
      xs,
      options,
    );
  const put = (name, x, g) => (found[name] = read(g ?? og.zerosLike(x)));
  first({ retainGraph: true }).forEach((g, i) => put(`grad.${plan.diff[i]}`, xs[i], g));
  if (!plan.secondOrder) return;

  const recorded = first({ createGraph: true });
  recorded.forEach((g, i) => put(`recorded.grad.${plan.diff[i]}`, xs[i], g));
  // ds for s = sum over x of <grad.x, v.x>
  const terms = plan.diff
    .map((name, i) => ({ g: recorded[i], v: load(`v.${name}`) }))
    .filter(({ g }) => g?.requiresGrad);
  const withGy = ys.filter(({ gy }) => gy);
  const targets = [...xs, ...withGy.map(({ gy }) => gy)];
  const names = [...plan.diff, ...withGy.map(({ name }) => `gy.${name}`)];
  const second = vjp(
    terms.map(({ g }) => g),
    terms.map(({ v }) => v),
    targets,
    {},
  );
  second.forEach((g, i) => put(`grad2.${names[i]}`, targets[i], g));
}

// Outputs that nothing was recorded for have gradient zero.
function vjp(ys, gys, xs, options) {
  if (ys.length === 0) return xs.map(() => null);
  return og.grad(ys, xs, { ...options, gradOutputs: gys, allowUnused: true });
}

// grads[i] is applied at step i; params[i] is the parameter after it.
function runOptimizer(plan, load) {
  const Optimizer = optim[plan.optimizer];
  if (!Optimizer) throw new Error(`omnigrad/optim exports no ${plan.optimizer}`);
  const param = load('p0', true);
  const optimizer = new Optimizer([param], plan.options);
  const grads = load('grads');
  const params = [];
  for (let i = 0; i < grads.shape[0]; i++) {
    param.grad = grads.at(i);
    optimizer.step();
    params.push(og.noGrad(() => param.clone()));
  }
  optimizer.dispose();
  return { params: read(og.stack(params)) };
}

// lrs[i] is the rate in effect at step i.
function runSchedule(plan, dtype) {
  const Schedule = optim[plan.schedule];
  if (!Schedule) throw new Error(`omnigrad/optim exports no ${plan.schedule}`);
  const optimizer = new optim.SGD([og.zeros([2], { requiresGrad: true })], { lr: 0.1, momentum: 0.9 });
  const schedule = new Schedule(optimizer, plan.options);
  const lrs = [];
  for (let i = 0; i < 18; i++) {
    lrs.push(optimizer.lr);
    optimizer.step();
    schedule.step();
  }
  return { lrs: { dtype, shape: [lrs.length], data: Float64Array.from(lrs) } };
}
